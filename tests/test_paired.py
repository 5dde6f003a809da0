"""Paired rollouts, self-play and the generalist: what they measure is true, and they go on exactly."""

from __future__ import annotations

import collections
import pickle

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from cuckoo_env.agents import fill, lineup, parse
from cuckoo_env.agents.policy import PolicyAgent
from cuckoo_env.batch import LEAVE, RESTART
from cuckoo_env.engine import NOBODY
from cuckoo_env.evaluate.exact import (
    Chain,
    action_values,
    evaluate,
    nash_conv,
    reveal_worth,
    strategy_of,
)
from cuckoo_env.evaluate.match import Match, Position
from cuckoo_env.learner import Learners
from cuckoo_env.rules import PRESETS, Rules
from cuckoo_env.train import generalist, paired, selfplay
from cuckoo_env.train.curve import TableScores
from cuckoo_env.train.paired import Networks, PairedRollouts
from cuckoo_env.train.selfplay import Pool

QUICK = "standard,seats=2,lives=1"
SMALL = {"games": 64, "minibatches": 2, "hidden": (16,), "value_hidden": (8,), "seed": 3}

MAKE = {
    "paired": lambda: paired.ALGORITHM.make(
        paired.Arguments(**SMALL, steps=10_000, rules="onesies,seats=3", seat="all")
    ),
    "paired, to the end, fresh luck": lambda: paired.ALGORITHM.make(
        paired.Arguments(**SMALL, steps=10_000, horizon="game", luck="fresh")
    ),
    "self-play": lambda: selfplay.ALGORITHM.make(
        selfplay.Arguments(**SMALL, steps=10_000, rules=QUICK, pool=0.5, redraw=2, against="robin")
    ),
    "generalist": lambda: generalist.ALGORITHM.make(
        generalist.Arguments(**{**SMALL, "games": 256}, steps=10_000)
    ),
}


def weights(learner):
    return {name: each.tobytes() for name, each in learner.policy().weights.items()}


# -- Games ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("against", ["robin,alex", "random", "equilibrium,robin"])
def test_copies_that_are_played_alike_stay_alike(against):
    rules = Rules.parse("practice-table")
    games = Learners(rules, fill(against, rules, 0), 50, seed=5)
    copies = games.fork(np.repeat(np.arange(50), 2))
    rng = np.random.default_rng(1)
    for _ in range(60):
        actions = np.repeat(rng.integers(2, size=50), 2).astype(np.int8)
        copies.step(np.where(copies.over, RESTART, actions))
        assert (copies.observations[::2] == copies.observations[1::2]).all()
        assert (copies.payouts()[::2] == copies.payouts()[1::2]).all()


def test_a_copy_leaves_its_game_alone():
    rules = Rules.parse("practice-table")
    games, twin = (Learners(rules, fill("random", rules, 0), 20, seed=5) for _ in range(2))
    games.fork(np.arange(20)).step(np.ones(20, np.int8))
    games.step(np.zeros(20, np.int8))
    twin.step(np.zeros(20, np.int8))
    assert (games.observations == twin.observations).all()


def test_games_of_several_rule_sets_and_line_ups_are_the_single_ones():
    tables = [Rules.parse(text) for text in ("practice-table", "onesies,seats=4", "le-her")]
    opponents = [fill("robin", rules, None) for rules in tables]
    wide = {"max_seats": 5, "with_rules": True, "n_actions": 5}
    together = Learners(tables, opponents, 60, seat="all", seed=9, **wide)
    assert collections.Counter(together.rules_of_game.tolist()) == {0: 20, 1: 20, 2: 20}
    # Game i of a batch is the single game with its derived seed, whatever stands beside it.
    for number, (rules, lineup_) in enumerate(zip(tables, opponents, strict=True)):
        for seat in range(rules.seats):
            alone = Learners(rules, lineup_, 60, seat=seat, seed=9, **wide)
            mine = (together.rules_of_game == number) & (together.learners == seat)
            assert mine.any()
            keep = np.zeros(60, np.int8)
            first = together.fork(np.arange(60))
            for batch in (alone, first):
                batch.step(np.where(batch.masks[:, 0] == 1, keep, batch.masks.argmax(1)))
            assert (alone.observations[mine] == first.observations[mine]).all()


