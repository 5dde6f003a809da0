"""The practice table without its server: frames, messages, what is refused, what is kept secret."""

from __future__ import annotations

import doctest
import json
import random
import re
import unicodedata
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from differential import random_rules

from cuckoo_env import explain, records
from cuckoo_env.evaluate import respond
from cuckoo_env.events import Event
from cuckoo_env.game import Game
from cuckoo_env.observation import Layout
from cuckoo_env.play import coach, frames, opponents, table
from cuckoo_env.play.opponents import Opponent
from cuckoo_env.play.table import RefusedError, Table, TableSettings, check_name, read_rules
from cuckoo_env.rules import AXES, PRESETS, FinalTie, Rules, RulesError

Snapshot = dict[str, Any]

ROBIN, ALEX, NAIVE = (Opponent.of(spec) for spec in ("robin", "alex", "naive"))


def lay(rules: str | Rules, *invited: Opponent, **settings: Any) -> Table:
    """A table with Robin and Alex, as far as there are seats, and the coach off."""
    parsed = Rules.parse(rules)
    who = invited or (ROBIN, ALEX)[: parsed.seats - 1]
    return Table(
        TableSettings(rules=parsed, opponents=who, **{"coach": False, "seed": 1, **settings})
    )


def play_on(seat: Table, rng: random.Random, answer: Snapshot) -> Snapshot:
    """The next message of somebody who does not think."""
    if answer["phase"] == "watch":
        return seat.watch(answer["turn"], rng.choice(["go", "go", "end"]))
    return seat.act(answer["turn"], rng.choice(answer["legal"]))


def play_out(seat: Table, seed: int = 0) -> list[Snapshot]:
    """All the answers of a whole game."""
    rng = random.Random(seed)
    answers = [seat.snapshot()]
    while answers[-1]["phase"] != "over":
        answers.append(play_on(seat, rng, answers[-1]))
    return answers


def playable(rng: random.Random) -> Rules:
    """Random rules, small enough for the practice table."""
    while True:
        rules = random_rules(rng)
        if rules.seats <= table.MOST_SEATS and rules.stake <= table.MOST_STAKE:
            return rules.replace(lives=min(rules.lives, 3))


# ---- frames


def test_a_view_folded_from_events_is_what_the_seat_sees() -> None:
    folded = 0
    for seed in range(80):
        rng = random.Random(seed)
        rules = playable(rng)
        game = Game(rules, seed)
        for _ in range(40):
            if game.seat is None:
                break
            before = game.copy()
            happened = game.act(rng.choice(game.legal_actions()))
            for viewer in (None, *range(rules.seats)):
                end = frames.view(game, viewer)
                scene = frames.Scene(frames.view(before, viewer), end, rules)
                seen = [each if viewer is None else each.seen_by(viewer) for each in happened]
                for event, then in zip(seen, [*seen[1:], None], strict=True):
                    scene.take(event, then)
                # Whose turn comes next is no event.
                now = {**scene.now, "turn": end["turn"], "acts": end["acts"]}
                if game.seat is None:
                    now["order"] = []
                assert now == end, (str(rules), viewer, [each.plain() for each in happened])
                folded += 1
    assert folded > 5_000


def test_frames_tell_the_swap_the_reveal_and_why() -> None:
    game = Game.from_position(
        "cuckoo", dealer=2, lives=[1, 3, 3], deal=["2c", "9h", "9s"], stock="Kd"
    )
    names = ["Ann", "Robin", "Alex"]
    before = game.copy()
    swap = frames.frames(before, game, game.act("swap"), 0, names)
    assert [each["text"] for each in swap] == [
        "You ask Robin to swap.",
        "You swap with Robin, 2♣ for 9♥.",
    ]
    asked, swapped = (each["view"] for each in swap)
    assert (asked["turn"], asked["acts"], asked["seats"][0]["card"]) == (0, 1, "2c")
    assert [seat["card"] for seat in swapped["seats"]] == ["9h", "2c", None]
    assert swapped["seats"][1]["known"]
    assert not swapped["seats"][1]["shown"]
    assert (swapped["turn"], swapped["seats"][0]["outcome"]) == (1, "swapped")
    game.act("keep")
    before = game.copy()
    end = frames.frames(before, game, game.act("swap"), 0, names)
    king, *reveals, lost = end[: [each["event"] for each in end].index("round")]
    assert "A king on the stock blocks" in king["why"]
    assert king["view"]["stock"] == "Kd"
    assert [each["card"] for each in reveals] == ["9h", "2c", "9s"]
    assert lost["text"] == "Robin loses a life."
    assert lost["why"] == "Robin alone held the lowest, 2♣."
    assert all(each["stands"] for each in end)
    assert [seat["lives"] for seat in lost["view"]["seats"]] == [1, 2, 3]
    assert all(seat["shown"] for seat in lost["view"]["seats"])


