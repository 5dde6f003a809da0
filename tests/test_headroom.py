"""How much of what can be learned was learned: exact, and true at both ends."""

import pytest

from cuckoo_env.agents import lineup
from cuckoo_env.evaluate.exact import evaluate, headroom
from cuckoo_env.rules import Rules

RULES = Rules.parse("practice-table")
COPY = lineup("robin,robin,alex", RULES)


def test_the_copied_agent_itself_captures_nothing() -> None:
    room = headroom(RULES, COPY, COPY, 0)
    assert room.captured == 0
    assert room.copied < room.best


def test_figures_are_those_of_exact_evaluation() -> None:
    learned = lineup("threshold:8,robin,alex", RULES)
    room = headroom(RULES, learned, COPY, 0, first_dealer="all")
    exact = evaluate(RULES, learned, first_dealer="all", best_responses=True)
    assert exact.best_response is not None
    assert room.learned == pytest.approx(exact.win_share[0], abs=1e-12)
    assert room.best == pytest.approx(exact.best_response[0], abs=1e-12)
    assert room.captured == pytest.approx(
        (room.learned - room.copied) / (room.best - room.copied), abs=1e-12
    )
