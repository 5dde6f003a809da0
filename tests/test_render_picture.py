"""A game as a picture, from one seat's view."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import pickle
import random
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from pettingzoo.test import render_test
from strategies import seeds, tables

pygame = pytest.importorskip("pygame", reason="pictures need the extra `render`")

from cuckoo_env import aec, cuckoo_v0, seeding, solo  # noqa: E402
from cuckoo_env.agents import fill  # noqa: E402
from cuckoo_env.engine import ACTION_NAMES, NO_CARD, rank_of_card  # noqa: E402
from cuckoo_env.events import KIND_OF, KINDS, Sees  # noqa: E402
from cuckoo_env.game import Game  # noqa: E402
from cuckoo_env.registration import ENV_ID, make_solo, make_vector  # noqa: E402
from cuckoo_env.render import display, picture  # noqa: E402
from cuckoo_env.rules import Rules  # noqa: E402

SHAPE = (picture.HEIGHT, picture.WIDTH, 3)


@pytest.fixture(autouse=True)
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def played(rules: Rules | str, seed: int, moves: int) -> Game:
    """A game some random moves on."""
    game, luck = Game(rules, seed), random.Random(seed)
    for _ in range(moves):
        if game.seat is None:
            break
        game.act(luck.choice(game.legal_actions()))
    return game


def dealt_again(game: Game, viewer: int, luck: random.Random) -> tuple[Game, int]:
    """The same game with other cards wherever the viewer has seen none, and how many are others."""
    twin, view = game.copy(), game.view(viewer)
    g, exchanged = twin._games[0], 0
    for seat, each in enumerate(view.seats):
        if each.card is None and g["card"][seat] != NO_CARD:
            card = luck.randrange(52)
            exchanged += int(card != g["card"][seat])
            g["card"][seat] = card
            g["known"][seat, seat] = rank_of_card(card)
    if view.stock is None:
        g["top"] = luck.randrange(52)
    g["rng"] = luck.getrandbits(32)
    for row in twin._log[: twin._marks[0]]:
        kind = KINDS[row[0]]
        seers = {Sees.SEAT: {row[1]}, Sees.BOTH: {row[1], row[2]}}.get(kind.cards, {viewer})
        if viewer not in seers:
            for column, name in enumerate(kind.columns, 1):
                if name in {"card", "other_card"}:
                    row[column] = luck.randrange(52)
    return twin, exchanged


# ---- the picture


@pytest.mark.parametrize(
    "rules",
    [
        "le-her",
        "practice-table",
        "onesies,seats=6",
        "open-kings,seats=10,direction=right",
        "queen-rule,seats=4,jack=may_block",
        "kings-face-up,seats=3",
        "four-lives,seats=26",
        "standard,seats=60,lives=9",
    ],
)
@pytest.mark.parametrize("moves", [0, 3, 5000])
def test_a_picture_has_its_size_and_differs_between_views(rules: str, moves: int) -> None:
    game = played(rules, 3, moves)
    pictures = [picture.render(game.view(viewer)) for viewer in (0, game.rules.seats - 1)]
    for each in pictures:
        assert (each.shape, each.dtype) == (SHAPE, np.uint8)
        assert each.flags["C_CONTIGUOUS"]
        assert len(np.unique(each @ np.array([65536, 256, 1]))) > 100
    assert not np.array_equal(*pictures)


@given(rules=tables(), seed=seeds())
@settings(max_examples=12, deadline=None)
def test_a_card_that_the_viewer_has_not_seen_is_never_drawn(rules: Rules, seed: int) -> None:
    luck = random.Random(seed)
    game = played(rules, seed, luck.randrange(30))
    for viewer in luck.sample(range(rules.seats), 2):
        twin, _ = dealt_again(game, viewer, luck)
        one, other = picture.render(game.view(viewer)), picture.render(twin.view(viewer))
        np.testing.assert_array_equal(one, other)


def test_hidden_cards_are_exchanged_and_a_drawn_one_would_be_found() -> None:
    game, luck = played("standard,seats=6", 3, 2), random.Random(3)
    twin, exchanged = dealt_again(game, 0, luck)
    assert exchanged > 1
    before = picture.render(game.view(0))
    np.testing.assert_array_equal(before, picture.render(twin.view(0)))
    hidden = next(seat for seat, each in enumerate(game.view(0).seats) if each.card is None)
    twin._games[0]["known"][hidden, 0] = twin._games[0]["known"][hidden, hidden]
    assert not np.array_equal(before, picture.render(twin.view(0)))


def test_when_the_game_is_over_all_cards_are_drawn() -> None:
    game = played("one-round,seats=4", 3, 100)
    view = game.view(0)
    assert all(each.card for each in view.seats)
    twin = game.copy()
    twin._games[0]["card"][2] = (twin._games[0]["card"][2] + 13) % 52
    assert not np.array_equal(picture.render(view), picture.render(twin.view(0)))


def changed(game: Game, **fields: Any) -> bool:
    """Whether the picture that seat 0 sees changes with fields of the game."""
    twin = game.copy()
    for name, value in fields.items():
        twin._games[0][name] = value
    return not np.array_equal(picture.render(game.view(0)), picture.render(twin.view(0)))


def test_everything_public_is_in_the_picture() -> None:
    game = played("standard,seats=4", 3, 1)
    g = game._games[0]
    assert not changed(game)
    assert changed(game, dealer=(g["dealer"] + 1) % 4)
    assert changed(game, turn=(g["turn"] + 1) % 4)
    assert changed(game, lives=g["lives"] - (np.arange(len(g["lives"])) == 2))
    assert changed(game, staked=g["staked"] + 1)
    assert changed(game, rounds=7)
    assert changed(game, stock=51)
    assert changed(game, trading=0)
    assert changed(game, outcome=(g["outcome"] + 1) % 5)
    assert changed(game, shown=1 - g["shown"])


def test_a_seat_that_is_asked_is_marked_by_an_arrow() -> None:
    game = Game.from_position("onesies", dealer=2, lives=[3, 2, 1], deal=["3c", "2c", "Jh"])
    game.act("swap")
    assert game.view(0).acts == 1
    arrow = np.array(picture._ASKED)
    assert (picture.render(game.view(0)) == arrow).all(axis=2).sum() > 500
    game.act("accept")
    assert (picture.render(game.view(0)) == arrow).all(axis=2).sum() == 0


def test_where_play_goes_the_other_way_round_so_do_the_seats() -> None:
    left, right = (
        Game(f"standard,seats=5,direction={way}", 3).view(0) for way in ("left", "right")
    )
    places, mirrored = (picture._Table.of(view).places for view in (left, right))
    assert places[0] == mirrored[0]
    np.testing.assert_allclose(places[1:], mirrored[:0:-1])
    assert places[1][0] < picture.WIDTH / 2 < places[4][0]


@pytest.mark.parametrize("seats", [2, 3, 6, 10, 26, 52])
def test_seats_do_not_overlap_and_lie_in_the_picture(seats: int) -> None:
    table = picture._Table.of(Game(f"standard,seats={seats}", 3).view(0))
    half_width, half_height = 49 * table.unit, 65 * table.unit
    for seat, (x, y) in enumerate(table.places):
        assert half_width <= x <= picture.WIDTH - half_width
        assert half_height <= y <= picture.HEIGHT - half_height
        for other_x, other_y in table.places[:seat]:
            assert abs(x - other_x) >= 2 * half_width or abs(y - other_y) >= 2 * half_height


def test_names_of_any_length_are_drawn() -> None:
    view = Game("practice-table", 3).view(0)
    names = ["", "A" * 400, "Zoë ♥"]
    assert picture.render(view, names).shape == SHAPE
    assert not np.array_equal(picture.render(view, names), picture.render(view))


def test_what_all_do_alike_is_one_sentence() -> None:
    deal = ["2c", "9h", "Kd"]
    game = Game.from_position("cuckoo", dealer=2, lives=[3] * 3, deal=deal, stock="3c", seed=1)
    for action in ("keep", "keep", "swap"):
        game.act(action)
    told = list(picture._folded(game.view(0), ["Ann", "Bob", "Cem"]))
    assert told[:-1] == [
        "You keep.",
        "Bob keeps.",
        "Cem draws a card from the stock.",
        "Revealed: you 2♣, Bob 9♥, Cem 3♣.",
        "You lose a life.",
        "A new round: you deal.",
    ]
    assert told[-1].startswith("You get ")
    assert set(picture._FOLDED) <= set(KIND_OF)


# ---- the environment


@pytest.mark.parametrize("make", [cuckoo_v0.env, cuckoo_v0.raw_env])
def test_pettingzoos_render_test_passes(make: Any) -> None:
    render_test(make)


def test_the_environment_draws_what_its_viewer_sees() -> None:
    env = cuckoo_v0.env(render_mode="rgb_array")
    env.reset(seed=3)
    for _ in range(4):
        seat = env.possible_agents.index(env.agent_selection)
        expected = picture.render(env._game.view(seat), env.possible_agents)
        np.testing.assert_array_equal(env.render(), expected)
        env.step(0)
    fixed = cuckoo_v0.env(render_mode="rgb_array", viewer=2)
    fixed.reset(seed=3)
    np.testing.assert_array_equal(
        fixed.render(), picture.render(fixed._game.view(2), fixed.possible_agents)
    )


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows show their pictures as fast as they come."""
    monkeypatch.setattr(display, "RENDER_FPS", 1000)