NAMES = ["Ann", "Robin", "Alex"]


def reveal(rules: str, lives: list[int], deal: list[str | None]) -> list[dict[str, Any]]:
    """What is told of a round in which everybody keeps, from the last decision on."""
    game = Game.from_position(rules, dealer=2, lives=lives, deal=deal, stock="9d", seed=1)
    told: list[dict[str, Any]] = []
    while not any(each["event"] == "revealed" for each in told):
        before = game.copy()
        told = frames.frames(before, game, game.act("keep"), 0, NAMES)
    return told


@pytest.mark.parametrize(
    ("rules", "lives", "deal", "whys"),
    [
        ("cuckoo", [3, 3, 3], "2c 9h 9s", ["You alone held the lowest, 2♣."]),
        ("cuckoo", [3, 3, 3], "2c 2h 9s", ["Two held the lowest, 2♣ and 2♥."] * 2),
        ("onesies", [3, 3, 3], "9c 9h 2s", ["Alex alone held the lowest, 2♠: two lives."]),
        (
            "onesies",
            [5, 2, 5],
            "2c 2h 2s",
            [
                "Three held the lowest, 2♣, 2♥ and 2♠: three lives each.",
                "Three held the lowest, 2♣, 2♥ and 2♠: three lives each. Robin had only two lives.",
                "Three held the lowest, 2♣, 2♥ and 2♠: three lives each.",
            ],
        ),
        ("pairs-safe", [3, 3, 3], "2c 2h 9s", ["Alex held the lowest that nobody shares, 9♠."]),
        (
            "chase-the-ace,ties=first",
            [3, 3, 3],
            "9c 2h 2s",
            ["Two held the lowest, 2♥ and 2♠; the first in turn was Robin."],
        ),
    ],
)
def test_why_somebody_lost_is_told_of_this_reveal(
    rules: str, lives: list[int], deal: str, whys: list[str]
) -> None:
    told = reveal(f"{rules},seats=3", lives, [*deal.split()])
    assert [each["why"] for each in told if each["event"] == "lost"] == whys


@pytest.mark.parametrize("rule", FinalTie)
def test_lives_that_a_final_tie_leaves_are_never_shown_as_lost(rule: FinalTie) -> None:
    told = reveal(f"chase-the-ace,seats=3,final_tie={rule}", [1, 1, 1], ["2c", "2h", "2s"])
    lost = [each for each in told if each["event"] == "lost"]
    are_lost = rule in {FinalTie.JOINT, FinalTie.CUT}
    assert [each["stands"] for each in lost] == [are_lost] * 3
    assert [each["text"] for each in lost[1:]] == [
        f"{name} {'loses' if are_lost else 'would lose'} a life." for name in ("Robin", "Alex")
    ]
    assert [seat["lives"] for seat in lost[-1]["view"]["seats"]] == [int(not are_lost)] * 3
    assert all(each["stands"] for each in told if each["event"] != "lost")


def test_results_tell_a_final_tie_without_losses() -> None:
    tied = 0
    for seed in range(60):
        seat = lay("standard,seats=2,lives=1", NAIVE, seed=seed)
        answer = seat.snapshot()
        while answer["phase"] == "decide":
            answer = seat.act(answer["turn"], "keep")
        *ties, last = answer["results"]["rounds"]
        assert all(each["tied"] and not each["lost"] for each in ties)
        assert not last["tied"]
        assert len(last["lost"]) == 1
        tied += len(ties)
        undone = [step for step in seat.replay() if not step["stands"]]
        assert len(undone) == 2 * len(ties)
        assert all("would lose a life" in step["text"] for step in undone)
    assert tied > 0


@pytest.mark.parametrize(
    ("rules", "pot", "pays"),
    [
        ("practice-table", None, False),
        ("cuckoo,seats=3", None, False),
        ("chase-the-ace,final_tie=carry", None, False),
        ("one-round", None, True),
        ("cuckoo,stake=2", 6, True),
        ("chase-the-ace,final_tie=carry_stake", 3, True),
    ],
)
def test_a_stake_is_told_only_where_it_is_played_for(
    rules: str, pot: float | None, pays: bool
) -> None:
    answers = play_out(lay(rules))
    assert answers[0]["view"]["pot"] == pot
    assert all(("stake" in answer["rules"]["sentences"]) is pays for answer in answers)
    payoffs = answers[-1]["results"]["payoffs"]
    assert (payoffs is not None) is pays
    if not pays:
        assert not re.search(r"\b(stakes?|pot)\b", json.dumps(answers).replace('"pot": null', ""))