def test_opponents_must_be_given_for_every_rule_set():
    rules = Rules.parse("practice-table")
    with pytest.raises(ValueError, match="opponents: 1 sequences are refused"):
        Learners([rules, rules], [fill("robin", rules, 0)], 4)


@pytest.mark.parametrize("text", ["cuckoo,seats=4", "no such rules"])
def test_opponents_of_several_rule_sets_are_given_in_sequences(text):
    rules = Rules.parse("practice-table")
    told = "rules: " if text.startswith("no") else "opponents: .* is refused; accepted: a sequence"
    with pytest.raises(ValueError, match=told):
        Learners([rules, text], fill("robin", rules, 0), 4)


def test_of_several_rule_sets_the_one_without_a_decision_is_named(monkeypatch):
    monkeypatch.setattr("cuckoo_env.learner._MOST_PASSED", 3)
    tables = [Rules.parse("practice-table"), Rules.parse("le-her")]
    games = Learners(tables, [fill("robin", rules, 0) for rules in tables], 2, seed=1)
    # Nobody lets it decide: whoever plays, the game is over then.
    monkeypatch.setattr(games, "_play_others", lambda: games.seats.fill(NOBODY))
    with pytest.raises(ValueError, match=r"seat: 0 is refused; .* under le-her"):
        games.step(np.array([LEAVE, RESTART], np.int8))


@pytest.mark.parametrize("forked", [False, True])
@pytest.mark.parametrize("asked", [False, True])
def test_games_of_several_rule_sets_are_pickled_as_they_stand(forked, asked):
    tables = [Rules.parse(text) for text in ("practice-table", "onesies,seats=4", "le-her")]
    others = [fill("robin", rules, None) for rules in tables]
    if asked:  # one who is asked from outside at one table, and so all are
        others[0] = [Asked(), *others[0][1:]]
    games = Learners(tables, others, 30, seat="all", seed=4, max_seats=5, with_rules=True)
    rng = np.random.default_rng(2)
    wander(games, rng, 5)
    if forked:
        games = games.fork(np.array([29, 3, 3, 11, 0]))
    twin = pickle.loads(pickle.dumps(games))
    assert same(games, twin)
    start = rng.bit_generator.state
    wander(games, rng, 40)
    rng.bit_generator.state = start
    wander(twin, rng, 40)
    assert same(games, twin)


class Asked:
    """Plays at random, and is no data."""

    def probabilities(self, observations, masks, layout):
        return masks / masks.sum(axis=1, keepdims=True)

    def player(self):
        return None


def wander(games, rng, steps):
    """Legal actions at random, and new games where one is over."""
    for _ in range(steps):
        actions = (games.masks * rng.random(games.masks.shape)).argmax(axis=1)
        games.step(np.where(games.over, RESTART, actions))


def same(one, other):
    names = ("observations", "masks", "seats", "learners", "rules_of_game", "rounds", "over")
    return len(one) == len(other) and all(
        (getattr(one, name) == getattr(other, name)).all() for name in names
    )


# -- What is measured -----------------------------------------------------------------------------