@pytest.mark.usefixtures("no_waiting")
def test_a_window_shows_every_step_by_itself() -> None:
    env = cuckoo_v0.env("one-round", render_mode="human")
    env.reset(seed=3)
    screens = [pygame.surfarray.array3d(pygame.display.get_surface())]
    while env.agents and not any(env.terminations.values()):
        env.step(0)
        screens.append(pygame.surfarray.array3d(pygame.display.get_surface()))
    for one, other in itertools.pairwise(screens):
        assert not np.array_equal(one, other)
    assert env.render() is None
    expected = picture.render(env._game.view(0), env.possible_agents)
    np.testing.assert_array_equal(screens[-1].transpose(1, 0, 2), expected)
    env.close()
    assert pygame.display.get_surface() is None
    env.close()
    env.render()
    assert pygame.display.get_surface() is not None
    env.close()


@pytest.mark.usefixtures("no_waiting")
def test_two_environments_may_take_turns_in_the_one_window_there_is() -> None:
    one, other = (cuckoo_v0.env(render_mode="human") for _ in range(2))
    for env in (one, other):
        env.reset(seed=3)
    one.close()
    other.step(0)
    assert pygame.display.get_surface() is not None
    other.close()


@pytest.mark.usefixtures("no_waiting")
def test_a_window_that_its_watcher_closes_stays_closed_and_play_goes_on() -> None:
    env = cuckoo_v0.env(render_mode="human")
    env.reset(seed=3)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    env.step(0)
    assert pygame.display.get_surface() is None
    env.step(0)
    assert env.render() is None
    assert pygame.display.get_surface() is None
    env.close()


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_has_no_window_and_goes_on(twin_of: Any) -> None:
    env = cuckoo_v0.env(render_mode="human")
    env.reset(seed=3)
    twin = twin_of(env)
    assert twin._display._window is None
    env.step(0)
    twin.step(0)
    np.testing.assert_array_equal(
        env.observe("player_1")["observation"], twin.observe("player_1")["observation"]
    )
    twin.close()
    env.close()


