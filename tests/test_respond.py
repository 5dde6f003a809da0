"""``best-response:AGENT,...`` wins what exact evaluation says is the most that can be won."""

import json
import subprocess
import sys

import pytest

from cuckoo_env.agents import AgentError, lineup, parse
from cuckoo_env.evaluate import play
from cuckoo_env.evaluate.exact import evaluate
from cuckoo_env.rules import Rules

RULES = Rules.parse("practice-table")


@pytest.mark.parametrize("seat", [0, 1, 2])
def test_it_wins_the_best_response_value_in_its_seat(seat: int) -> None:
    specs = ["robin", "robin", "alex"]
    before = evaluate(RULES, lineup(specs, RULES), best_responses=True)
    assert before.best_response is not None
    others = [spec for other, spec in enumerate(specs) if other != seat]
    specs[seat] = "best-response:" + ",".join(others)
    exact = evaluate(RULES, lineup(specs, RULES), best_responses=True)
    assert exact.win_share[seat] == pytest.approx(before.best_response[seat], abs=1e-12)
    assert exact.gain is not None
    assert exact.gain[seat] == pytest.approx(0, abs=1e-12)


def test_it_wins_that_in_sampled_games_too() -> None:
    agents = lineup(["best-response:robin,alex", "robin", "alex"], RULES)
    exact, sampled = evaluate(RULES, agents), play(RULES, agents, 20_000, 3)
    error = sampled.win_share_se[0]
    assert abs(sampled.win_share[0] - exact.win_share[0]) < 4.5 * error


def test_the_same_spec_in_two_seats_is_two_agents() -> None:
    agents = lineup(["best-response:robin,robin", "best-response:robin,robin", "robin"], RULES)
    assert agents[0] is not agents[1]


@pytest.mark.parametrize(
    ("spec", "rules", "seat", "why"),
    [
        ("best-response:robin", RULES, 0, "2 agents"),
        ("best-response:robin,alex", RULES, None, "seat is known"),
        ("best-response:robin,nobody", RULES, 0, "nobody"),
        ("best-response:" + ",".join(["robin"] * 8), Rules.parse("cuckoo,seats=9"), 0, "nodes"),
    ],
)
def test_bad_specs_are_refused(spec: str, rules: Rules, seat: int | None, why: str) -> None:
    with pytest.raises(AgentError, match=why):
        parse(spec, rules, seat)


def test_the_command_line_knows_it_in_a_fresh_process() -> None:
    command = [sys.executable, "-m", "cuckoo_env.cli", "evaluate", "best-response:robin,alex"]
    command += ["robin", "alex", "--exact", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    exact = evaluate(RULES, lineup(["best-response:robin,alex", "robin", "alex"], RULES))
    assert json.loads(done.stdout)["win_share"] == pytest.approx(exact.win_share.tolist())


def test_in_a_list_it_keeps_its_commas() -> None:
    names = [agent.name for agent in lineup("robin,best-response:robin,alex,alex", RULES)]
    assert names == ["robin", "best-response:robin,alex", "alex"]
