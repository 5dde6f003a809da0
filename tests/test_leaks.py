"""No observation tells a seat what it has not seen, and none forgets what it has seen in the round."""

from __future__ import annotations

import dataclasses
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import strategies
from differential import Pair, case_of, play_case, random_rules
from hypothesis import given, settings
from rounds import Decision, Setting, View, referee_at, referee_view, walk

from cuckoo_env import cuckoo_v0, engine, records
from cuckoo_env.cards import N_RANKS, N_SUITS, PACK
from cuckoo_env.events import CARD_TEXTS, Event
from cuckoo_env.game import Game, IllegalActionError
from cuckoo_env.observation import Layout, observe, sections_of
from cuckoo_env.render.text import render
from cuckoo_env.rules import PRESETS, Rules

Games = npt.NDArray[np.void]

# --------------------------------------------------------------------------------------
# What a seat has not seen changes nothing
# --------------------------------------------------------------------------------------


def seen_by(pair: Pair, games: Games, viewer: int) -> tuple[bytes, bytes]:
    """The observation and the mask of a seat, byte by byte."""
    layout = Layout.of(pair.rules, with_rules=True)
    observation = np.full((1, layout.size), -1, np.float32)
    mask = np.full((1, layout.n_actions), -1, np.int8)
    sections = sections_of(layout, (pair.rules,))
    observe(games, pair.compiled, layout.offsets, sections, 0, viewer, observation, mask)
    return observation.tobytes(), mask.tobytes()


def dealt_again(pair: Pair, viewer: int, rng: random.Random) -> Games:
    """The same game with other cards wherever the viewer has not seen any, and other chance to come.

    Cards the viewer knows keep their rank, but may change their suit. What the other seats know changes
    with the cards, for they know the new ones; whom they know does not.
    """
    games = pair.games.copy()
    game, rules = games[0], pair.rules
    free = list(range(PACK)) * rules.decks
    holders = [seat for seat in range(rules.seats) if game["card"][seat] != engine.NO_CARD]
    known = {
        seat: int(game["known"][seat, viewer]) for seat in holders if game["known"][seat, viewer]
    }
    fixed = [int(game["stock"])] if game["stock"] != engine.NO_CARD else []
    for card in fixed:
        free.remove(card)
    rng.shuffle(free)
    for seat, rank in known.items():
        game["card"][seat] = take(free, rank)
    for seat in holders:
        if seat not in known:
            game["card"][seat] = free.pop()
        others = [other for other in range(rules.seats) if game["known"][seat, other]]
        for other in set(others) - {viewer}:
            game["known"][seat, other] = int(game["card"][seat]) // N_SUITS + 1
    if not fixed:
        game["top"] = free.pop()
    games["rng"] = rng.getrandbits(32)
    if games["script"].shape[1] > 1:
        games["script"] = rng.randrange(PACK)
    return games


