"""The page about a trained policy: complete, self-contained, and honest about its errors."""

from __future__ import annotations

import dataclasses
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from policies import random_policy

from cuckoo_env import explain
from cuckoo_env.agents import fill, parse
from cuckoo_env.agents.policy import PolicyAgent
from cuckoo_env.cards import RANK_NAMES
from cuckoo_env.evaluate import arena, report
from cuckoo_env.rules import Rules

CURVE = [
    {"steps": 0, "seconds": 0.0, "win_share": 0.1, "win_share_se": 0.004},
    {"steps": 500, "seconds": 3.5, "win_share": 0.3, "win_share_se": 0.005},
    {"steps": 1000, "seconds": 7.0, "win_share": 0.4, "win_share_se": 0.005},
]
TRAINING = {
    "algorithm": "PPO",
    "command": "cuckoo demo --out 'runs/<b>demo</b>' --seed 7",
    "seed": 7,
    "steps": 1000,
    "seconds": 7.0,
    "machine": "Linux x86_64, 2 cores",
    "versions": {"torch": "9.8.7"},
    "learning_curve": CURVE,
}


def policy_for(rules):
    policy = random_policy(rules, hidden=(), seed=1, training=TRAINING)
    return PolicyAgent.of(policy, "policy:runs/x")


def make(rules="practice-table", seat=0):
    rules = Rules.parse(rules)
    agent, robin, others = policy_for(rules), parse("robin", rules), fill("robin,alex", rules, seat)

    def line(player):
        return [*others[:seat], player, *others[seat:]]

    return report.Content(
        card=agent.policy.card,
        seat=seat,
        comparison=arena.compare(rules, line(agent), line(robin), 3000, 1),
        others=[arena.play(rules, line(parse("naive", rules)), 3000, 1)],
        habits=report.observe(rules, line(agent), seat, seed=2),
        compared_habits=report.observe(rules, line(robin), seat, seed=2),
    )


@pytest.fixture(scope="module")
def content():
    return make()


def with_difference(content, difference, error, games=500_000):
    lineup = dataclasses.replace(content.comparison.lineup, games=games)
    comparison = dataclasses.replace(
        content.comparison,
        lineup=lineup,
        win_share=np.full(3, difference),
        win_share_se=np.full(3, error),
    )
    return dataclasses.replace(content, comparison=comparison)


def test_the_page_asks_for_nothing_from_elsewhere(content):
    page = report.page(content)
    assert not re.search(r"https?:|//|\bsrc=|<link|<script|<iframe|@import|url\(", page)


