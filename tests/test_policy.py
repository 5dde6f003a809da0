"""Policy files: what is written is what is read, and nothing else is believed."""

from __future__ import annotations

import json
import pickle
import struct

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import safetensors.torch
import torch

from cuckoo_env.agents import AgentError, parse
from cuckoo_env.agents.policy import CARD_NAME, WEIGHTS_NAME, Card, Policy, PolicyAgent, PolicyError
from cuckoo_env.batch import Batch
from cuckoo_env.observation import LAYOUT_VERSION, Layout
from cuckoo_env.rules import Rules


def make(rules="practice-table", hidden=(16, 8), activation="relu", seed=0):
    rules = Rules.parse(rules)
    card = Card(
        rules=rules,
        layout=Layout.of(rules),
        hidden=hidden,
        activation=activation,
        training={"seed": seed, "learning_curve": []},
    )
    generator = torch.Generator().manual_seed(seed)
    weights = {
        name: torch.randn(shape, generator=generator) for name, shape in card.shapes().items()
    }
    return Policy(card=card, weights=weights)


def situations(rules, n=256):
    batch = Batch(rules, n, seed=3)
    return batch.observations.copy(), batch.masks.copy(), batch.layout


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", [(), (16,), (16, 8, 4)])
@pytest.mark.parametrize("rules", ["practice-table", "onesies,seats=5", "open-kings"])
def test_a_policy_that_was_written_plays_the_same_when_read(tmp_path, rules, hidden, activation):
    policy = make(rules, hidden, activation)
    policy.save(tmp_path)
    seen = situations(rules)
    expected = PolicyAgent.of(policy, "x").probabilities(*seen)
    for path in (tmp_path, tmp_path / CARD_NAME, tmp_path / WEIGHTS_NAME):
        agent = parse(f"policy:{path}", Rules.parse(rules))
        assert agent.name == f"policy:{path}"
        assert agent.player() is None
        np.testing.assert_array_equal(agent.probabilities(*seen), expected)
    assert agent.policy.card == policy.card
    assert sorted(path.name for path in tmp_path.iterdir()) == [CARD_NAME, WEIGHTS_NAME]


@pytest.mark.parametrize("activation", [np.tanh, lambda x: np.maximum(x, 0)])
def test_chances_are_the_softmax_of_the_legal_logits(activation):
    policy = make("open-kings", (16, 8), "tanh" if activation is np.tanh else "relu")
    seen, masks, layout = situations("open-kings", 4096)
    chances = PolicyAgent.of(policy, "x").probabilities(seen, masks, layout)
    w = {name: tensor.numpy().astype(np.float64) for name, tensor in policy.weights.items()}
    values = activation(seen @ w["0.weight"].T + w["0.bias"])
    values = activation(values @ w["1.weight"].T + w["1.bias"])
    odds = np.exp(values @ w["2.weight"].T + w["2.bias"]) * masks
    np.testing.assert_allclose(
        chances, odds / odds.sum(axis=1, keepdims=True), rtol=1e-3, atol=1e-6
    )
    assert (chances[masks == 0] == 0).all()
    assert (masks == 0).any()
    np.testing.assert_allclose(chances.sum(axis=1), 1)


def test_huge_logits_give_no_nan():
    policy = make()
    for tensor in policy.weights.values():
        tensor.mul_(1e6)
    chances = PolicyAgent.of(policy, "x").probabilities(*situations("practice-table"))
    assert np.isfinite(chances).all()


def test_asking_it_changes_nothing():
    policy, (seen, masks, layout) = make(), situations("practice-table")
    copies = seen.copy(), masks.copy(), {k: t.clone() for k, t in policy.weights.items()}
    agent = PolicyAgent.of(policy, "x")
    first = agent.probabilities(seen, masks, layout)
    seen.flags.writeable = masks.flags.writeable = False
    np.testing.assert_array_equal(agent.probabilities(seen, masks, layout), first)
    np.testing.assert_array_equal(seen, copies[0])
    np.testing.assert_array_equal(masks, copies[1])
    assert all(torch.equal(policy.weights[k], copies[2][k]) for k in policy.weights)


