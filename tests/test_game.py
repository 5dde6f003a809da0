"""One game for people and programs."""

from __future__ import annotations

import copy
import pickle
import random
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import seeds, tables

from cuckoo_env import seeding
from cuckoo_env.batch import Batch
from cuckoo_env.engine import ACTION_NAMES
from cuckoo_env.events import Event
from cuckoo_env.game import Game, IllegalActionError, read
from cuckoo_env.observation import Layout
from cuckoo_env.rules import PRESETS, Rules

CARD = re.compile(r"\b[A2-9TJQK][cdhs]\b")


def worked_example() -> Game:
    """A 2c, B 9h, C Ks, D 7d; D deals."""
    deal = ["2c", "9h", "Ks", "7d"]
    return Game.from_position("cuckoo,seats=4", dealer=3, lives=[3] * 4, deal=deal, seed=5)


def at_random(game: Game, luck: random.Random) -> str:
    return luck.choice(game.legal_actions())


def played(game: Game, luck: random.Random, moves: int) -> list[Any]:
    """Everything a game shows over so many moves; where one ends, the next begins."""
    shown: list[Any] = []
    for _ in range(moves):
        if game.seat is None:
            shown.append(game.result)
            game.reset()
        shown.append((game.seat, game.act(at_random(game, luck)), game.view(0)))
    return shown


# ---- the worked example


def test_the_worked_example_runs_exactly() -> None:
    game = worked_example()
    assert game.events == (
        Event("round", seat=3),
        Event("dealt", seat=0, card="2c"),
        Event("dealt", seat=1, card="9h"),
        Event("dealt", seat=2, card="Ks"),
        Event("dealt", seat=3, card="7d"),
    )
    assert game.act("swap") == (
        Event("asked", seat=0, other=1),
        Event("swapped", seat=0, other=1, card="9h", other_card="2c"),
    )
    assert game.act("swap") == (
        Event("asked", seat=1, other=2),
        Event("showed", seat=2, card="Ks"),
    )
    assert game.act("keep") == (Event("kept", seat=2),)
    assert game.act("keep")[:6] == (
        Event("kept", seat=3),
        Event("revealed", seat=0, card="9h"),
        Event("revealed", seat=1, card="2c"),
        Event("revealed", seat=2, card="Ks"),
        Event("revealed", seat=3, card="7d"),
        Event("lost", seat=1, count=1),
    )
    view = game.view(0)
    assert [each.lives for each in view.seats] == [3, 2, 3, 3]
    assert (view.round, view.dealer, view.acts) == (2, 0, 1)


def test_the_two_seats_of_a_swap_know_both_cards_and_nobody_else_does() -> None:
    game = worked_example()
    game.act("swap")
    cards = [[each.card for each in game.view(viewer).seats] for viewer in range(4)]
    assert cards == [
        ["9h", "2c", None, None],
        ["9h", "2c", None, None],
        [None, None, "Ks", None],
        [None, None, None, "7d"],
    ]


# ---- legal and illegal actions


def test_actions_go_by_name_or_number() -> None:
    one, other = worked_example(), worked_example()
    assert one.act("swap") == other.act(1)
    assert one.act("keep") == other.act(np.int32(0))


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("pay", "action: seat 0 may not pay; legal: keep, swap"),
        (2, "action: seat 0 may not accept; legal: keep, swap"),
        ("fold", "action: seat 0 may not fold; legal: keep, swap"),
        (17, "action: seat 0 may not do 17; legal: keep, swap"),
        (-1, "action: seat 0 may not do -1; legal: keep, swap"),
        (-2, "action: seat 0 may not do -2; legal: keep, swap"),
        (None, "action: seat 0 may not do None; legal: keep, swap"),
        (1.0, "action: seat 0 may not do 1.0; legal: keep, swap"),
    ],
)
def test_an_illegal_action_names_the_legal_ones_and_changes_nothing(action: Any, said: str) -> None:
    game = worked_example()
    before = pickle.dumps(game)
    for attempt in (game.act, game.play, lambda action: game.verify(0, action)):
        with pytest.raises(IllegalActionError) as error:
            attempt(action)
        if attempt != game.play or not isinstance(action, str):
            assert str(error.value) == said
    assert not game.can(0, action)
    assert pickle.dumps(game) == before