# ---- one learner


def played_alike(seed: int) -> Iterator[tuple[Any, Game]]:
    """The one-learner environment at each of its decisions, and the same game beside it."""
    env = gymnasium.make(ENV_ID, render_mode="rgb_array").unwrapped
    agents, luck = [None, *fill("robin,alex", env.rules, 0)], random.Random(seed)
    env.reset(seed=seed)
    game, over = Game(env.rules, seed), False
    while not over:
        yield env, game
        action = luck.choice(game.legal_actions())
        game.act(action)
        while game.seat not in {0, None} and game.lives[0] > 0:
            observation, mask = game.observe(game.seat, env.layout)
            chances = agents[game.seat].probabilities(observation[None], mask[None], env.layout)
            game.act(ACTION_NAMES[chances.argmax()])
        _, _, over, _, _ = env.step(ACTION_NAMES.index(action))
    yield env, game


@pytest.mark.parametrize("seed", range(5))
def test_the_learners_environment_shows_what_the_learner_sees(seed: int) -> None:
    for env, game in played_alike(seed):
        view = dataclasses.replace(game.view(0), news=())
        names = [f"player_{seat}" for seat in range(3)]
        np.testing.assert_array_equal(env.render(), picture.render(view, names))


@pytest.mark.usefixtures("no_waiting")
def test_the_learners_environment_shows_text_and_windows_too() -> None:
    text = gymnasium.make(ENV_ID, render_mode="ansi")
    with pytest.raises(gymnasium.error.ResetNeeded, match="no game has begun"):
        text.unwrapped.render()
    text.reset(seed=3)
    assert "player_0 (you)" in str(text.render())
    env = gymnasium.make(ENV_ID, render_mode="human")
    env.reset(seed=3)
    first = pygame.surfarray.array3d(pygame.display.get_surface())
    env.step(0)
    assert not np.array_equal(first, pygame.surfarray.array3d(pygame.display.get_surface()))
    env.close()
    assert pygame.display.get_surface() is None


