"""Cuckoo as a game of OpenSpiel: its own checks, and its algorithms as an oracle for ours."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from referee import RANKS, Referee, Scripted

from cuckoo_env.agents import lineup
from cuckoo_env.evaluate.exact import evaluate
from cuckoo_env.evaluate.tree import tree_for
from cuckoo_env.rules import Rules

pyspiel = pytest.importorskip("pyspiel", reason="the extra `openspiel` is not installed")

from open_spiel.python.algorithms import best_response, expected_game_score, exploitability  # noqa: E402

from cuckoo_env.evaluate import openspiel  # noqa: E402

# -- OpenSpiel's own checks ---------------------------------------------------------------------

PLAYED = (
    "le-her",
    "one-round,seats=4,queen=redirects",
    "onesies,seats=3,lives=3,max_rounds=3,jack=blocks",
    "chase-the-ace,seats=2,lives=1,final_tie=cut,first_dealer=cut,direction=right",
    "chase-the-ace,seats=3,lives=1,final_tie=carry_stake,max_rounds=4,stake=2.5",
    "full-rotation,seats=3,lives=1,max_rounds=3,pairs=safe,ace=high,decks=2",
    "jack-rule,seats=3,lives=2,max_rounds=2,swapped_turn=lost",
    "one-round,seats=3,refusal=fee,king=ends_trading",
    "kings-face-up,seats=2,lives=2",
)


@pytest.mark.parametrize("returns", openspiel.RETURNS)
@pytest.mark.parametrize("text", PLAYED)
def test_random_simulations(capfd: pytest.CaptureFixture[str], text: str, returns: str) -> None:
    game = openspiel.load(text, returns=returns)
    pyspiel.random_sim_test(game, num_sims=3, serialize=True, verbose=False)
    capfd.readouterr()  # it prints what it plays


def test_a_game_is_named_by_its_rules() -> None:
    rules = Rules.parse("queen-rule,seats=3,lives=2,max_rounds=5,stake=2.5")
    game = openspiel.load(rules, returns="win_share")
    again = pyspiel.load_game(str(game))
    assert (again.rules, again.returns) == (rules, "win_share")
    assert str(again) == str(game)
    assert pyspiel.load_game("python_cuckoo").rules == Rules.parse("le-her")


def test_what_openspiel_is_told_of_a_game() -> None:
    game = openspiel.load("one-round,seats=3,lives=2,refusal=fee")
    assert (game.num_players(), game.num_distinct_actions()) == (3, 5)
    assert (game.min_utility(), game.max_utility(), game.utility_sum()) == (-2, 4, 0)
    assert game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
    shares = openspiel.load("one-round,seats=3", returns="win_share")
    assert (shares.min_utility(), shares.max_utility(), shares.utility_sum()) == (0, 1, None)
    assert shares.get_type().utility == pyspiel.GameType.Utility.GENERAL_SUM


@pytest.mark.parametrize(
    ("text", "returns", "expected"),
    [
        ("practice-table", "payoff", "can go on for ever; accepted: with max_rounds"),
        ("pairs-safe", "payoff", "can go on for ever"),
        ("bridge", "payoff", "rules: bridge is refused"),
        ("le-her", "money", "returns: money is refused; accepted: payoff or win_share"),
    ],
)
def test_what_is_refused(text: str, returns: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        openspiel.load(text, returns=returns)


@pytest.mark.parametrize(
    ("public", "private"),
    [(True, pyspiel.PrivateInfoType.NONE), (False, pyspiel.PrivateInfoType.SINGLE_PLAYER)],
    ids=["public only", "private only"],
)
def test_views_that_no_seat_has_are_refused(public: bool, private: Any) -> None:
    kind = pyspiel.IIGObservationType(perfect_recall=True, public_info=public, private_info=private)
    with pytest.raises(ValueError, match="is refused; accepted: what one seat sees"):
        openspiel.load("le-her").make_py_observer(kind)


def test_observers_take_no_parameters() -> None:
    with pytest.raises(ValueError, match=r"params: .* is refused; accepted: none"):
        openspiel.load("le-her").make_py_observer(None, {"colour": 1})


def test_without_openspiel_the_extra_is_named() -> None:
    code = "import sys; sys.modules['pyspiel'] = None; import cuckoo_env.evaluate.openspiel"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    last = run.stderr.splitlines()[-1]
    assert last.endswith("pyspiel is missing; install: pip install 'cuckoo-env[openspiel]'")


# -- Chance -------------------------------------------------------------------------------------


def walk(state: Any, chance: float = 1.0) -> Any:
    """Every state of a game, and the chance that chance alone gives it."""
    yield state, chance
    if state.is_chance_node():
        for outcome, share in state.chance_outcomes():
            yield from walk(state.child(outcome), chance * share)
    else:
        for action in state.legal_actions():
            yield from walk(state.child(action), chance)


def test_information_states_are_those_of_the_tree() -> None:
    rules = Rules.parse("one-round,seats=2,first_dealer=1")
    states = [state for state, _ in walk(openspiel.load(rules).new_initial_state())]
    seen = {
        state.information_state_string()
        for state in states
        if not state.is_terminal() and not state.is_chance_node()
    }
    assert len(seen) == tree_for(rules, (1, 1)).n_states
    for state in states:
        if state.is_chance_node():
            assert sum(share for _, share in state.chance_outcomes()) == pytest.approx(1)


def test_the_lot_favours_nobody() -> None:
    state = openspiel.load("one-round,seats=3,first_dealer=lot").new_initial_state()
    assert state.chance_outcomes() == [(seat, pytest.approx(1 / 3)) for seat in range(3)]
    state.apply_action(1)
    assert state.current_player() == pyspiel.PlayerId.CHANCE
    for rank in (4, 4, 4):
        state.apply_action(rank)
    assert state.current_player() == 2


def test_cards_run_out() -> None:
    state = openspiel.load("one-round,seats=5,first_dealer=4").new_initial_state()
    for _ in range(4):
        state.apply_action(12)
    ranks = [outcome for outcome, _ in state.chance_outcomes()]
    assert ranks == list(range(12))


# -- The plain referee --------------------------------------------------------------------------


class Tape:
    """A game played at random, and what chance did in it."""

    def __init__(self, text: str, seed: int) -> None:
        dice = random.Random(seed)
        self.game = openspiel.load(text)
        self.state = self.game.new_initial_state()
        self.lots: list[int] = []
        self.deals: list[list[str]] = []
        self.stock: list[str] = []
        self.cuts: list[tuple[list[int], int]] = []
        self.actions: list[tuple[int, list[str], str]] = []
        while not self.state.is_terminal():
            self._advance(dice)

    def _advance(self, dice: random.Random) -> None:
        state = self.state
        if not state.is_chance_node():
            seat, legal = state.current_player(), state.legal_actions()
            action = dice.choice(legal)
            names = [state.action_to_string(seat, each) for each in legal]
            self.actions.append((seat, names, state.action_to_string(seat, action)))
            state.apply_action(action)
            return
        outcomes, chances = zip(*state.chance_outcomes(), strict=True)
        outcome = dice.choices(outcomes, chances)[0]
        kind = state.action_to_string(outcome).split(":")[0]
        if kind == "lot":
            self.lots.append(outcome)
        elif kind == "stock":
            self.stock.append(f"{RANKS[outcome]}c")
        elif kind == "cut":
            self.cuts.append((list(outcomes), outcome))
        else:
            if not state.point.dealt:
                self.deals.append([])
            self.deals[-1].append(f"{RANKS[outcome]}c")
        state.apply_action(outcome)


def referee_of(rules: Rules, tape: Tape) -> Referee:
    best = "A" if rules.ace == "high" else "K"
    cuts = [[f"{best if seat == won else '5'}c" for seat in seats] for seats, won in tape.cuts]
    fields = {**rules.fields(), "first_dealer": [*tape.lots, rules.first_dealer][0]}
    return Referee(fields, Scripted(tape.deals, tape.stock, cuts))


@pytest.mark.parametrize("text", PLAYED)
def test_games_are_those_of_the_plain_referee(text: str) -> None:
    rules = Rules.parse(text)
    for seed in range(40):
        tape = Tape(text, seed)
        referee = referee_of(rules, tape)
        for seat, legal, action in tape.actions:
            assert (seat, legal) == (referee.seat, referee.legal())
            referee.act(action)
        assert referee.over
        assert tape.state.returns() == pytest.approx(referee.payoffs)
        assert tape.deals == [] or not referee.luck.deals


def test_a_match_recalls_earlier_rounds_and_forgets_suits() -> None:
    state = openspiel.load("chase-the-ace,seats=2,lives=2,first_dealer=1").new_initial_state()
    for step in (4, 9, 0, 0, 7, 7):  # five against ten, both keep; then two eights
        state.apply_action(step)
    now, everything = state.observation_string(0), state.information_state_string(0)
    assert everything.startswith(now)
    assert "dealt,0,5 dealt,1 kept,0 kept,1 revealed,0,5 revealed,1,T lost,0,1" in everything
    assert "T" not in now


# -- Algorithms ---------------------------------------------------------------------------------


def agrees(text: str, agents: Sequence[str], *, scale: float, returns: str) -> None:
    """OpenSpiel's values and best responses are ours, in units of the win share or of the stake."""
    rules = Rules.parse(text)
    seated = lineup(agents, rules)
    ours = evaluate(rules, seated, best_responses=True)
    assert ours.gain is not None
    game = openspiel.load(rules, returns=returns)
    policy = openspiel.AgentPolicy(game, seated)
    theirs = exploitability.nash_conv(game, policy, return_only_nash_conv=False)
    assert theirs.nash_conv == pytest.approx(scale * ours.gain.sum(), abs=1e-9)
    assert theirs.player_improvements == pytest.approx(scale * ours.gain, abs=1e-9)
    assert ours.gain.min() > 0
    value = expected_game_score.policy_value(game.new_initial_state(), [policy] * rules.seats)
    expected = ours.win_share if returns == "win_share" else ours.payoff
    assert value == pytest.approx(expected, abs=1e-9)


