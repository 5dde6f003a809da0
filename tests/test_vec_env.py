"""The learner's vector environment against a slow loop, and its promises one by one."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from cuckoo_env.agents import fill
from cuckoo_env.batch import LEAVE, RESTART, Batch, return_settles
from cuckoo_env.engine import NOBODY
from cuckoo_env.learner import parse_seat
from cuckoo_env.rules import PRESETS, Rules, RulesError
from cuckoo_env.train.vec_env import CuckooVecEnv, needs_masks

TABLES = (
    "practice-table",
    "onesies",
    "full-rotation,seats=4",
    # One life, and turns that are lost: games begin and end without a decision of the learner.
    "alternate-exchange,lives=1",
    # Returns that are not settled when the learner is out.
    "chase-the-ace,lives=1,final_tie=carry_stake,stake=2.5",
    "open-kings,lives=1,max_rounds=2,direction=right",
    "one-round,seats=2",
)


class Outside:
    """A bot that is played through the batch, not in the compiled loop."""

    def __init__(self, bot):
        self.name, self.bot = bot.name, bot

    def probabilities(self, observations, masks, layout):
        return self.bot.probabilities(observations, masks, layout)

    def player(self):
        return None


def pick(observations, masks):
    """A deterministic way to play that looks at everything."""
    weights = np.sin(np.arange(1, observations.shape[1] + 1))
    score = np.sin(37 * (observations @ weights)[:, None] + np.arange(masks.shape[1]))
    return np.where(masks, score, -2).argmax(axis=1)


def make(rules, seat, *, outside=False, games=24, seed=5, **options):
    rules = Rules.parse(rules)
    opponents = fill("robin,alex" if rules.seats > 2 else "alex", rules, seat)
    if outside:
        opponents = [Outside(bot) for bot in opponents]
    return CuckooVecEnv(rules, opponents, games=games, seat=seat, seed=seed, **options)


def slow_episodes(env, i, opponents, seed, decisions):
    """What the learner of game ``i`` sees and gets: one game by itself, every seat asked in turn."""
    batch = Batch(env.rules, env.num_envs, seed=seed, renew=False)
    learner, story = int(env.learners[i]), []
    players = list(opponents)
    players.insert(learner, None)

    def step(action):
        actions = np.full(env.num_envs, LEAVE)
        actions[i] = action
        batch.step(actions)

    decided = False
    while len(story) < decisions:
        seat, seen, mask = batch.seats[i], batch.observations[i : i + 1], batch.masks[i : i + 1]
        if seat == NOBODY:
            end = batch.returns[i, learner] / env.rules.stake
        elif return_settles(env.rules) and is_out(env, seen[0], seat, learner):
            end = -1.0
        elif seat == learner:
            story.append(["sees", seen[0].copy(), mask[0].copy()])
            decided = True
            step(pick(seen, mask)[0])
            continue
        else:
            step(players[seat].probabilities(seen, mask, env.layout)[0].argmax())
            continue
        if decided:
            story.append(["gets", end])
        decided = False
        step(RESTART)
    return story


def is_out(env, seen, seat, learner):
    step = 1 if env.rules.direction == "left" else -1
    return env.layout.view(seen, "in_play")[(learner - seat) * step % env.rules.seats, 0] == 0


@pytest.mark.parametrize("seat", [1, None])
@pytest.mark.parametrize("rules", TABLES)
def test_every_game_is_what_a_slow_loop_plays(rules, seat):
    env, games = make(rules, seat, games=6), range(6)
    stories = [[] for _ in games]
    env.seed(5)
    seen = env.reset()
    for _ in range(40):
        masks = env.action_masks()
        for i in games:
            stories[i].append(["sees", seen[i].copy(), masks[i].copy()])
        seen, rewards, dones, _ = env.step(pick(seen, masks))
        for i in np.flatnonzero(dones):
            stories[i].append(["gets", rewards[i]])
        assert not rewards[~dones].any()
    opponents = fill("robin,alex" if env.rules.seats > 2 else "alex", env.rules, seat)
    for i in games:
        expected = slow_episodes(env, i, opponents, 5, len(stories[i]))
        for ours, theirs in zip(stories[i], expected, strict=False):
            assert ours[0] == theirs[0]
            np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6)
            if ours[0] == "sees":
                np.testing.assert_array_equal(ours[2], theirs[2])


@pytest.mark.parametrize("seat", [0, None])
@pytest.mark.parametrize("rules", TABLES)
def test_agents_asked_outside_play_as_in_the_compiled_loop(rules, seat):
    inside, outside = make(rules, seat), make(rules, seat, outside=True)
    for env in (inside, outside):
        env.seed(9)
    seen = inside.reset()
    np.testing.assert_array_equal(seen, outside.reset())
    for _ in range(60):
        actions = pick(seen, inside.action_masks())
        results, others = inside.step(actions), outside.step(actions)
        for ours, theirs in zip(results[:3], others[:3], strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(inside.action_masks(), outside.action_masks())
        seen = results[0]
    assert inside.finished == outside.finished > 0
    assert inside.return_sum == outside.return_sum


@pytest.mark.parametrize("rules", ["practice-table", "onesies", TABLES[4], TABLES[5]])
def test_shaped_rewards_sum_up_to_the_return(rules):
    plain, shaped = make(rules, 0), make(rules, 0, shaping="lives")
    shaped.seed(3)
    plain.seed(3)
    seen = plain.reset()
    np.testing.assert_array_equal(seen, shaped.reset())
    sums, early = np.zeros(plain.num_envs), 0
    for _ in range(80):
        actions = pick(seen, plain.action_masks())
        seen, returns, dones, _ = plain.step(actions)
        _, rewards, _, _ = shaped.step(actions)
        sums += rewards
        early += np.count_nonzero(rewards[~dones])
        np.testing.assert_allclose(sums[dones], returns[dones], atol=1e-5)
        sums[dones] = 0
    assert plain.finished > 0
    assert early > 0 or plain.rules.lives == 1


def test_the_learner_is_always_the_seat_to_act_and_seats_rotate():
    env = make("standard,seats=4", None, games=10)
    assert env.learners.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    seen = env.reset()
    for _ in range(30):
        assert (env.layout.view(seen, "acts")[:, 0, 0] == 1).all()
        assert env.action_masks().any(axis=1).all()
        seen, *_ = env.step(pick(seen, env.action_masks()))


def test_a_seed_starts_the_same_games_and_no_seed_goes_on():
    env, other = make("practice-table", 0), make("practice-table", 0, seed=77)
    env.seed(11), other.seed(11)
    first = env.reset()
    np.testing.assert_array_equal(first, other.reset())
    second = env.reset()
    np.testing.assert_array_equal(second, other.reset())
    assert not np.array_equal(first, second)
    env.seed(0), other.seed(0)
    np.testing.assert_array_equal(env.reset(), other.reset())


def test_what_a_step_returns_is_not_overwritten_by_the_next():
    env = make("practice-table", 0)
    seen = env.reset()
    masks, copy = env.action_masks(), seen.copy()
    kept = masks.copy()
    env.step(pick(seen, masks))
    np.testing.assert_array_equal(seen, copy)
    np.testing.assert_array_equal(masks, kept)


def test_a_truncated_game_ends_the_episode_with_the_stakes_back():
    env = make("pairs-safe,lives=9,max_rounds=1", 0)
    seen = env.reset()
    for _ in range(5):
        seen, rewards, _, infos = env.step(pick(seen, env.action_masks()))
        assert not rewards.any()
        assert infos == [{}] * env.num_envs
    assert env.finished == 5 * env.num_envs


@pytest.mark.parametrize("name", PRESETS)
def test_masks_are_needed_exactly_where_some_action_is_ever_illegal(name):
    rules = Rules.parse(name)
    batch, rng, ever = Batch(rules, 512, seed=1), np.random.default_rng(0), False
    for _ in range(40):
        ever = ever or not batch.masks.all()
        choice = np.where(batch.masks, rng.random(batch.masks.shape), -1)
        batch.step(choice.argmax(axis=1))
    assert needs_masks(rules) == ever


def test_what_cannot_be_used_is_refused():
    rules = Rules.parse("practice-table")
    with pytest.raises(ValueError, match="opponents: 1 are refused; accepted: 2"):
        CuckooVecEnv(rules, fill("robin", rules, 0)[:1], games=4, seat=0)
    with pytest.raises(ValueError, match="shaping: 'card' is refused; accepted: none or lives"):
        make("practice-table", 0, shaping="card")
    for text in ("3", "-1", "x", "", "²", "1.0"):
        with pytest.raises(RulesError, match=r"seat: .* is refused; accepted: 0 to 2, or all"):
            parse_seat(text, rules)
    assert parse_seat("2", rules) == 2
    assert parse_seat("all", rules) is None
    env = make("practice-table", 0)
    env.reset()
    with pytest.raises(ValueError, match="illegal"):
        env.step(np.full(env.num_envs, 4))