def test_what_copies_come_to_is_on_average_what_the_exact_tree_says():
    """Told by exact values of positions, both actions' outcomes average to the tree's, card by card."""
    rules = Rules.parse("practice-table,first_dealer=2")
    match, seat = Match(rules), 0
    strategy = strategy_of(match, lineup("naive,robin,alex", rules))
    values = Chain(match, strategy).values()[:, seat]
    (_, start), tree = match.starts()[0], match.tree[match.starts()[0][1]]
    leaf = tree.outcomes @ reveal_worth(match, start, seat, values)
    worth, _ = action_values(tree, strategy[start], tree.own_edges(0), leaf)

    learner = paired.ALGORITHM.make(
        paired.Arguments(rules=str(rules), steps=1, games=120_000, hidden=(4,), seed=1)
    )
    layout = learner._games.layout

    def exact(observations):
        lives = layout.view(observations, "lives")[:, :, 0] * rules.lives
        dealers = layout.view(observations, "dealer")[:, :, 0].argmax(axis=1)
        return np.array(
            [
                0.0 if not left[seat] or sum(map(bool, left)) < 2
                else 3 * values[match.number[Position(lives=left, dealer=int(dealer))]] - 1
                for left, dealer in zip(
                    map(tuple, lives.round().astype(int).tolist()), dealers, strict=True
                )
            ]
        )  # fmt: skip

    learner.networks.values = exact
    games = learner._games
    rows = np.repeat(np.arange(len(games)), 2)
    copies = games.fork(rows)
    copies.step(np.tile(np.array([0, 1], np.int8), len(games)))
    learner._round = games.rounds
    found = learner._outcomes(copies, rows).reshape(-1, 2)
    gain = found[:, 1] - found[:, 0]
    cards = layout.view(games.observations, "known")[:, 0].argmax(axis=1)
    states = [s for s in range(tree.n_states) if tree.state_place[s] == 0]
    assert len(states) == 13  # the first to act knows only its own card
    for state in states:
        keep, swap = tree.state_edge[state], tree.state_edge[state] + 1
        expected = 3 * (worth[swap] - worth[keep]) * 13
        card = tree.path_to(tree.state_node[state])[0][0] - 1
        here = gain[cards == card]
        assert abs(here.mean() - expected) < 4.5 * here.std() / np.sqrt(len(here)), card


def test_the_same_luck_makes_differences_quieter():
    def spread(luck):
        learner = paired.ALGORITHM.make(
            paired.Arguments(
                steps=1, games=4000, hidden=(4,), horizon="game", luck=luck, seed=1, exploration=0
            )
        )
        games = learner._games
        rows = np.repeat(np.arange(4000), 2)
        copies = games.fork(rows)
        if luck == "fresh":
            copies.reseed(np.arange(8000), learner._rng.integers(2**63, size=8000, dtype=np.uint64))
        copies.step(np.tile(np.array([0, 1], np.int8), 4000))
        worth = learner._outcomes(copies, rows).reshape(-1, 2)
        return float((worth[:, 1] - worth[:, 0]).std())

    assert spread("same") < 0.9 * spread("fresh")


@pytest.mark.parametrize("rules", ["practice-table", "queen-rule,seats=4"])
def test_copies_that_took_the_same_action_come_to_the_same(rules):
    learner = paired.ALGORITHM.make(
        paired.Arguments(rules=rules, steps=1, games=500, hidden=(4,), horizon="game", seed=1)
    )
    games = learner._games
    rows = np.repeat(np.arange(500), 2)
    copies = games.fork(rows)
    copies.step(games.masks.argmax(axis=1)[rows].astype(np.int8))
    worth = learner._outcomes(copies, rows).reshape(-1, 2)
    assert (worth[:, 0] == worth[:, 1]).all()
    assert worth.std() > 0.5


def test_nash_conv_of_a_profile_is_what_evaluation_says():
    rules = Rules.parse("practice-table")
    agents = lineup("robin,robin,alex", rules)
    match = Match(rules)
    exact = evaluate(rules, agents, first_dealer="all", best_responses=True)
    assert nash_conv(match, strategy_of(match, agents)) == pytest.approx(exact.nash_conv)


def test_the_worst_case_against_the_pool_is_exact():
    rules = Rules.parse("practice-table")
    measures = selfplay._Exact(rules)
    robin, alex = parse("robin", rules), parse("alex", rules)
    found = measures.measure(robin, [robin, alex])
    match = Match(rules)
    shares = []
    for seat in range(3):
        seated = [alex, alex, alex]
        seated[seat] = robin
        values = Chain(match, strategy_of(match, seated)).values()
        shares.append(sum(chance * values[n][seat] for chance, n in match.starts("all")))
    assert found["worst_win_share"] == pytest.approx(min(1 / 3, np.mean(shares)))