class Balance(HTMLParser):
    """Notes the tags that are open, and complains when one is closed that is not."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        del attrs
        if tag not in {"meta", "line", "path", "circle"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in {"line", "path", "circle"}:
            assert self.open.pop() == tag


def test_the_page_is_well_formed(content):
    parser = Balance()
    parser.feed(report.page(content))
    assert parser.open == []


def test_the_page_holds_the_figures(content):
    text = unescape(report.page(content))
    for row in content.rows():
        assert row.label in text
        assert f"{row.win_share:.2%}" in text
        assert f"{row.payoff:+.4f}" in text
    difference, error = content.difference
    assert f"{100 * difference:+.3f} points, standard error {100 * error:.3f}" in text
    assert content.verdict() in text
    for word in (
        "seat 0 against robin, alex",
        "practice-table",
        "9.8.7",
        "2 cores",
        "7 in training, 1 when measured",
    ):
        assert word in text


def test_the_page_tells_the_rules_in_words(content):
    text = unescape(report.page(content))
    for sentence in explain.sentences(content.card.rules).values():
        assert sentence in text


def test_what_comes_from_files_cannot_become_markup(content):
    page = report.page(content)
    assert "<b>demo</b>" not in page
    assert "&lt;b&gt;demo&lt;/b&gt;" in page


def test_every_point_of_the_learning_curve_is_drawn(content):
    page = report.page(content)
    assert page.count("<circle") == len(CURVE)
    assert all(
        f"<title>{point['seconds']:.0f} s: {point['win_share']:.2%}</title>" in page
        for point in CURVE
    )


def test_a_policy_without_a_curve_still_gets_a_page(content):
    training = {**TRAINING, "learning_curve": []}
    card = dataclasses.replace(content.card, training=training)
    assert "<circle" not in report.page(dataclasses.replace(content, card=card))


@pytest.mark.parametrize(
    ("difference", "error", "better", "verdict", "headline"),
    [
        (0.02, 0.001, True, "2.00 points more, 20 times the standard error", "beats Robin"),
        (-0.02, 0.001, False, "2.00 points less, 20 times the standard error", "falls short of Robin"),
        (0.002, 0.001, False, "+0.20 points, within its error", "about as good as Robin"),
        (0.0, 0.001, False, "+0.00 points, within its error", "about as good as Robin"),
    ],
)  # fmt: skip
def test_a_difference_is_called_real_only_outside_its_error(
    content, difference, error, better, verdict, headline
):
    changed = with_difference(content, difference, error)
    assert changed.is_better() == better
    assert verdict in changed.verdict()
    assert headline in report.page(changed)
    assert changed.as_json()["better"] == better


def test_a_few_games_show_nothing(content):
    assert not with_difference(content, 0.5, 0.001, games=20).is_better()


def test_habits_are_what_the_agent_does(content):
    swaps = content.compared_habits.swaps
    unaware = swaps[:, report.KNOWLEDGE.index(report.UNAWARE)]
    np.testing.assert_array_equal(unaware, [[1] * 6 + [0] * 7] * 3)
    assert content.habits.swaps[np.isfinite(content.habits.swaps)].min() >= 0
    assert content.habits.swaps[np.isfinite(content.habits.swaps)].max() <= 1


def test_knowledge_comes_from_a_swap_with_the_neighbour(content):
    seen = content.compared_habits.seen
    aware = seen[:, [report.KNOWLEDGE.index(k) for k in (report.HOLDS_MORE, report.HOLDS_LESS)]]
    assert not aware[report.POSITIONS.index(report.FIRST)].any()  # nobody has acted before it
    assert aware[1:].sum() > 1000
    # Robin and Alex give away a seven at most; who holds an ace cannot hold more than anybody.
    assert not aware[:, :, 7:].any()
    assert not aware[:, 0, 0].any()


def test_the_habits_of_a_policy_are_its_own_chances():
    rules = Rules.parse("practice-table")
    agent = policy_for(rules)
    for tensor in agent.policy.weights.values():
        tensor.fill(0)
    agent.policy.weights["0.bias"][1] = float(np.log(3))
    habits = report.observe(rules, [agent, *fill("robin,alex", rules, 0)], 0, seed=2)
    np.testing.assert_allclose(habits.of(report.DEALS, report.UNAWARE), 0.75, rtol=1e-5)


@pytest.mark.parametrize(
    ("rules", "seat"), [("onesies,seats=4", 2), ("open-kings", 1), ("aces-high,seats=2", 0)]
)
def test_other_tables_get_a_page_too(rules, seat):
    content = make(f"{rules},max_rounds=20", seat) if "seats=2" not in rules else two_seats()
    text = unescape(report.page(content))
    assert f"seat {seat} against" in text
    assert all(f'title="{name}: ' in text for name in RANK_NAMES)


def two_seats():
    rules = Rules.parse("aces-high,seats=2")
    agent, robin, alex = policy_for(rules), parse("robin", rules), parse("alex", rules)
    return report.Content(
        card=agent.policy.card,
        seat=0,
        comparison=arena.compare(rules, [agent, alex], [robin, alex], 500, 1),
        others=[],
        habits=report.observe(rules, [agent, alex], 0, seed=2),
        compared_habits=report.observe(rules, [robin, alex], 0, seed=2),
    )


def test_the_page_is_written_whole(tmp_path, content):
    path = tmp_path / "report.html"
    path.write_text("old")
    report.write(path, content)
    assert path.read_text() == report.page(content)
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