def test_only_the_seat_to_act_may_act() -> None:
    game = worked_example()
    assert game.can(0, "keep")
    assert not game.can(1, "keep")
    with pytest.raises(IllegalActionError, match="seat 1 may not keep: seat 0 is to act"):
        game.verify(1, "keep")


def test_nobody_may_act_when_the_game_is_over() -> None:
    game = Game("one-round", seed=1)
    while game.seat is not None:
        assert game.result is None
        game.act("keep")
    assert game.legal_actions() == ()
    for attempt in (game.act, lambda action: game.verify(0, action)):
        with pytest.raises(IllegalActionError, match="nobody may keep: the game is over"):
            attempt("keep")
    with pytest.raises(ValueError, match="redeal: the game is over"):
        game.redeal()


@given(rules=tables(), seed=seeds())
@settings(max_examples=40)
def test_verify_can_legal_actions_and_mask_agree(rules: Rules, seed: int) -> None:
    game, luck = Game(rules, seed), random.Random(seed)
    for _ in range(40):
        if game.seat is None:
            break
        legal = game.legal_actions()
        assert legal
        assert [name for name in ACTION_NAMES if game.can(game.seat, name)] == list(legal)
        for seat in range(rules.seats):
            _, mask = game.observe(seat)
            marked = tuple(name for name, bit in zip(ACTION_NAMES, mask, strict=False) if bit)
            assert marked == game.view(seat).legal == (legal if seat == game.seat else ())
        game.act(at_random(game, luck))


# ---- positions


def test_a_position_says_lives_dealer_stakes_cards_and_cuts() -> None:
    game = Game.from_position(
        "chase-the-ace,seats=3,final_tie=cut",
        dealer=2,
        lives=[1, 0, 1],
        staked=[2, 2, 3],
        deal=["5c", None, "5d"],
        stock="Ah",
        cuts=["Tc", "Td", "3c", "3d", "Jc", "2d"],
    )
    game.act("keep")
    happened = game.act("keep")
    cuts = [(each.seat, each.card) for each in happened if each.event == "final_cut"]
    assert cuts == [(0, "Tc"), (2, "Td"), (0, "3c"), (2, "3d"), (0, "Jc"), (2, "2d")]
    result = game.result
    assert result is not None
    assert (result.winners, result.payoffs, result.truncated) == ((0,), (5.0, -2.0, -3.0), False)


def test_the_stock_of_a_position_is_what_the_dealer_draws() -> None:
    game = Game.from_position(
        "cuckoo", dealer=2, lives=[3] * 3, deal=["2c", "3c", "4c"], stock="Td"
    )
    game.act("keep")
    game.act("keep")
    assert game.act("swap")[0] == Event("drew", seat=2, card="Td")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lives": [3, 3]}, "lives: [3, 3] is refused"),
        ({"lives": [3, 0, 0]}, "lives: [3, 0, 0] is refused; accepted: at least two seats"),
        ({"lives": [3, -1, 3]}, "lives: [3, -1, 3] is refused"),
        ({"lives": [3, 1.5, 3]}, "lives: [3, 1.5, 3] is refused"),
        ({"staked": [1, 1, 0]}, "staked: [1, 1, 0] is refused"),
        ({"dealer": 3}, "dealer: 3 is refused"),
        ({"dealer": -1}, "dealer: -1 is refused"),
        (
            {"dealer": 1, "lives": [1, 0, 1]},
            "dealer: 1 is refused; accepted: a seat that has a life",
        ),
        ({"deal": ["2c", "3c"]}, "deal: ['2c', '3c'] is refused"),
        ({"deal": ["2c", "3c", None]}, "deal: ['2c', '3c', None] is refused"),
        ({"deal": ["2c", "2c", "3c"]}, "deal: 2c is refused; accepted: at most 1 of it"),
        ({"deal": ["2c", "3c", "4c"], "stock": "3c"}, "deal: 3c is refused"),
        ({"deal": ["2c", "3c", "1c"]}, "card: '1c' is not a card"),
        ({"stock": "2c"}, "stock: 2c is refused; accepted: None without a deal"),
        ({"cuts": ["2c"]}, "cuts: ['2c'] is refused"),
        ({"seed": -1}, "seed: -1 is refused"),
        ({"rules": "cuckoo,lives=0"}, "lives: 0 is refused"),
    ],
)
def test_a_position_that_cannot_be_is_refused(changes: dict[str, Any], said: str) -> None:
    position = {"rules": "cuckoo", "dealer": 2, "lives": [3, 3, 3], **changes}
    with pytest.raises(ValueError, match=re.escape(said)):
        Game.from_position(**position)