def take(free: list[int], rank: int) -> int:
    """Some free card of a rank."""
    card = next(card for card in free if card // N_SUITS + 1 == rank)
    free.remove(card)
    return card


def assert_nothing_leaks(pair: Pair, rng: random.Random) -> int:
    """For every viewer; gives back how many hidden cards were exchanged."""
    exchanged = 0
    for viewer in range(pair.rules.seats):
        before = seen_by(pair, pair.games, viewer)
        for _ in range(3):
            other = dealt_again(pair, viewer, rng)
            exchanged += int((other["card"] != pair.games["card"]).sum())
            assert seen_by(pair, other, viewer) == before, (
                f"seat {viewer} sees a difference\n{pair}"
            )
    return exchanged


@settings(max_examples=200)
@given(rules=strategies.tables(), seed=strategies.seeds())
def test_no_hidden_card_changes_what_a_seat_observes(rules: Rules, seed: int) -> None:
    rng = random.Random(seed)
    pair = play_case(seed, rules)
    assert_nothing_leaks(pair, rng)


def test_no_hidden_card_changes_what_a_seat_observes_at_any_step() -> None:
    exchanged = 0
    for seed in range(400):
        rng = random.Random(seed)
        case = case_of(seed)
        if case.rules.seats > 10:
            continue
        pair = Pair(case.rules, generator=case.generator, start=case.start, script=case.script)
        for _ in range(rng.randrange(12)):
            if not pair.over:
                pair.step(rng.choice(pair.legal))
        exchanged += assert_nothing_leaks(pair, rng)
    assert exchanged > 10_000, "hidden cards must really have been exchanged"


def test_only_the_seat_to_act_has_a_mask() -> None:
    for seed in range(300):
        pair = play_case(seed)
        for viewer in range(pair.rules.seats):
            _, mask = seen_by(pair, pair.games, viewer)
            assert any(mask) == (viewer == int(pair.games["seat"][0]))


def test_a_leak_would_be_found() -> None:
    pair = Pair(Rules.parse("practice-table"))
    pair.games["known"][0, 1, 0] = pair.games["card"][0, 1] // N_SUITS + 1
    before = seen_by(pair, pair.games, 0)
    pair.games["known"][0, 1, 0] = pair.games["known"][0, 1, 0] % 13 + 1
    assert seen_by(pair, pair.games, 0) != before


# --------------------------------------------------------------------------------------
# Infos, text and records: whole histories that a seat cannot tell apart
# --------------------------------------------------------------------------------------

Packs = list[list[str]]
"""The shuffled packs of each round: the deal to the seats still in, then the stock."""
MOST_ROUNDS = 6
MOST_DRAWN = 40
"""Cards of a round's packs that can come up: the deal, the top of the stock, or cuts."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class History:
    """A game from a position on, told by all that chance and the seats did."""

    rules: Rules
    dealer: int
    lives: tuple[int, ...]
    packs: Packs
    actions: tuple[str, ...]
    generator: int

    def steps(self) -> Iterator[Game]:
        """The game after its first deal and after every action: one game that goes on.

        Raises:
            IllegalActionError: where an action is not legal.
        """
        cards = iter(self.packs[0])
        game = Game.from_position(
            self.rules,
            dealer=self.dealer,
            lives=self.lives,
            deal=[next(cards) if each else None for each in self.lives],
            stock=next(cards),
            seed=self.generator,
        )
        yield game
        begun = 1
        for action in self.actions:
            # What chance hands out if this action ends the round.
            game.follow(self.packs[min(begun, MOST_ROUNDS)])
            begun += rounds_in(game.act(action))
            yield game


def rounds_in(events: Iterable[Event]) -> int:
    return sum(event.event == "round" for event in events)


def random_history(rng: random.Random, rules: Rules) -> History:
    """Some rounds played at random, up to any place in the last one."""
    lives = tuple(rng.choice((0, 1, 2, rules.lives, rules.lives)) for _ in range(rules.seats))
    while sum(each > 0 for each in lives) < 2:
        lives = (rules.lives,) * rules.seats
    dealer = rng.choice([seat for seat, each in enumerate(lives) if each])
    pack = list(CARD_TEXTS) * rules.decks
    packs = [rng.sample(pack, min(len(pack), MOST_DRAWN)) for _ in range(MOST_ROUNDS + 1)]
    made = History(
        rules=rules,
        dealer=dealer,
        lives=lives,
        packs=packs,
        actions=(),
        generator=rng.getrandbits(60),
    )
    rounds, until = rng.randrange(1, MOST_ROUNDS), rng.randrange(2 * rules.seats)
    game, actions, begun = next(made.steps()), [], 1
    while game.seat is not None and (begun < rounds or until > 0) and begun <= MOST_ROUNDS:
        until -= begun >= rounds
        game.follow(packs[begun])
        actions.append(rng.choice(game.legal_actions()))
        begun += rounds_in(game.act(actions[-1]))
    return dataclasses.replace(made, actions=tuple(actions))


def other_history(history: History, rng: random.Random, last: int) -> History:
    """The same actions with other cards here and there, most of them in the last of the rounds."""
    packs = [list(each) for each in history.packs]
    for number, pack in enumerate(packs):
        chance = 0.5 if number >= last else 0.04
        for at in range(min(len(pack), history.rules.seats + 1)):
            if rng.random() < chance:
                other = rng.randrange(at, len(pack))
                pack[at], pack[other] = pack[other], pack[at]
    return dataclasses.replace(history, packs=packs, generator=rng.getrandbits(60))


def legally_seen(game: Game, viewer: int) -> list[tuple[Any, ...]]:
    """What has happened, as the rulebook lets a seat see it."""
    seen: list[tuple[Any, ...]] = []
    for event in game.events:
        mine = viewer in {event.seat, event.other}
        # A card that is dealt or drawn is its holder's, those of a swap are known to its two seats.
        hidden = event.event in {"dealt", "drew", "swapped"} and not mine
        cards = () if hidden else (event.card, event.other_card)
        seen.append((event.event, event.seat, event.other, event.count, *cards))
    return seen


def shown_to(env: Any, game: Game, viewer: int) -> tuple[Any, ...]:
    """Everything that the environment shows to a seat: observation, mask, info and text."""
    agent = env.possible_agents[viewer]
    env._game = game
    env.agent_selection = env.possible_agents[0 if game.seat is None else game.seat]
    seen = env.observe(agent)
    return (
        seen["observation"].tobytes(),
        seen["action_mask"].tobytes(),
        json.dumps({name: list(value) for name, value in env.infos[agent].items()}),
        render(game.view(viewer)),
        env.agent_selection,
    )


def assert_histories_look_alike(rules: Rules, rng: random.Random) -> Counter[str]:
    """Deal again what a seat has not seen; gives back how much was dealt again."""
    history, done = random_history(rng, rules), Counter[str]()
    env = cuckoo_v0.raw_env(rules, with_rules=True)
    env.reset()
    viewer = rng.randrange(rules.seats)
    shown = [shown_to(env, game, viewer) for game in history.steps()]
    *_, end = history.steps()
    seen, last = legally_seen(end, viewer), rounds_in(end.events) - 1
    for _ in range(12):
        other = other_history(history, rng, last)
        try:
            *_, end_there = other.steps()
        except IllegalActionError:
            continue
        if legally_seen(end_there, viewer) != seen:
            continue
        shown_there = [shown_to(env, game, viewer) for game in other.steps()]
        assert shown_there == shown, f"seat {viewer} of {rules} sees a difference: {history}"
        done["histories"] += 1
        done["cards"] += sum(
            one != two
            for before, after in zip(history.packs, other.packs, strict=True)
            for one, two in zip(before[: rules.seats + 1], after, strict=False)
        )
        done["earlier"] += history.packs[:last] != other.packs[:last]
    return done


def short(rules: Rules) -> Rules:
    return rules if rules.game == "round" else rules.replace(max_rounds=rules.max_rounds or 20)


def test_no_hidden_card_changes_what_a_seat_is_shown_or_told() -> None:
    done: Counter[str] = Counter()
    for seed in range(150):
        rng = random.Random(seed)
        rules = random_rules(rng)
        if rules.seats <= 10:
            done += assert_histories_look_alike(short(rules), rng)
    assert done["histories"] > 250, "histories must really have been exchanged"
    assert done["cards"] > 1000
    assert done["earlier"] > 10, "also discards and stocks of earlier rounds"


@settings(max_examples=60)
@given(rules=strategies.tables(), seed=strategies.seeds())
def test_no_hidden_card_changes_what_a_seat_is_shown_at_any_table(rules: Rules, seed: int) -> None:
    assert_histories_look_alike(short(rules), random.Random(seed))


@pytest.mark.parametrize("name", PRESETS)
def test_no_hidden_card_changes_what_a_seat_is_shown_by_any_preset(name: str) -> None:
    rng = random.Random(name)
    done: Counter[str] = Counter()
    for _ in range(8):
        done += assert_histories_look_alike(Rules.parse(name), rng)
    assert done["histories"] > 0


def test_a_leak_of_what_is_told_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def everything(event: Event, _viewer: int) -> Event:
        return event

    monkeypatch.setattr(Event, "seen_by", everything)
    with pytest.raises(AssertionError, match="sees a difference"):
        [assert_histories_look_alike(Rules(), random.Random(seed)) for seed in range(20)]


@settings(max_examples=60)
@given(rules=strategies.tables(), seed=strategies.seeds())
def test_a_record_tells_nothing_of_the_round_that_is_played(rules: Rules, seed: int) -> None:
    rng = random.Random(seed)
    history = random_history(rng, short(rules))
    *_, game = history.steps()
    if game.seat is None:
        return
    written, now = records.record(game), rounds_in(game.events) - 1
    assert len(written["rounds"]) == now
    packs = [list(each) for each in history.packs]
    rng.shuffle(packs[now])
    played = sum(len(each["actions"]) for each in written["rounds"])
    other = dataclasses.replace(history, packs=packs, actions=history.actions[:played])
    *_, there = other.steps()
    assert records.record(there) == written
    while there.seat is not None and not rounds_in(there.act(rng.choice(there.legal_actions()))):
        if there.seat is not None:
            assert records.record(there) == written


# --------------------------------------------------------------------------------------
# What a seat has seen in this round is never forgotten
# --------------------------------------------------------------------------------------


def assert_perfect_recall(setting: Setting, walked: Iterable[Decision]) -> tuple[int, int]:
    """Two histories look different to the seat to act exactly if it has seen different things happen."""
    observed: defaultdict[View, set[bytes]] = defaultdict(set)
    views: defaultdict[tuple[int, bytes], set[View]] = defaultdict(set)
    decisions = 0
    for decision in walked:
        referee = referee_at(setting, decision.deal, decision.path)
        assert (referee.seat, tuple(referee.legal())) == (decision.seat, decision.legal)
        view = referee_view(referee, decision.seat)
        observed[view].add(decision.observation)
        views[decision.seat, decision.observation].add(view)
        decisions += 1
    leaks = [view for view, seen in observed.items() if len(seen) > 1]
    assert not leaks, f"{setting.rules}: seat {leaks[0][0]} sees what it cannot know: {leaks[0]}"
    forgotten = [seen for seen in views.values() if len(seen) > 1]
    assert not forgotten, f"{setting.rules}: these look alike: {sorted(forgotten[0])}"
    return decisions, len(observed)


RANKS_AT = {2: 5, 3: 3, 4: 2}
"""How many ranks are dealt, by seats in: so that a round has some thousand decisions."""


def random_setting(rng: random.Random) -> Setting:
    """A round at a small table: any rules, court cards among the ranks, perhaps with a seat that is out."""
    seats = rng.choice((2, 3, 3, 4, 4))
    first_dealer = rng.randrange(seats)
    rules = random_rules(rng).replace(
        seats=seats,
        game="round",
        max_rounds=None,
        first_dealer=first_dealer,
        decks=rng.choice((0, 2)),
    )
    lives = [rng.choice((0, 1, 2, 3, 3)) for _ in range(seats)]
    for seat in rng.sample(range(seats), 2):
        lives[seat] = max(lives[seat], 1)
    seats_in = [seat for seat in range(seats) if lives[seat]]
    ranks = rng.sample("JQK", min(len("JQK"), RANKS_AT[len(seats_in)] - 1))
    ranks += rng.sample("A29", RANKS_AT[len(seats_in)] - len(ranks))
    return Setting(
        rules=rules,
        ranks="".join(ranks),
        stock="".join(rng.sample("78TJQK", 2)),
        lives=tuple(lives),
        dealer=rng.choice(seats_in),
    )


@pytest.mark.parametrize("seed", range(60))
def test_perfect_recall_within_a_round(seed: int) -> None:
    rng = random.Random(seed)
    decisions, states = 0, 0
    for _ in range(3):
        setting = random_setting(rng)
        more = assert_perfect_recall(setting, walk(setting))
        decisions, states = decisions + more[0], states + more[1]
    assert decisions >= states > 5


def test_forgetting_would_be_found() -> None:
    setting = Setting(
        rules=Rules.parse("one-round,first_dealer=2"),
        ranks="A7K",
        stock="8",
        lives=(3, 3, 3),
        dealer=2,
    )
    assert_perfect_recall(setting, walk(setting))
    with pytest.raises(AssertionError, match="these look alike"):
        assert_perfect_recall(setting, _forgetting_others(setting))


def _forgetting_others(setting: Setting) -> Iterator[Decision]:
    """What a seat would observe that knew its own card only."""
    known = Layout.of(setting.rules).slices["known"]
    for decision in walk(setting):
        vector = np.frombuffer(decision.observation, np.float32).copy()
        vector[known.start + N_RANKS : known.stop] = 0
        yield dataclasses.replace(decision, observation=vector.tobytes())