def test_a_final_tie_is_explained_and_the_lives_stay() -> None:
    told = reveal("practice-table", [1, 0, 1], ["2c", None, "2s"])
    (tie,) = (each for each in told if each["event"] == "final_tie")
    assert tie["why"] == (
        "If everyone still in would go out at once, they keep their lives and the next deal is played."
    )
    assert [seat["lives"] for seat in tie["view"]["seats"]] == [1, 0, 1]
    lost = [each for each in told if each["event"] == "lost"]
    assert [seat["lives"] for seat in lost[-1]["view"]["seats"]] == [1, 0, 1]


def test_hints_say_with_whom_one_would_swap() -> None:
    names = ["Ann", "Robin", "Alex"]
    for rules, dealer, lives, hinted in (
        ("standard,seats=3", 2, [3, 3, 3], "with Robin"),
        ("standard,seats=3", 2, [3, 0, 3], "with Alex"),
        ("standard,seats=3,direction=right", 1, [3, 3, 3], "with Alex"),
        ("standard,seats=2", 0, [3, 3], "from the stock"),
        ("full-rotation,seats=3", 0, [3, 3, 3], "with Robin"),
    ):
        deal = [f"{5 + seat}c" if life else None for seat, life in enumerate(lives)]
        game = Game.from_position(rules, dealer=dealer, lives=lives, deal=deal, stock="9d")
        while game.seat != 0:
            game.act("keep")
        before = game.events
        assert frames.hints(game, names) == {"swap": hinted}
        assert (game.seat, game.events) == (0, before)
    king = Game.from_position(
        "open-kings,seats=3", dealer=2, lives=[3] * 3, deal=["Kc", "5c", "6c"], stock="9d"
    )
    assert "swap" not in king.legal_actions()
    assert frames.hints(king, names) == {}


def test_hints_come_true_and_depend_on_nothing_hidden() -> None:
    told = 0
    for seed in range(60):
        rng = random.Random(seed)
        rules = playable(rng)
        names = [f"N{seat}" for seat in range(rules.seats)]
        game = Game(rules, seed)
        for _ in range(30):
            if game.seat is None:
                break
            hint = frames.hints(game, names).get("swap")
            action = rng.choice(game.legal_actions())
            if action == "swap":
                order = frames.view(game, None)["order"]
                after = order[(order.index(game.seat) + 1) % len(order)]
                assert hint in {f"with {names[after]}", "from the stock"}
                assert game.seat == order[-1] or hint != "from the stock"
                told += 1
            happened = game.act(action)
            if action == "swap":
                asked = happened[0].event == "asked"
                assert hint == (f"with {names[happened[0].other]}" if asked else "from the stock")
    assert told > 200


def test_frames_are_plain_data_and_end_in_the_view() -> None:
    for name in ("practice-table", "onesies", "queen-rule,seats=5", "jack-rule,seats=4"):
        for answer in play_out(lay(name)):
            assert json.loads(json.dumps(answer)) == answer
            if answer["frames"]:
                assert answer["frames"][-1]["view"] == answer["view"]


# ---- a game


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_played_to_its_end(preset: str) -> None:
    seat = lay(preset)
    answers = play_out(seat)
    results = answers[-1]["results"]
    assert results["winners"] or results["truncated"] or preset == "one-round"
    assert abs(sum(results["payoffs"] or ())) < 1e-9
    assert all(answer["results"] is None for answer in answers[:-1])
    assert records.check(seat.record()) == seat.record()


def test_every_axis_is_played_with_two_to_ten_seats() -> None:
    settings, seats = set(), set()
    responses = set()
    for seed in range(150):
        rules = playable(random.Random(seed))
        seat = lay(rules, Opponent.of("random"), seed=seed)
        answers = play_out(seat, seed)
        responses |= {action for answer in answers for action in answer["legal"]}
        settings |= {(axis, str(getattr(rules, axis))) for axis in AXES}
        seats.add(rules.seats)
        assert answers[-1]["phase"] == "over"
        assert records.check(seat.record()) == seat.record()
    assert settings == {(axis, str(value)) for axis, values in AXES.items() for value in values}
    assert seats == set(range(2, 11))
    assert responses == {"keep", "swap", "accept", "show", "pay"}