def test_every_environment_of_a_vector_shows_what_the_single_one_does() -> None:
    envs = gymnasium.make_vec(ENV_ID, num_envs=3, render_mode="rgb_array")
    envs.reset(seed=4)
    single = gymnasium.make(ENV_ID, render_mode="rgb_array").unwrapped
    for i, image in enumerate(envs.render()):
        single.reset(seed=seeding.derive(4, i))
        np.testing.assert_array_equal(image, single.render())
    assert gymnasium.make_vec(ENV_ID, num_envs=3, render_mode=None).render() is None
    with pytest.raises(ValueError, match="'human' is refused; accepted: None, ansi, rgb_array"):
        make_vector(3, render_mode="human")


@pytest.mark.usefixtures("no_waiting")
def test_gymnasium_finds_every_mode_of_the_learners_environment_in_order() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # It asks to be given the environment without Gymnasium's own wrappers.
        check_env(gymnasium.make(ENV_ID, render_mode="rgb_array").unwrapped)


# ---- without pygame


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )


def test_pygame_is_loaded_only_for_pictures() -> None:
    code = (
        "import sys; from cuckoo_env import cuckoo_v0; env = cuckoo_v0.env(render_mode='ansi');"
        "env.reset(seed=1); env.render(); assert 'pygame' not in sys.modules;"
        "env = cuckoo_v0.env(render_mode='rgb_array'); assert 'pygame' in sys.modules"
    )
    assert run(code).returncode == 0


@pytest.mark.parametrize("mode", ["rgb_array", "human"])
def test_without_pygame_the_error_says_what_to_install(mode: str) -> None:
    code = (
        "import sys; sys.modules['pygame'] = None; from cuckoo_env import cuckoo_v0;"
        f"cuckoo_v0.env(render_mode='ansi'); cuckoo_v0.env(render_mode={mode!r})"
    )
    said = run(code).stderr.splitlines()[-1]
    assert said.endswith("pictures need pygame; install: pip install 'cuckoo-env[render]'")


def test_a_picture_needs_no_display() -> None:
    code = (
        "import os; os.environ.pop('DISPLAY', None); os.environ.pop('SDL_VIDEODRIVER', None);"
        "from cuckoo_env import cuckoo_v0; env = cuckoo_v0.env(render_mode='rgb_array');"
        "env.reset(seed=1); print(env.render().shape)"
    )
    assert run(code).stdout == f"{SHAPE}\n"


def test_the_modes_are_told() -> None:
    assert aec.RawEnv.metadata["render_modes"] == ["ansi", "rgb_array", "human"]
    assert aec.RawEnv.metadata["render_fps"] > 0
    # Not the whole dictionary: Gymnasium's own vector environments write into it.
    for name in ("render_modes", "render_fps"):
        assert solo.CuckooEnv.metadata[name] == aec.RawEnv.metadata[name]
    for make in (cuckoo_v0.env, make_solo):
        with pytest.raises(ValueError, match="accepted: None, ansi, rgb_array, human"):
            make(render_mode="rgb")