# -- What is refused ----------------------------------------------------------------------------


def refused(path, match, rules="practice-table"):
    """The path is refused with one line that names it."""
    with pytest.raises(AgentError, match=match) as caught:
        PolicyAgent(path, Rules.parse(rules))
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    assert len(message) < 1000
    return message


@pytest.fixture
def folder(tmp_path):
    make().save(tmp_path)
    return tmp_path


def change_card(folder, **changes):
    path = folder / CARD_NAME
    values = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({k: v for k, v in values.items() if v is not ...}))


def test_other_rules_are_refused_and_told_apart(folder):
    message = refused(folder, "trained for practice-table, not four-lives:", "four-lives")
    assert "lives=3 there, lives=4 here" in message
    assert "final_tie=replay there, final_tie=joint here" in message
    assert "first_dealer" not in message


def test_rules_that_differ_only_in_what_it_need_not_know_are_accepted(folder):
    rules = Rules.parse("practice-table,stake=2,direction=right").replace(first_dealer="lot")
    PolicyAgent(folder, rules)


def test_another_layout_than_its_own_is_refused():
    rules = Rules.parse("practice-table")
    seen, masks, _ = situations("practice-table")
    wide = Layout.of(rules, max_seats=5)
    with pytest.raises(PolicyError, match="max_seats=5"):
        PolicyAgent.of(make(), "x").probabilities(seen, masks, wide)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"format": "cuckoo-policy/2"}, "not a card of format cuckoo-policy/1"),
        ({"format": ...}, "not a card of format"),
        ({"layout_version": LAYOUT_VERSION + 1}, f"layout {LAYOUT_VERSION + 1}; this version has"),
        ({"layout_version": ...}, "layout None"),
        ({"rules": "whist"}, "its rules cannot be played: rules: whist"),
        ({"rules": 3}, "rules: 3 is refused; accepted: a str"),
        ({"max_seats": 2}, "max_seats: 2 is refused"),
        ({"max_seats": 10**9}, "max_seats: 1000000000 is refused"),
        ({"max_seats": True}, "max_seats: True is refused"),
        ({"n_actions": 3}, "n_actions: 3 is refused"),
        ({"with_rules": 0}, "with_rules: 0 is refused"),
        ({"hidden": [10**9]}, "hidden: .* is refused"),
        ({"hidden": [16.0, 8]}, "hidden: .* is refused"),
        ({"hidden": [1] * 9}, "hidden: .* is refused"),
        ({"hidden": "16"}, "hidden: '16' is refused"),
        ({"hidden": [10**60]}, "hidden: .* is refused"),
        ({"activation": "__import__('os')"}, "activation: .* is refused; accepted: relu or tanh"),
        ({"training": []}, "training: .* is refused"),
        ({"hidden": [16, 9]}, "its tensors are"),
        ({"max_seats": 4}, "its tensors are"),
    ],
)  # fmt: skip
def test_a_card_that_is_wrong_is_refused(folder, changes, match):
    change_card(folder, **changes)
    with pytest.raises(PolicyError, match=match) as caught:
        PolicyAgent(folder, Rules.parse("practice-table"))
    assert "\n" not in str(caught.value)