@pytest.mark.parametrize(
    ("stake", "pot"), [("0.1", 0.3), ("0.001", 0.003), ("333333.33", 999999.99)]
)
def test_amounts_are_told_as_they_were_meant(stake: str, pot: float) -> None:
    answers = play_out(lay(f"cuckoo,seats=3,stake={stake}"))
    assert {frame["view"]["pot"] for answer in answers for frame in answer["frames"]} == {pot}
    won = round(2 * float(stake), 6)
    payoffs = answers[-1]["results"]["payoffs"]
    assert sorted(payoffs) == [-float(stake), -float(stake), won]


@pytest.mark.parametrize("direction", ["left", "right"])
@pytest.mark.parametrize("seat", [0, 2])
def test_the_person_begins_where_the_first_dealer_is_open(direction: str, seat: int) -> None:
    rules = f"cuckoo,seats=4,direction={direction}"
    first = lay(rules, ROBIN, seat=seat, seed=None).snapshot()
    assert first["view"]["turn"] == seat
    assert [each["event"] for each in first["frames"]] == ["round", *["dealt"] * 4]


def test_a_given_first_dealer_and_a_cut_are_left_alone() -> None:
    assert lay("practice-table").snapshot()["view"]["dealer"] == 2
    assert lay("cuckoo,first_dealer=0").rules.first_dealer == 0
    cut = lay("standard").snapshot()["frames"]
    assert cut[0]["event"] == "dealer_cut"
    assert cut[0]["view"]["seats"][0]["holds"] is False


def test_who_is_out_watches_step_by_step_to_the_end() -> None:
    watched = 0
    for seed in range(30):
        seat = lay("chase-the-ace,lives=1,seats=5", seed=seed)
        answer = seat.snapshot()
        while answer["phase"] == "decide":
            answer = seat.act(answer["turn"], "swap")
        while answer["phase"] == "watch":
            assert answer["legal"] == []
            assert answer["view"]["seats"][0]["lives"] == 0
            before, answer = answer, seat.watch(answer["turn"], "go")
            decided = [f for f in answer["frames"] if f["event"] in {"kept", "asked", "drew"}]
            stopped = [f for f in answer["frames"] if f["event"] == "stock_showed"]
            assert {f["seat"] for f in decided + stopped} == {before["view"]["acts"]}
            watched += 1
        assert answer["results"]["winners"]
    assert watched > 30


def test_watching_to_the_end_tells_the_last_round() -> None:
    for seed in range(30):
        seat = lay("four-lives,seats=6", ROBIN, seed=seed)
        answer = seat.snapshot()
        while answer["phase"] == "decide":
            answer = seat.act(answer["turn"], answer["legal"][-1])
        if answer["phase"] == "watch":
            answer = seat.watch(answer["turn"], "end")
            events = [each["event"] for each in answer["frames"]]
            assert answer["phase"] == "over"
            assert events[0] == "round"
            assert events.count("round") == 1
            assert "won" in events
            return
    pytest.fail("nobody went out")


def test_a_carried_game_brings_the_person_back() -> None:
    for seed in range(200):
        seat = lay("chase-the-ace,lives=1,seats=4,final_tie=carry", NAIVE, seed=seed)
        answer = seat.snapshot()
        while answer["phase"] == "decide":
            answer = seat.act(answer["turn"], "keep")
        if answer["phase"] == "watch":
            answer = seat.watch(answer["turn"], "end")
            if answer["phase"] == "decide":
                assert answer["view"]["seats"][0]["lives"] == 1
                assert answer["frames"][0]["event"] == "round"
                return
    pytest.fail("no pot was carried while the person was out")


def test_restart_keeps_the_seats_and_deals_other_cards() -> None:
    seat = lay("practice-table")
    answers = play_out(seat)
    again = seat.restart(answers[-1]["turn"])
    assert again["phase"] == "decide"
    assert again["players"] == answers[0]["players"]
    assert again["view"]["round"] == 1
    assert again["turn"] == answers[-1]["turn"] + 1
    deals = [seat.restart(seat.turn)["view"]["seats"][0]["card"] for _ in range(12)]
    assert len(set(deals)) > 3


def test_the_same_seed_plays_the_same_game() -> None:
    assert play_out(lay("onesies", seed=5)) == play_out(lay("onesies", seed=5))
    assert play_out(lay("onesies", seed=5)) != play_out(lay("onesies", seed=6))