def test_the_average_of_the_pool_weighs_later_snapshots_more():
    rules = Rules.parse(QUICK)
    measures = selfplay._Exact(rules)
    for spec in ("naive", "robin"):
        measures.add(parse(spec, rules))
    match = Match(rules)
    naive, robin = (strategy_of(match, [parse(spec, rules)] * 2) for spec in ("naive", "robin"))
    mixed = [(a + 2 * b) / 3 for a, b in zip(naive, robin, strict=True)]
    found = measures.measure(parse("robin", rules), [parse("robin", rules)])
    assert found["nash_conv_average"] == pytest.approx(nash_conv(match, mixed))


def test_those_the_learner_does_worst_against_are_met_most():
    pool = Pool(lineup("robin,alex,naive", Rules.parse("practice-table")), 3)
    for _ in range(2000):
        pool.note(0, np.array([0.1]))
        pool.note(1, np.array([0.4]))
        pool.note(2, np.array([0.7]))
    assert pool.wins == pytest.approx([0.1, 0.4, 0.7], abs=0.01)
    met = np.bincount(pool.draw(np.random.default_rng(0), 100_000), minlength=3) / 100_000
    assert met == pytest.approx(np.array([0.81, 0.36, 0.09]) / 1.26, abs=0.01)


# -- Learning -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKE)
def test_a_restored_learner_goes_on_exactly(name):
    straight = MAKE[name]()
    for update in range(3):
        straight.update(update / 10)
    kept = straight.state()
    resumed = MAKE[name]()
    resumed.update(0.5)  # whatever it did before is forgotten
    resumed.restore(kept)
    assert weights(resumed) == weights(straight)
    for update in range(3, 6):
        assert straight.update(update / 10) == resumed.update(update / 10)
    assert straight.steps == resumed.steps
    assert weights(resumed) == weights(straight)


@pytest.mark.parametrize("name", MAKE)
def test_global_generators_are_left_alone(name):
    torch = pytest.importorskip("torch")
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    MAKE[name]().update(0.5)
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()  # noqa: NPY002


def test_it_learns_a_small_table():
    arguments = paired.Arguments(
        rules=QUICK, against="robin", seat="all", steps=400_000, games=512, minibatches=1,
        hidden=(32,), value_hidden=(8,), learning_rate=5e-3, averaging=0.98,
    )  # fmt: skip
    learner = paired.ALGORITHM.make(arguments)
    while learner.steps < arguments.steps:
        learner.update(learner.steps / arguments.steps)
    scores = TableScores(learner.task, games=1, seed=0)
    assert scores.measure(PolicyAgent.of(learner.policy(), "learned"))["captured_headroom"] > 0.9


def test_self_play_approaches_equilibrium_at_a_small_table():
    arguments = selfplay.Arguments(
        rules=QUICK, against="robin", steps=150_000, games=512, minibatches=1, hidden=(32,),
        value_hidden=(8,), learning_rate=5e-3, averaging=0.98, snapshots=10,
    )  # fmt: skip
    learner = selfplay.ALGORITHM.make(arguments)
    before = learner.measure()["nash_conv"]
    while learner.steps < arguments.steps:
        learner.update(learner.steps / arguments.steps)
    found = learner.measure()
    assert found["nash_conv"] < 0.1 * before
    assert found["nash_conv_average"] < 0.5 * before
    assert len(learner._snapshots) in {9, 10}


# -- The generalist -------------------------------------------------------------------------------


def test_a_generalist_sits_at_every_table_of_its_range():
    arguments = generalist.Arguments(**{**SMALL, "games": 128}, steps=1, seats="2-4")
    policy = generalist.ALGORITHM.make(arguments).policy()
    assert str(policy.card.rules) == generalist.MEASURED_AT
    covered = list(arguments.covers().tables())
    assert {rules.seats for rules in covered} == {2, 3, 4}
    for name, preset in PRESETS.items():
        if preset.admits(3):
            agent = PolicyAgent.of(policy, name, preset.rules(seats=3))
            batch = Learners(preset.rules(seats=3), fill("robin", preset.rules(seats=3), 0), 8)
            chances = agent.probabilities(batch.observations, batch.masks, batch.layout)
            assert chances.sum(axis=1) == pytest.approx(1)
            assert (chances[batch.masks == 0] == 0).all()