def test_a_game_from_a_position_is_followed_by_games_from_the_beginning() -> None:
    game = Game.from_position("cuckoo", dealer=2, lives=[1, 0, 2], deal=["2c", None, "4c"])
    game.reset(seed=3)
    assert game.events == Game("cuckoo", seed=3).events


def test_an_incorrect_deal_is_repeated_without_loss_of_life() -> None:
    game = worked_example()
    game.follow(["3c", "4c", "5c", "6c", "7c"])
    assert game.redeal() == (
        Event("misdealt"),
        Event("round", seat=3),
        *(Event("dealt", seat=seat, card=f"{seat + 3}c") for seat in range(4)),
    )
    view = game.view(0)
    assert (view.round, view.dealer, view.acts) == (1, 3, 0)
    assert [each.lives for each in view.seats] == [3] * 4


def test_a_deal_is_not_repeated_after_the_first_action() -> None:
    for rules, action in (("onesies", "swap"), ("cuckoo", "keep")):
        game = Game(rules, seed=1)
        game.act(action)
        with pytest.raises(ValueError, match="redeal: a seat has acted on this deal"):
            game.redeal()


def test_a_script_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="cards: 500 is refused"):
        worked_example().follow(["2c"] * 500)


# ---- seeds


def test_a_seed_starts_the_same_game_and_zero_is_a_seed() -> None:
    assert Game("standard", seed=0).events == Game("standard", seed=0).events
    assert Game("standard", seed=0).events != Game("standard", seed=1).events
    assert Game("standard").events != Game("standard").events


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True])
def test_a_seed_that_is_none_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match=r"seed: .* is refused"):
        Game("standard", seed=seed)
    with pytest.raises(ValueError, match=r"seed: .* is refused"):
        Game("standard").reset(seed)


def test_a_reset_without_a_seed_goes_on_with_the_generator() -> None:
    one, other = Game("standard", seed=4), Game("standard", seed=4)
    one.reset()
    other.reset()
    assert one.events == other.events != Game("standard", seed=4).events


@pytest.mark.parametrize("rules", ["practice-table", "onesies,seats=6", "queen-rule,seats=10"])
def test_a_game_of_a_batch_is_the_single_game_with_the_derived_seed(rules: str) -> None:
    batch, luck = Batch(rules, games=8, seed=11), random.Random(2)
    games = [Game(rules, seeding.derive(11, i)) for i in range(8)]
    for _ in range(300):
        for i, game in enumerate(games):
            assert batch.seats[i] == game.seat
            observation, mask = game.observe(int(batch.seats[i]), batch.layout)
            np.testing.assert_array_equal(batch.observations[i], observation)
            np.testing.assert_array_equal(batch.masks[i], mask)
        actions = [luck.choice(np.flatnonzero(mask).tolist()) for mask in batch.masks]
        batch.step(np.array(actions, np.int8))
        for i, game in enumerate(games):
            game.play(actions[i])
            if game.seat is None:
                assert game.result is not None
                assert batch.returns[i].tolist() == list(game.result.payoffs)
                game.reset()