def test_results_name_the_losers_of_every_round() -> None:
    answers = play_out(lay("practice-table"))
    told = [each for answer in answers for each in answer["frames"] if each["event"] == "lost"]
    lost = [
        (each["seat"], each["count"])
        for one in answers[-1]["results"]["rounds"]
        for each in one["lost"]
    ]
    # Watching to the end tells the last round only.
    assert lost[-len(told) :] == [(each["seat"], each["count"]) for each in told]
    assert lost[: len(told)][:1] == [(told[0]["seat"], told[0]["count"])]


# ---- messages that are refused


def frozen(seat: Table) -> tuple[Any, ...]:
    return seat.turn, json.dumps(seat.snapshot()), seat._game._games.tobytes()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("stale", lambda seat: seat.act(seat.turn - 1, "keep")),
        ("stale", lambda seat: seat.act(seat.turn + 1, "keep")),
        ("stale", lambda seat: seat.restart(99)),
        ("stale", lambda seat: seat.set_coach(99, on=True)),
        ("stale", lambda seat: seat.watch(99, "go")),
        ("illegal", lambda seat: seat.act(seat.turn, "pay")),
        ("illegal", lambda seat: seat.act(seat.turn, "")),
        ("illegal", lambda seat: seat.act(seat.turn, "<script>")),
        ("illegal", lambda seat: seat.watch(seat.turn, "go")),
        ("bad-request", lambda seat: seat.watch(seat.turn, "on")),
        ("not-over", lambda seat: seat.record()),
        ("not-over", lambda seat: seat.replay()),
    ],
)
def test_what_is_refused_changes_nothing(code: str, message: Any) -> None:
    seat = lay("practice-table")
    before = frozen(seat)
    with pytest.raises(RefusedError) as refused:
        message(seat)
    assert refused.value.code == code
    assert frozen(seat) == before
    assert seat.act(seat.turn, "keep")["turn"] == before[0] + 1


def test_a_doubled_message_counts_once() -> None:
    seat = lay("practice-table")
    answer = seat.act(0, "keep")
    with pytest.raises(RefusedError, match=r"^turn: 0 is refused; accepted: 1,"):
        seat.act(0, "keep")
    assert seat.snapshot() == answer


def test_an_agent_that_fails_leaves_the_table_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    seat = lay("practice-table")
    before = frozen(seat)

    def fail(*_: Any) -> Any:
        raise ValueError("agent: lost")

    with monkeypatch.context() as patched:
        patched.setattr(seat._agents[1], "probabilities", fail)
        with pytest.raises(ValueError, match="lost"):
            seat.act(0, "keep")
    assert frozen(seat) == before
    assert seat.act(0, "keep")["turn"] == 1


def keep_on(seat: Table, seen: list[tuple[Any, ...]]) -> None:
    """Keep for ever, noting the table before each message."""
    while True:
        seen.append(frozen(seat))
        seat.act(seat.turn, "keep")


def test_a_game_without_end_is_not_played_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MOST_ROUNDS", 2)
    seat = lay("practice-table")
    seen: list[tuple[Any, ...]] = []
    with pytest.raises(RefusedError, match="2 rounds") as refused:
        keep_on(seat, seen)
    assert refused.value.code == "too-long"
    assert len(seen) > 1
    assert frozen(seat) == seen[-1]
    assert seat.restart(seat.turn)["phase"] == "decide"


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("seats", {"rules": "chase-the-ace,seats=11"}),
        ("lives", {"rules": "chase-the-ace,lives=11"}),
        ("stake", {"rules": "chase-the-ace,stake=1e300"}),
        ("seat", {"seat": 3}),
        ("opponents", {"opponents": ()}),
        ("opponents", {"opponents": (ROBIN,) * 3}),
        ("name", {"name": ""}),
        ("name", {"name": " Ann"}),
        ("name", {"name": "<script>alert(1)</script>"}),
        ("name", {"name": "A" * 25}),
        ("name", {"name": "Ann\n"}),
        ("name", {"name": "Ann\u202e"}),
        ("name", {"name": "\u0308Ann"}),
        ("name", {"name": "7\u0308"}),
        ("name", {"name": "Ann \u0308"}),
    ],
)
def test_settings_are_refused_by_field(field: str, settings: dict[str, Any]) -> None:
    given = {"rules": "practice-table", "opponents": (ROBIN, ALEX), **settings}
    with pytest.raises(RefusedError, match=rf"^{field}: .* is refused; accepted: ") as refused:
        TableSettings(**{**given, "rules": Rules.parse(given["rules"])})
    assert len(str(refused.value)) < 200


