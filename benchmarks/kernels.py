"""Where the time of the batch engine goes: its parts, each compiled and timed on its own.

Nanoseconds a decision on one thread, at the practice table with random play. What is left of the whole step
is the check of the actions, the loop around the parts, and memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Final

import numba
import numpy as np
from measure import Contender, Loop, Repeat, Settings
from ours import RULES
from picker import pick, rows

from cuckoo_env import engine, observation, seeding
from cuckoo_env.batch import Batch
from cuckoo_env.observation import Layout, sections_of
from cuckoo_env.rules import Rules

_GAMES: Final = 4096
_compiled = numba.njit(nogil=True, error_model="numpy")


@_compiled
def _begin(games: Any, rules: Any) -> None:
    for i in range(games.shape[0]):
        engine.begin_game(games[i], rules[0])


@_compiled
def _apply(games: Any, rules: Any, actions: Any) -> int:
    """Take the actions; returns how many deals that led to."""
    deals = 0
    for i in range(games.shape[0]):
        g, r = games[i], rules[0]
        rounds = int(g.rounds)
        engine.apply(g, r, int(actions[i]))
        deals += int(int(g.rounds) != rounds)
        if int(g.phase) == engine.OVER:
            engine.begin_game(g, r)
    return deals


@_compiled
def _deal(games: Any, rules: Any) -> None:
    for i in range(games.shape[0]):
        engine.deal(games[i], rules[0])


@_compiled
def _encode(games: Any, rules: Any, layout: Any, sections: Any, out: Any) -> None:
    for i in range(games.shape[0]):
        g = games[i]
        observation.encode(g, rules[0], layout[0], sections, int(g.seat), out, i)


@_compiled
def _clear(out: Any) -> None:
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = 0.0


@_compiled
def _mask(games: Any, rules: Any, out: Any) -> None:
    for i in range(games.shape[0]):
        observation.write_mask(games[i], rules[0], out, i)


class _Parts:
    """Games that stand somewhere in their middle, and what the parts need."""

    def __init__(self, settings: Settings) -> None:
        rules = Rules.parse(RULES)
        layout = Layout.of(rules)
        self._layout, self._sections = layout.offsets, sections_of(layout, (rules,))
        self._rules = engine.compile_rules(rules)
        self._games = engine.new_games(_GAMES, rules.seats, recording=False)
        seeds = seeding.derive_many(settings.seed, _GAMES)
        self._games["rng"][:, :2] = seeding.generator_words(seeds, seeding.CARDS)
        self._observations = np.zeros((_GAMES, layout.size), np.float32)
        self._masks = np.zeros((_GAMES, layout.n_actions), np.int8)
        self._actions = (rows(settings.seed, _GAMES) % 2).astype(np.int8)
        _begin(self._games, self._rules)
        self.deals = sum(map(self.apply, range(1000))) / 1000 / _GAMES

    def apply(self, k: int = 0) -> int:
        """Random actions, all of them legal at the practice table."""
        deals: int = _apply(self._games, self._rules, self._actions[k % len(self._actions)])
        return deals

    def deal(self) -> None:
        _deal(self._games, self._rules)

    def encode(self) -> None:
        _encode(self._games, self._rules, self._layout, self._sections, self._observations)

    def clear(self) -> None:
        _clear(self._observations)

    def mask(self) -> None:
        _mask(self._games, self._rules, self._masks)


def contenders(settings: Settings) -> list[Contender]:
    """The whole step and its parts."""
    parts: dict[str, tuple[str, Callable[[ExitStack], Repeat]]] = {
        "whole": ("the whole step, choices included", functools.partial(_whole, settings)),
        "rules": ("the rules", functools.partial(_part, settings, "apply")),
        "deal": ("of these: the deals", functools.partial(_part, settings, "deal")),
        "observation": ("the observation", functools.partial(_part, settings, "encode")),
        "clear": ("of this: clearing the vector", functools.partial(_part, settings, "clear")),
        "mask": ("the mask", functools.partial(_part, settings, "mask")),
        "choice": ("the choices", functools.partial(_choices, settings)),
    }
    return [
        Contender(
            key=f"profile/{key}",
            group="profile",
            family=name,
            setting=f"{_GAMES:,} games, 1 thread",
            unit="ns",
            prepare=prepare,
        )
        for key, (name, prepare) in parts.items()
    ]


def _part(settings: Settings, name: str, _: ExitStack) -> Repeat:
    parts = _Parts(settings)
    part: Callable[[int], object] = (
        parts.apply if name == "apply" else lambda _: getattr(parts, name)()
    )

    def work(steps: int) -> int:
        for k in range(steps):
            part(k)
        return steps * _GAMES

    loop = Loop(work, "ns")
    # A deal is the share of a decision that it follows.
    return (lambda seconds: loop(seconds) * parts.deals) if name == "deal" else loop


def _whole(settings: Settings, _: ExitStack) -> Repeat:
    batch = Batch(RULES, _GAMES, seed=settings.seed, threads=1)
    drawn, actions = rows(settings.seed, _GAMES), np.zeros(_GAMES, np.int8)

    def work(steps: int) -> int:
        for k in range(steps):
            pick(batch.masks, drawn[k % len(drawn)], actions, 1)
            batch.step(actions)
        return steps * _GAMES

    return Loop(work, "ns")


def _choices(settings: Settings, _: ExitStack) -> Repeat:
    masks, actions = np.ones((_GAMES, 2), np.int8), np.zeros(_GAMES, np.int8)
    drawn = rows(settings.seed, _GAMES)

    def work(steps: int) -> int:
        for k in range(steps):
            pick(masks, drawn[k % len(drawn)], actions, 1)
        return steps * _GAMES

    return Loop(work, "ns")