class Trap:
    """Unpickling it would leave a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("name", [CARD_NAME, WEIGHTS_NAME])
def test_a_pickle_is_refused_and_never_run(folder, name):
    sprung = folder / "sprung"
    data = pickle.dumps({"0.weight": Trap(sprung)})
    (folder / name).write_bytes(data)
    with pytest.raises(PolicyError, match="damaged, or no"):
        PolicyAgent(folder, Rules.parse("practice-table"))
    torch.save({"0.weight": torch.zeros(2)}, folder / name)
    with pytest.raises(PolicyError, match="damaged, or no"):
        PolicyAgent(folder, Rules.parse("practice-table"))
    assert not sprung.exists()
    pickle.loads(data)["0.weight"].close()
    assert sprung.exists()  # the trap works


@pytest.mark.parametrize("name", [CARD_NAME, WEIGHTS_NAME])
def test_a_file_cut_short_anywhere_is_refused(folder, name):
    whole = (folder / name).read_bytes()
    for length in [*range(0, min(len(whole) - 2, 400), 7), len(whole) // 2, len(whole) - 2]:
        (folder / name).write_bytes(whole[:length])
        with pytest.raises(PolicyError):
            PolicyAgent(folder, Rules.parse("practice-table"))


def test_a_flipped_byte_is_refused_or_changes_only_what_it_says(folder):
    whole = (folder / WEIGHTS_NAME).read_bytes()
    for at in range(0, 600, 11):
        data = bytearray(whole)
        data[at] ^= 0xFF
        (folder / WEIGHTS_NAME).write_bytes(data)
        try:
            policy = Policy.load(folder)
        except PolicyError:
            continue
        assert all(torch.isfinite(tensor).all() for tensor in policy.weights.values())
        assert {k: tuple(t.shape) for k, t in policy.weights.items()} == policy.card.shapes()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused(tmp_path, number):
    policy = make()
    policy.weights["1.bias"][2] = number
    policy.save(tmp_path)
    with pytest.raises(PolicyError, match=r"1\.bias has numbers that are not finite"):
        PolicyAgent(tmp_path, Rules.parse("practice-table"))


def test_other_tensors_are_refused(folder):
    weights = dict(make().weights)
    path = folder / WEIGHTS_NAME
    for changed, match in [
        ({**weights, "extra": torch.zeros(1)}, "its tensors are"),
        ({k: t for k, t in weights.items() if k != "0.bias"}, "its tensors are"),
        ({**weights, "0.bias": torch.zeros(1, 16)}, "its tensors are"),
        ({k: t.half() for k, t in weights.items()}, "is torch.float16; accepted: torch.float32"),
        ({k: t.double() for k, t in weights.items()}, "is torch.float64|is larger than"),
    ]:
        path.write_bytes(safetensors.torch.save(changed))
        with pytest.raises(PolicyError, match=match):
            PolicyAgent(folder, Rules.parse("practice-table"))


def test_files_too_large_to_be_right_are_not_read(folder):
    for name in (CARD_NAME, WEIGHTS_NAME):
        kept = (folder / name).read_bytes()
        with (folder / name).open("wb") as file:
            file.truncate(2**40)  # a hole: a terabyte that takes no room
        with pytest.raises(PolicyError, match="is larger than"):
            PolicyAgent(folder, Rules.parse("practice-table"))
        (folder / name).write_bytes(kept)


def test_a_header_that_lies_about_its_length_is_refused(folder):
    path = folder / WEIGHTS_NAME
    for length in (2**63, 2**40, 10**6, 0):
        path.write_bytes(struct.pack("<Q", length) + path.read_bytes()[8:])
        with pytest.raises(PolicyError, match="damaged, or no safetensors file"):
            PolicyAgent(folder, Rules.parse("practice-table"))


def test_json_that_is_too_deep_or_too_long_is_refused(folder):
    for text in ("[" * 100_000, '{"format": ' + "9" * 10_000 + "}", "null", "[]", "\xff\x00"):
        (folder / CARD_NAME).write_bytes(text.encode("latin-1"))
        with pytest.raises(PolicyError) as caught:
            PolicyAgent(folder, Rules.parse("practice-table"))
        assert "\n" not in str(caught.value)


def test_what_is_not_there_is_refused(tmp_path):
    refused(tmp_path / "nowhere", "no such folder or file")
    with pytest.raises(PolicyError, match=r"policy\.json: cannot be read: No such file"):
        PolicyAgent(tmp_path, Rules.parse("practice-table"))
    (tmp_path / CARD_NAME).mkdir()
    with pytest.raises(PolicyError, match=r"cannot be read: Is a directory"):
        PolicyAgent(tmp_path, Rules.parse("practice-table"))