def test_global_generators_are_neither_read_nor_touched() -> None:
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = random.getstate(), pickle.dumps(np.random.get_state())  # noqa: NPY002
    first = played(Game("standard", seed=3), random.Random(1), 50)
    assert before == (random.getstate(), pickle.dumps(np.random.get_state()))  # noqa: NPY002
    random.seed(2)
    np.random.seed(2)  # noqa: NPY002
    assert played(Game("standard", seed=3), random.Random(1), 50) == first


# ---- copies


@pytest.mark.parametrize("rules", ["practice-table", "onesies,seats=5", "cuckoo,seats=10"])
@pytest.mark.parametrize(
    "twin_of",
    [Game.copy, copy.copy, copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))],
    ids=["copy", "copy.copy", "deepcopy", "pickle"],
)
def test_a_copy_in_mid_game_goes_on_as_the_original_does(rules: str, twin_of: Any) -> None:
    game, luck = Game(rules, seed=8), random.Random(8)
    played(game, luck, 50)
    twin = twin_of(game)
    assert twin.events == game.events
    again = copy.deepcopy(luck)
    assert played(twin, again, 1000) == played(game, luck, 1000)
    assert twin.events == game.events


def test_a_copy_does_not_disturb_the_original() -> None:
    game = Game("standard,seats=5", seed=8)
    before, events = pickle.dumps(game), game.events
    played(game.copy(), random.Random(1), 100)
    assert pickle.dumps(game) == before
    assert game.events == events


def test_a_long_game_is_remembered_whole() -> None:
    game, happened = Game("standard,seats=10,lives=30", seed=8), []
    happened += game.events
    luck = random.Random(1)
    while game.seat is not None:
        happened += game.act(at_random(game, luck))
    assert list(game.events) == happened
    assert len(happened) > 2000


def test_a_game_is_retold_move_by_move() -> None:
    game, luck = Game("onesies,seats=4", seed=8), random.Random(1)
    game.redeal()
    states = [pickle.dumps(game)]
    for _ in range(30):
        game.act(at_random(game, luck))
        states.append(pickle.dumps(game))
    told = [(each.seat, each.lives, each.events) for _, each in game.retold()]
    saved = [pickle.loads(state) for state in states]
    assert told[1:] == [(each.seat, each.lives, each.events) for each in saved]


# ---- what a seat may see


def may_see(event: Event, viewer: int) -> bool:
    """The table's own rule: your own dealt or drawn card, both cards of your swap, what lies open."""
    match event.event:
        case "dealt" | "drew":
            return viewer == event.seat
        case "swapped":
            return viewer in (event.seat, event.other)
        case _:
            return True


def seen_cards(events: tuple[Event, ...], viewer: int) -> set[str]:
    """The cards that the viewer has legally seen in these events."""
    visible = [event for event in events if may_see(event, viewer)]
    return {card for event in visible for card in (event.card, event.other_card) if card}


@given(rules=tables(), seed=seeds())
@settings(max_examples=60)
def test_a_view_holds_no_card_that_its_seat_has_not_seen(rules: Rules, seed: int) -> None:
    game, luck = Game(rules, seed), random.Random(seed)
    for _ in range(60):
        if game.seat is None:
            break
        game.act(at_random(game, luck))
        events = game.events
        rounds = [at for at, event in enumerate(events) if event.event == "round"]
        for viewer in range(rules.seats):
            view = game.view(viewer)
            here = {each.card for each in view.seats if each.card} | ({view.stock} - {None})
            seen = seen_cards(events[rounds[-1] :], viewer)
            assert here <= seen
            untold = events[len(events) - len(view.news) :]
            assert [event.event for event in view.news] == [event.event for event in untold]
            for told, event in zip(view.news, untold, strict=True):
                assert told == (event if may_see(event, viewer) else Event(*_public(event)))
            assert set(CARD.findall(repr(view))) <= seen | seen_cards(untold, viewer)
        assert not CARD.findall(repr(game))