def test_le_her_in_win_shares_and_in_stakes() -> None:
    agrees("le-her,first_dealer=1", ["robin", "alex"], scale=1, returns="win_share")
    # Two seats win one stake or lose it: the payoff is twice the win share less one.
    agrees("le-her,first_dealer=1", ["robin", "alex"], scale=2, returns="payoff")


def test_best_responses_on_le_her() -> None:
    rules = Rules.parse("le-her,first_dealer=0")
    agents = lineup(["random", "naive"], rules)
    ours = evaluate(rules, agents, best_responses=True).best_response
    assert ours is not None
    game = openspiel.load(rules, returns="win_share")
    policy = openspiel.AgentPolicy(game, agents)
    for seat in range(2):
        answer = best_response.BestResponsePolicy(game, seat, policy)
        assert answer.value(game.new_initial_state()) == pytest.approx(ours[seat], abs=1e-9)


def test_one_round_with_answers_at_two_seats() -> None:
    text = "one-round,seats=2,jack=may_block,first_dealer=1"
    agrees(text, ["random", "robin"], scale=1, returns="win_share")


@pytest.mark.slow
def test_one_round_at_three_seats() -> None:
    text = "one-round,seats=3,first_dealer=2"
    agrees(text, ["robin", "alex", "robin"], scale=1, returns="win_share")