def test_a_generalist_of_larger_tables_is_measured_at_the_first_of_them():
    arguments = generalist.Arguments(
        **{**SMALL, "games": 128}, steps=1, seats="4-5", against="alex"
    )
    learner = generalist.ALGORITHM.make(arguments)
    first = next(arguments.covers().tables())
    assert learner.policy().card.rules == learner.task.rules == first
    assert learner.task.against == ["alex"] * 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rules": "onesies"}, "rules: onesies is refused; accepted: any"),
        ({"seats": "2 to 4"}, "seats: 2 to 4 is refused"),
        ({"seats": "9-3"}, "covers: 9 to 3 seats are refused"),
        ({"seat": "1"}, "seat: 1 is refused"),
        ({"seats": "6000"}, "seats: 6000 is refused"),
        ({"games": 100}, "games: 100 is refused; accepted: .* or more, for as many tables"),
    ],
)
def test_a_generalist_refuses_what_it_cannot_learn(changes, message):
    with pytest.raises(ValueError, match=message):
        generalist.Arguments(steps=1, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"minibatches": 65, "games": 64}, "minibatches: 65 is refused; accepted: at most games"),
        ({"temperature": 0.0}, "temperature: 0.0 is refused; accepted: 0.000001 to 1000"),
        ({"last_temperature": 1e-42}, "last_temperature: 1e-42 is refused"),
        ({"temperature": float("nan")}, "temperature: nan is refused"),
        ({"averaging": 1.0}, "averaging: 1.0 is refused"),
        ({"horizon": "week"}, "horizon: week is refused; accepted: round or game"),
        ({"luck": "good"}, "luck: good is refused; accepted: same or fresh"),
    ],
)
def test_settings_of_paired_rollouts_are_checked(changes, message):
    with pytest.raises(ValueError, match=message):
        paired.Arguments(steps=1, **changes)


def test_left_games_stay():
    rules = Rules.parse("practice-table")
    games = Learners(rules, fill("robin", rules, 0), 10, seed=1)
    before = games.observations.copy()
    games.fork(np.arange(10)).step(np.full(10, LEAVE, np.int8))
    assert (games.observations == before).all()


@pytest.mark.parametrize("temperature", [1e-6, 1e3])
def test_a_policy_plays_what_the_networks_do_at_any_temperature(temperature):
    changes = {"temperature": temperature, "last_temperature": temperature, "averaging": 0.0}
    learner = paired.ALGORITHM.make(paired.Arguments(steps=1, **{**SMALL, **changes}))
    learner.update(0.5)
    games = learner._games
    agent = PolicyAgent.of(learner.policy(), "learned")
    chances = agent.probabilities(games.observations, games.masks, games.layout)
    expected = learner.networks.chances(games.observations, games.masks)
    assert chances == pytest.approx(expected, abs=1e-3)


def test_networks_depend_on_the_seed_alone():
    arguments = paired.Arguments(steps=1, **SMALL)
    layout = Learners("practice-table", fill("robin", Rules.parse("practice-table"), 0), 1).layout
    one, other = (Networks(arguments, layout) for _ in range(2))
    assert all(
        (a == b).all()
        for a, b in zip(one.worth.parameters(), other.worth.parameters(), strict=True)
    )


def test_a_learner_can_be_made_for_any_games():
    rules = Rules.parse("practice-table")
    games = Learners(rules, fill("robin", rules, 0), 32, seed=1)
    arguments = paired.Arguments(steps=1, **{**SMALL, "games": 32})
    networks = Networks(arguments, games.layout)
    learner = PairedRollouts(arguments, None, games, networks, against=["robin"])
    assert learner.update(0.0)["error"] > 0
    assert learner.steps == 32