def _public(event: Event) -> tuple[Any, ...]:
    return event.event, event.seat, event.other, event.count


def test_news_are_what_has_happened_since_the_seat_last_chose() -> None:
    game = worked_example()
    game.act("swap")
    assert [event.event for event in game.news(0)] == ["asked", "swapped"]
    assert [event.event for event in game.news(1)] == ["round"] + ["dealt"] * 4 + [
        "asked",
        "swapped",
    ]
    game.act("keep")
    assert [event.event for event in game.news(0)] == ["asked", "swapped", "kept"]
    assert [event.event for event in game.news(1)] == ["kept"]


@pytest.mark.parametrize("call", ["view", "observe", "news"])
@pytest.mark.parametrize("seat", [-1, 4])
def test_a_seat_that_does_not_exist_sees_nothing(call: str, seat: int) -> None:
    with pytest.raises(ValueError, match=f"seat: {seat} is refused; accepted: 0 to 3"):
        getattr(worked_example(), call)(seat)


@pytest.mark.parametrize("name", list(PRESETS))
def test_observing_is_pure_and_follows_the_layout(name: str) -> None:
    rules = Rules.parse(name)
    layouts = [Layout.of(rules), Layout.of(rules, max_seats=12, with_rules=True, n_actions=5), None]
    game, luck = Game(rules, seed=3), random.Random(3)
    for _ in range(20):
        if game.seat is None:
            break
        before = pickle.dumps(game)
        for seat in range(rules.seats):
            for layout in layouts:
                observation, mask = game.observe(seat, layout)
                again, _ = game.observe(seat, layout)
                size = (layout or layouts[0]).size  # type: ignore[union-attr]
                assert (observation.dtype, observation.shape) == (np.float32, (size,))
                assert mask.dtype == np.int8
                np.testing.assert_array_equal(observation, again)
                assert observation is not again
        assert pickle.dumps(game) == before
        game.act(at_random(game, luck))


def test_a_layout_that_is_too_small_is_refused() -> None:
    game = Game("onesies,seats=4", seed=1)
    with pytest.raises(ValueError, match="max_seats: 3 is refused"):
        game.observe(0, Layout(max_seats=3))
    with pytest.raises(ValueError, match="n_actions: 2 is refused"):
        game.observe(0, Layout(max_seats=4, n_actions=2))


def test_looking_at_others_and_in_other_layouts_between_moves_shows_what_a_copy_shows() -> None:
    rules = Rules.parse("onesies,seats=4")
    game, luck = Game(rules, seed=3), random.Random(3)
    layouts = [None, Layout.of(rules, max_seats=6, with_rules=True)]
    for _ in range(200):
        if game.seat is None:
            game.reset()
        seen = {}
        for _ in range(6):
            viewer, layout = luck.randrange(4), luck.choice(layouts)
            found = [part.tolist() for part in game.observe(viewer, layout)]
            fresh = pickle.loads(pickle.dumps(game)).observe(viewer, layout)
            assert found == [part.tolist() for part in fresh]
            assert seen.setdefault((viewer, layout), found) == found
        game.play(ACTION_NAMES.index(at_random(game, luck)))


def test_a_bookmark_is_read_at_any_time_as_if_at_once() -> None:
    game, luck = Game("standard,seats=4", seed=3), random.Random(3)
    kept = []
    for _ in range(400):
        if game.seat is None:
            game.reset()
        kept += [(game.bookmark(seat), game.news(seat)) for seat in range(4)]
        game.act(at_random(game, luck))
    assert len({len(news) for _, news in kept}) > 5
    for bookmark, news in kept:
        assert read(bookmark) == news