def test_names_are_what_people_are_called() -> None:
    for name in ("Ann", "Zoë", "O'Neill", "Jean-Luc 2", "Ωmega", "李", "नीता", "Q̃ia"):
        assert check_name(name) == name
    decomposed = unicodedata.normalize("NFD", "Zoë")
    assert decomposed != "Zoë"
    assert lay("practice-table", name=decomposed).names[0] == "Zoë"


# ---- the coach


def test_the_coach_speaks_of_the_decision_that_was_taken() -> None:
    seat = lay("practice-table", coach=True, seed=4)
    answer = seat.snapshot()
    spoken = []
    while answer["phase"] == "decide":
        before, answer = answer, seat.act(answer["turn"], "keep")
        advice = answer["advice"]
        assert advice["action"] == "keep"
        assert list(advice["worth"]) == before["legal"]
        assert advice["card"] == before["view"]["seats"][0]["card"]
        assert advice["round"] == before["view"]["round"]
        assert advice["exact"]
        spoken.append(advice)
    assert answer["phase"] == "watch"
    end = seat.watch(answer["turn"], "end")
    assert end["advice"] is None
    worst = sorted(spoken, key=lambda each: -each["cost"])[:3]
    assert end["results"]["costliest"] == [each for each in worst if each["clear"]]
    assert end["results"]["costliest"]


def test_a_coach_who_finds_no_deal_that_fits_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise coach.ImpossibleError("no deal fits")

    seat = lay("practice-table", coach=True)
    monkeypatch.setattr(coach.Coach, "advise", fail)
    answer = seat.act(0, "keep")
    assert (answer["turn"], answer["advice"], answer["unadvised"]) == (1, None, True)
    quiet = seat.set_coach(1, on=False)
    assert not quiet["unadvised"]
    if quiet["phase"] == "decide":
        assert not seat.act(2, "keep")["unadvised"]


def test_sampled_advice_names_the_bot_that_one_goes_on_as() -> None:
    seat = lay("standard,seats=6", coach=True)
    advice = seat.act(0, "keep")["advice"]
    assert (advice["exact"], advice["afterwards"]) == (False, "Robin")


def test_the_coach_can_be_switched_off_and_on() -> None:
    seat = lay("practice-table", coach=True)
    quiet = seat.set_coach(0, on=False)
    assert (quiet["coach"], quiet["turn"]) == (False, 1)
    assert seat.act(1, "keep")["advice"] is None
    seat.set_coach(2, on=True)
    while (answer := seat.snapshot())["phase"] == "decide":
        answer = seat.act(answer["turn"], "keep")
        assert answer["advice"] is not None
    seat.set_coach(seat.turn, on=False)
    if answer["phase"] == "watch":
        answer = seat.watch(seat.turn, "end")
    results = answer["results"]
    assert results["judged"] == results["decisions"] - 1
    assert results["costliest"] is not None


def test_where_nothing_was_judged_there_is_no_costliest_decision() -> None:
    seat = lay("practice-table")
    results = play_out(seat)[-1]["results"]
    assert (results["judged"], results["costliest"]) == (0, None)
    assert results["decisions"] > 0
    seat.restart(seat.turn)
    seat.act(seat.turn, "keep")
    seat.set_coach(seat.turn, on=True)
    again = play_out(seat)
    counted = again[-1]["results"]
    acted = sum(answer["phase"] == "decide" for answer in again)
    assert (counted["judged"], counted["decisions"]) == (acted, acted + 1)


def test_a_look_after_the_coach_was_switched_tells_the_same_frames() -> None:
    seat = lay("practice-table", coach=True)
    told = seat.act(0, "keep")["frames"]
    assert told
    seat.set_coach(1, on=False)
    assert seat.snapshot()["frames"] == told


def test_whoever_looks_does_not_wait_for_an_answer() -> None:
    seat = lay("practice-table")
    with seat._lock:
        assert seat.snapshot()["turn"] == 0


# ---- the rules


def test_rules_are_called_as_they_were_chosen() -> None:
    parsed = Rules.parse("onesies,seats=4")
    for text, title in (("onesies,seats=4", "onesies, 4 seats"), ("", "onesies, 4 seats")):
        assert lay(parsed, text=text).snapshot()["rules"]["title"] == title
    chase = lay("chase-the-ace,seats=4", text="chase-the-ace,seats=4").snapshot()["rules"]
    assert chase["title"] == "chase the ace, 4 seats"
    assert chase["text"] == "chase-the-ace,seats=4"
    assert chase["sentences"]["first_dealer"] == "Robin 2 deals first."


