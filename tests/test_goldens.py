"""Playthroughs that must not change by accident: ``tests/golden/NAME.txt``, one for every preset.

Each file tells a whole game, or its beginning, with all that the environment shows: the rules, the layout,
and at every step the flat observation vector of every seat, the legal actions, and what happened. After a
change that is meant, ``python -m pytest tests/test_goldens.py --update-golden`` writes them again.
"""

from __future__ import annotations

import difflib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cuckoo_env import cuckoo_v0
from cuckoo_env.engine import ACTION_NAMES
from cuckoo_env.events import KIND_OF
from cuckoo_env.files import write_text
from cuckoo_env.observation import Layout
from cuckoo_env.rules import PRESETS, Rules

FOLDER = Path(__file__).parent / "golden"
SEED = 25
MOST_STEPS = 60
MOST_BYTES = 60_000
HINT = "if this is meant: python -m pytest tests/test_goldens.py --update-golden"


def file_of(name: str) -> Path:
    """Where the playthrough of a rule set is; canonical names are file names but for the equals sign."""
    return FOLDER / f"{str(Rules.parse(name)).replace('=', '-')}.txt"


def playthrough(name: str) -> str:
    """A game by these rules, played at random, as text."""
    env = cuckoo_v0.raw_env(name)
    return "\n".join([*_head(env.rules, env.layout), "", *_game(env)]) + "\n"


def _head(rules: Rules, layout: Layout) -> Iterator[str]:
    yield f"rules: {rules}"
    for field, value in rules.fields().items():
        yield f"  {field}: {'none' if value is None else value}"
    yield f"observation: {layout.size} numbers, those that are not zero are told as place=number"
    names = layout.names()
    for field, part in layout.slices.items():
        yield f"  {part.start}-{part.stop - 1} {field}: {names[part.start]} .. {names[part.stop - 1]}"
    yield f"actions: {', '.join(ACTION_NAMES[: layout.n_actions])}"
    yield f"seed: {SEED}"


def _game(env: Any) -> Iterator[str]:
    luck, told = random.Random(SEED), 0
    env.reset(seed=SEED)
    for step in range(MOST_STEPS):
        yield f"step {step}"
        yield from _events(env, told)
        told = len(env._game.events)
        yield from _seen(env)
        if all(env.terminations.values()):
            yield from _end(env)
            return
        action = luck.choice(np.flatnonzero(env.last()[0]["action_mask"]).tolist())
        yield f"  {env.agent_selection} takes {action} {ACTION_NAMES[action]}"
        env.step(action)
    yield f"stopped after {MOST_STEPS} steps"


def _events(env: Any, told: int) -> Iterator[str]:
    for event in env._game.events[told:]:
        yield f"  {json.dumps(event.plain())}"


def _seen(env: Any) -> Iterator[str]:
    for agent in env.agents:
        seen = env.observe(agent)
        mask = "".join(map(str, seen["action_mask"]))
        yield f"  {agent} mask {mask} sees {vector_text(seen['observation'])}"


def _end(env: Any) -> Iterator[str]:
    for agent in env.agents:
        yield f"  {agent} gets {env.rewards[agent]!r}"
    yield f"  record {json.dumps(env.record())}"


def vector_text(vector: npt.NDArray[np.float32]) -> str:
    """A vector without its zeros; numbers are written so that they are read back as they were."""
    numbers = ((place, float(vector[place])) for place in np.flatnonzero(vector))
    return " ".join(
        f"{place}" if number == 1 else f"{place}={np.float32(number)!s}"
        for place, number in numbers
    )


def vector_of(text: str, size: int) -> npt.NDArray[np.float32]:
    """The vector that a text stands for."""
    vector = np.zeros(size, np.float32)
    for each in text.split():
        place, equals, number = each.partition("=")
        vector[int(place)] = np.float32(number) if equals else 1
    return vector


@pytest.mark.parametrize("name", PRESETS)
def test_the_playthrough_of_a_preset_is_as_it_was(
    name: str, request: pytest.FixtureRequest
) -> None:
    path, now = file_of(name), playthrough(name)
    if request.config.getoption("--update-golden"):
        write_text(path, now)
    assert path.exists(), f"{path.name} is missing; {HINT}"
    before = path.read_text(encoding="utf-8")
    difference = difflib.unified_diff(
        before.splitlines(), now.splitlines(), path.name, "now", lineterm="", n=1
    )
    if before != now:
        pytest.fail("\n".join([HINT, *difference]), pytrace=False)


def test_every_preset_has_a_playthrough_and_nothing_else_has() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {file_of(name).name for name in PRESETS}


def test_the_playthroughs_are_small() -> None:
    for path in FOLDER.iterdir():
        assert path.stat().st_size < MOST_BYTES


def test_whatever_can_happen_by_itself_happens_in_some_playthrough() -> None:
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.iterdir()]
    # No preset carries, cuts or limits; a misdeal comes from outside.
    elsewhere = {"carried", "final_cut", "truncated", "misdealt"}
    for kind in set(KIND_OF) - elsewhere:
        assert any(f'"event": "{kind}"' in text for text in texts), kind


def test_the_flat_vector_is_told_without_loss() -> None:
    env, luck = cuckoo_v0.raw_env("onesies"), random.Random(1)
    env.reset(seed=1)
    for _ in range(40):
        if any(env.terminations.values()):
            break
        for agent in env.agents:
            vector = env.observe(agent)["observation"]
            again = vector_of(vector_text(vector), vector.size)
            assert again.tobytes() == vector.tobytes()
        env.step(luck.choice(np.flatnonzero(env.last()[0]["action_mask"]).tolist()))


def test_a_number_that_changes_in_the_vector_changes_the_text() -> None:
    vector = np.linspace(0, 1, 7, dtype=np.float32)
    for place in range(7):
        other = vector.copy()
        other[place] = np.nextafter(other[place], np.float32(2))
        assert vector_text(other) != vector_text(vector)