@pytest.mark.parametrize(
    ("chosen", "title"),
    [("cuckoo", "cuckoo"), ("cuckoo,first_dealer=0", "cuckoo, seat 1 deals first")],
)
def test_a_text_has_the_title_of_its_table(chosen: str, title: str) -> None:
    rules = read_rules(chosen)
    told = lay(rules, text=chosen).snapshot()["rules"]
    assert told["title"] == title
    assert explain.title(read_rules(told["text"]), told["text"]) == title


@pytest.mark.parametrize(
    ("texts", "accepted"),
    [
        (["seats=1", "seats=11", "seats=60", "seats=x"], "2 to 10 at the practice table"),
        (["lives=0", "lives=11", "lives=40000", "lives=x"], "1 to 10 at the practice table"),
        (["stake=0", "stake=1e9", "stake=x"], "a number above 0, up to 1,000,000 at the practice"),
    ],
)
def test_one_range_is_told_of_a_number(texts: list[str], accepted: str) -> None:
    for text in texts:
        with pytest.raises(RefusedError, match=f"is refused; accepted: {accepted}"):
            read_rules(f"standard,{text}")


def test_what_a_preset_seats_is_told_as_it_is() -> None:
    with pytest.raises(RulesError, match="accepted: 3 with rules practice-table"):
        read_rules("practice-table,seats=4")


# ---- opponents


def test_opponents_fill_the_seats_and_have_names_of_their_own() -> None:
    seat = lay("chase-the-ace,seats=5", name="robin")
    players = seat.snapshot()["players"]
    assert [each["name"] for each in players] == ["robin", "Robin 2", "Alex", "Robin 3", "Alex 2"]
    assert [each["agent"] for each in players] == [None, "robin", "alex", "robin", "alex"]
    assert [each["you"] for each in players] == [True, False, False, False, False]


def test_files_are_named_without_their_folders() -> None:
    policy = Opponent.of("policy:/home/somebody/runs/short")
    assert (policy.label, policy.name) == ("policy:short", "Short")
    assert Opponent.of("table:/tmp/le-her.npz").label == "table:le-her"
    nested = Opponent.of("best-response:policy:/home/somebody/x,table:/tmp/y.npz")
    assert nested.label == "best-response:policy:x,table:y"
    assert nested.name == "Best response"
    assert Opponent.of("/home/somebody/x").label == "x"
    assert Opponent.of("threshold:5").name == "Threshold 5"
    assert Opponent.of("equilibrium").name == "Equilibrium"


def test_opponents_that_play_differently_are_called_differently() -> None:
    specs = ["generalist", "policy:a/generalist", "table:a/generalist.npz", "policy:Robin", "robin"]
    assert [Opponent.of(spec).name for spec in specs] == [
        "Generalist",
        "Generalist (policy)",
        "Generalist (table)",
        "Robin (policy)",
        "Robin",
    ]
    twelve = Opponent.of("threshold:12")
    assert opponents.names_of("Ann", 0, [twelve, twelve, ROBIN, ROBIN, twelve]) == (
        "Ann", "Threshold 12", "Threshold 12 (2)", "Robin", "Robin 2", "Threshold 12 (3)",
    )  # fmt: skip


def test_who_cannot_play_is_told_in_a_sentence_without_solving_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def solve(*_: Any) -> Any:
        raise AssertionError("nothing is to be solved")

    monkeypatch.setattr(respond, "best_response", solve)
    monkeypatch.setattr(respond, "Match", solve)
    three, five = (Rules.parse(f"cuckoo,seats={seats}") for seats in (3, 5))
    told = {
        spec: [opponents.unplayable(Opponent.of(spec), rules) for rules in (three, five)]
        for spec in (
            "robin",
            "equilibrium",
            "generalist",
            "best-response:robin,alex",
            "best-response:robin,alex,robin,equilibrium",
            "ppo-practice",
        )
    }
    assert told["robin"] == told["generalist"] == [None, None]
    assert told["equilibrium"] == [
        None, "Equilibrium comes with no solved table for these rules.",
    ]  # fmt: skip
    assert told["best-response:robin,alex"] == [
        None, "Best response is made for a table of 3 seats.",
    ]  # fmt: skip
    assert told["best-response:robin,alex,robin,equilibrium"][1] == told["equilibrium"][1]
    assert told["ppo-practice"][1] == (
        "Ppo practice was trained for other rules, or for other numbers of seats."
    )
    large = Rules.parse("cuckoo,seats=6")
    alone = Opponent.of("best-response:" + ",".join(["robin"] * 5))
    assert opponents.unplayable(alone, large) == (
        "Best response cannot be worked out at so large a table."
    )


class Watcher:
    """An agent that remembers what it was asked."""

    name = "watcher"

    def __init__(self) -> None:
        self.asked: list[npt.NDArray[np.float32]] = []

    def probabilities(
        self, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8], layout: Layout
    ) -> npt.NDArray[np.float64]:
        self.asked.append(observations[0].copy())
        chances = masks.astype(np.float64)
        return chances / chances.sum(axis=1, keepdims=True)

    def player(self) -> None:
        return None


def test_agents_are_asked_with_what_their_own_seat_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    watchers = (Watcher(), Watcher())
    monkeypatch.setattr(opponents, "seated", lambda *_: watchers)
    seat = lay("jack-rule")
    play_out(seat)
    seen: dict[int, list[bytes]] = {1: [], 2: []}
    layout = Layout.of(seat.rules)
    for _, each in seat._game.retold():
        if each.seat in seen:
            seen[each.seat].append(each.observe(each.seat, layout)[0].tobytes())
    for k, watcher in enumerate(watchers, 1):
        assert [each.tobytes() for each in watcher.asked] == seen[k]
        assert len(seen[k]) > 5


def test_the_example_of_a_table_runs() -> None:
    result = doctest.testmod(table)
    assert result.attempted > 5
    assert result.failed == 0


# ---- the replay and the record


def test_the_replay_has_every_event_and_what_each_seat_knew() -> None:
    for rules in ("practice-table", "onesies,seats=4", "open-kings,seats=5", "standard"):
        seat = lay(rules, seed=8)
        answers = play_out(seat)
        steps = seat.replay()
        happened = seat._game.events
        assert [step["event"] for step in steps] == [event.event for event in happened]
        shown = [frame for answer in answers for frame in answer["frames"]]
        mine = [[each["card"] for each in frame["view"]["seats"]] for frame in shown]
        knew = [step["knew"][0] for step in steps]
        # What a watcher skips is in the replay all the same.
        start = len(answers[0]["frames"]) + sum(
            len(answer["frames"]) for answer in answers[1:] if answer["phase"] == "decide"
        )
        assert knew[:start] == mine[:start]
        for step, event in zip(steps, happened, strict=True):
            assert step["card"] == event.card
            cards = [each["card"] for each in step["view"]["seats"]]
            for viewer, known in enumerate(step["knew"]):
                assert all(card in {None, cards[at]} for at, card in enumerate(known))
                assert known[viewer] == cards[viewer]


def test_the_replay_says_you_and_shows_all_cards() -> None:
    seat = lay("practice-table", seed=3)
    play_out(seat)
    dealt = [step for step in seat.replay() if step["event"] == "dealt"][:3]
    assert dealt[0]["text"].startswith("You get ")
    assert dealt[1]["text"].startswith("Robin gets ")
    assert dealt[1]["text"] != "Robin gets a card."
    # Where every card is shown, none is marked as known to somebody.
    assert not any(each["known"] for step in seat.replay() for each in step["view"]["seats"])


# ---- secrets


def seen_by(person: int, happened: list[Event]) -> list[set[str | None]]:
    """After each event the cards of its round that a seat has been shown so far, by plain rules."""
    seen: set[str | None] = set()
    after = []
    for event in happened:
        if event.event == "round":
            seen = set()
        mine = person in {event.seat, event.other}
        if mine or event.event not in {"dealt", "drew", "swapped"}:
            seen = seen | {event.card, event.other_card}
        after.append(seen)
    return after


def test_no_frame_shows_a_card_that_the_seat_has_not_been_shown() -> None:
    hidden = 0
    for seed in range(80):
        rules = playable(random.Random(seed))
        seat = lay(rules, Opponent.of("random"), seed=seed)
        told: list[dict[str, Any]] = []
        rng = random.Random(seed)
        answer = seat.snapshot()
        while answer["phase"] == "decide":
            told += answer["frames"]
            answer = play_on(seat, rng, answer)
        seen = seen_by(seat.seat, list(seat._game.events))
        for frame, allowed in zip(told, seen, strict=False):
            shown = {frame["card"], frame["other_card"], frame["view"]["stock"]}
            shown |= {each["card"] for each in frame["view"]["seats"]}
            assert shown - {None} <= allowed, (str(rules), frame)
            hidden += sum(each["card"] is None and each["holds"] for each in frame["view"]["seats"])
    assert hidden > 1000
