"""Policy files: what is written is what is read, and nothing else is believed."""

from __future__ import annotations

import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from policies import EVERYTHING, generalist, random_policy

from cuckoo_env.agents import KINDS, AgentError, parse, specs
from cuckoo_env.agents.policy import (
    CARD_NAME,
    FORMAT,
    SHIPPED,
    WEIGHTS_NAME,
    Covers,
    Policy,
    PolicyAgent,
    PolicyError,
    shipped,
)
from cuckoo_env.batch import Batch
from cuckoo_env.observation import LAYOUT_VERSION, Layout
from cuckoo_env.rules import Rules


def situations(rules, n=256):
    batch = Batch(rules, n, seed=3)
    return batch.observations.copy(), batch.masks.copy(), batch.layout


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", [(), (16,), (16, 8, 4)])
@pytest.mark.parametrize("rules", ["practice-table", "onesies,seats=5", "open-kings"])
def test_a_policy_that_was_written_plays_the_same_when_read(tmp_path, rules, hidden, activation):
    policy = random_policy(rules, hidden=hidden, activation=activation)
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
    policy = random_policy(
        "open-kings", activation="tanh" if activation is np.tanh else "relu", scale=3.0
    )
    seen, masks, layout = situations("open-kings", 4096)
    chances = PolicyAgent.of(policy, "x").probabilities(seen, masks, layout)
    w = {name: tensor.astype(np.float64) for name, tensor in policy.weights.items()}
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
    policy = random_policy(scale=1e6)
    chances = PolicyAgent.of(policy, "x").probabilities(*situations("practice-table"))
    assert np.isfinite(chances).all()


def test_asking_it_changes_nothing():
    policy, (seen, masks, layout) = random_policy(), situations("practice-table")
    copies = seen.copy(), masks.copy(), {k: t.copy() for k, t in policy.weights.items()}
    agent = PolicyAgent.of(policy, "x")
    first = agent.probabilities(seen, masks, layout)
    seen.flags.writeable = masks.flags.writeable = False
    np.testing.assert_array_equal(agent.probabilities(seen, masks, layout), first)
    np.testing.assert_array_equal(seen, copies[0])
    np.testing.assert_array_equal(masks, copies[1])
    assert all((policy.weights[k] == copies[2][k]).all() for k in policy.weights)


# -- What is refused ----------------------------------------------------------------------------


def refused(path, match, rules="practice-table"):
    """The path is refused with one line that names it."""
    with pytest.raises(AgentError, match=match) as caught:
        PolicyAgent(path, Rules.parse(rules))
    message = str(caught.value)
    assert message.isprintable()
    assert str(path) in message
    assert len(message) < 1000
    return message


@pytest.fixture
def folder(tmp_path):
    random_policy().save(tmp_path)
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


def test_numbers_of_another_size_than_the_layout_says_are_refused():
    seen, masks, _ = situations("practice-table")
    agent = PolicyAgent.of(random_policy(), "x")
    for wrong in (Layout(max_seats=5, n_actions=2), Layout(max_seats=2, n_actions=2)):
        with pytest.raises(PolicyError, match=f"x: cannot read .*max_seats={wrong.max_seats}"):
            agent.probabilities(seen, masks, wrong)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"format": "cuckoo-policy/1"}, f"not a card of format {FORMAT}"),
        ({"format": ...}, "not a card of format"),
        ({"layout_version": LAYOUT_VERSION + 1}, f"layout {LAYOUT_VERSION + 1}; this version has"),
        ({"layout_version": ...}, "layout None"),
        ({"layout_version": "9" * 10**6}, "layout '999"),
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
        ({"covers": ...}, "covers: None is refused; accepted: a dict"),
        ({"covers": []}, "covers: .* is refused"),
        ({"covers": {"presets": ["cuckoo"]}}, "seats: None is refused"),
        ({"covers": {"presets": "cuckoo", "seats": [3, 3]}}, "presets: 'cuckoo' is refused"),
        ({"covers": {"presets": [], "seats": [3, 3]}}, "covers: .* is refused"),
        ({"covers": {"presets": [["cuckoo"]], "seats": [3, 3]}}, "covers: .* is refused"),
        ({"covers": {"presets": ["whist"], "seats": [3, 3]}}, "covers: 'whist' is refused"),
        ({"covers": {"presets": ["cuckoo"] * 2, "seats": [3, 3]}}, "covers: .* is refused"),
        ({"covers": {"presets": ["cuckoo"], "seats": [3]}}, "covers: .* is refused"),
        ({"covers": {"presets": ["cuckoo"], "seats": [3, True]}}, "covers: .* is refused"),
        ({"covers": {"presets": ["cuckoo"], "seats": [3, 10**80]}}, "a huge number seats are"),
        ({"covers": {"presets": ["cuckoo"], "seats": [4, 3]}}, "covers: 4 to 3 seats are refused"),
        ({"covers": {"presets": ["cuckoo"], "seats": [3, 4]}}, "max_seats: 3 is refused"),
        ({"covers": {"presets": ["cuckoo"], "seats": [3, 3]}}, "rules: practice-table is refused"),
        (
            {"covers": {"presets": ["practice-table", "onesies"], "seats": [3, 3]}},
            "n_actions: 2 is refused; accepted: 5",
        ),
        ({"rules": "standard,\x1b[2J\n=4"}, "its rules cannot be played"),
        ({"rules": "standard,lives=" + "4" * 10**5}, "its rules cannot be played"),
        ({"rules": "standard," * 10**5}, "its rules cannot be played"),
        ({"activation": "\ud800"}, "activation: .* is refused"),
        ({"hidden": [16, 9]}, "its tensors are"),
        ({"max_seats": 4}, "its tensors are"),
    ],
)  # fmt: skip
def test_a_card_that_is_wrong_is_refused(folder, changes, match):
    change_card(folder, **changes)
    refused(folder, match)


# -- Which tables it plays at -------------------------------------------------------------------


def test_a_generalist_sits_at_what_it_covers_and_nowhere_else(tmp_path):
    covers = Covers(presets=("cuckoo", "onesies", "le-her"), fewest=2, most=8)
    generalist(covers).save(tmp_path)
    assert Policy.load(tmp_path).card.covers == covers
    for text in ("cuckoo,seats=8", "onesies,seats=2,stake=3", "onesies,direction=right", "le-her"):
        assert parse(f"policy:{tmp_path}", Rules.parse(text)).rules == Rules.parse(text)
    for text in ("cuckoo,seats=9", "standard", "onesies,lives=4", "le-her,max_rounds=3"):
        message = refused(tmp_path, "covers cuckoo, onesies, le-her with 2 to 8 seats, not", text)
        assert message.endswith(str(Rules.parse(text)))


def test_what_is_covered_can_be_listed():
    tables = list(EVERYTHING.tables())
    assert len(set(map(str, tables))) > 150
    assert {rules.seats for rules in tables} == set(range(2, 11))
    assert all(map(EVERYTHING.includes, tables))
    assert str(EVERYTHING) == "every preset with 2 to 10 seats"
    least = Covers(presets=("le-her",), fewest=2, most=2)
    assert [str(rules) for rules in least.tables()] == ["le-her"]
    assert sum(map(least.includes, tables)) == 1


def test_a_generalist_in_memory_is_held_to_what_it_covers_too():
    few = Covers(presets=("cuckoo",), fewest=3, most=5)
    with pytest.raises(PolicyError, match="agent: x is refused: covers cuckoo with 3 to 5 seats"):
        PolicyAgent.of(generalist(few), "x", Rules.parse("cuckoo,seats=6"))
    untold = PolicyAgent.of(generalist(few), "x")
    rules = Rules.parse("cuckoo,seats=5")
    wide = Batch(rules, 64, seed=1, max_seats=10, with_rules=True, n_actions=5)
    chances = untold.probabilities(wide.observations, wide.masks, wide.layout)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    with pytest.raises(PolicyError, match="unless told the table's rules"):
        untold.probabilities(*situations("cuckoo,seats=5"))


# -- Policies that come with the package --------------------------------------------------------


def test_every_folder_with_a_card_is_a_spec(tmp_path, monkeypatch):
    assert shipped(tmp_path / "nowhere") == ()
    (tmp_path / "empty").mkdir()
    for name in ("wise", "able"):
        (tmp_path / name).mkdir()
        random_policy().save(tmp_path / name)
    assert shipped(tmp_path) == ("able", "wise")
    rules = Rules.parse("practice-table")
    with pytest.raises(AgentError, match="agent: 'wise' is refused; accepted: random, naive"):
        parse("wise", rules)
    monkeypatch.setattr(specs, "KINDS", {**KINDS, **specs.shipped_kinds(tmp_path)})
    assert parse(" wise ", rules).name == "wise"
    with pytest.raises(AgentError, match="agent: wise is refused: trained for practice-table, not"):
        parse("wise", Rules.parse("four-lives"))
    (tmp_path / "able" / WEIGHTS_NAME).unlink()
    with pytest.raises(AgentError, match=r"able/policy\.safetensors: cannot be read: No such"):
        parse("able", rules)


def test_what_is_shipped_loads_and_says_how_it_was_made():
    assert set(shipped(SHIPPED)) <= set(KINDS)
    for name in shipped(SHIPPED):
        policy = Policy.load(SHIPPED / name)
        assert str(policy.card.training["command"]).startswith("cuckoo train")
        tables = [policy.card.rules] if policy.card.covers is None else policy.card.covers.tables()
        for rules in tables:
            chances = parse(name, rules).probabilities(*situations(rules, 16))
            np.testing.assert_allclose(chances.sum(axis=1), 1)


BLOCKED = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "stable_baselines3", "sb3_contrib", "onnx"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
from cuckoo_env import cli
sys.exit(cli.main(sys.argv[1:]))
"""


def test_policies_play_without_the_libraries_they_were_trained_with(folder):
    def run(*arguments):
        command = [sys.executable, "-c", BLOCKED, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    played = run("evaluate", f"policy:{folder}", "robin", "alex", "--games", 50, "--json")
    assert played.returncode == 0, played.stderr
    assert json.loads(played.stdout)["agents"] == [f"policy:{folder}", "robin", "alex"]
    # The block works, and says what to install.
    exported = run("export", folder, "--onnx", folder / "x.onnx")
    assert exported.returncode == 2
    assert exported.stderr == "cuckoo: onnx is missing; install: pip install 'cuckoo-env[onnx]'\n"


# -- Files that were made to do harm ------------------------------------------------------------


class Trap:
    """Unpickling it would leave a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@contextmanager
def trap(folder):
    """A pickle that must not be unpickled in the block, and that would have been noticed."""
    sprung = folder / "sprung"
    data = pickle.dumps({"0.weight": Trap(sprung)})
    yield data
    assert not sprung.exists()
    pickle.loads(data)["0.weight"].close()
    assert sprung.exists()


def archive(path, data, name="archive/data.pkl"):
    """A zip file as torch and stable-baselines3 write them."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(name, data)
        file.writestr("archive/version", "3\n")


def weights_file(header, numbers=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + numbers


@pytest.mark.parametrize("name", [CARD_NAME, WEIGHTS_NAME])
def test_a_pickle_is_refused_and_never_run(folder, name):
    with trap(folder) as data:
        (folder / name).write_bytes(data)
        refused(folder, "damaged, or no")
        archive(folder / name, data)
        refused(folder, "damaged, or no")
        np.save(folder / "array.npy", np.array([data], object), allow_pickle=True)
        (folder / "array.npy").replace(folder / name)
        refused(folder, "damaged, or no")
        # A pickle that is text as well, and so might pass for a card.
        (folder / name).write_bytes(pickle.dumps(Trap(folder / "sprung"), protocol=0))
        refused(folder, "damaged, or no")


def test_a_pickle_beside_or_inside_a_sound_policy_is_never_run(folder):
    with trap(folder) as data:
        for name in ("policy.pkl", "policy.pt", "policy.npz", "model.pkl", "data.pkl", "policy"):
            (folder / name).write_bytes(data)
        archive(folder / "policy.zip", data)
        text = data.decode("latin-1")
        change_card(folder, training={"__reduce__": text, "py/object": "os.system"}, pickle=text)
        tensors = safetensors.numpy.load((folder / WEIGHTS_NAME).read_bytes())
        whole = safetensors.numpy.save(tensors, {"pickle": text, "__reduce__": text})
        (folder / WEIGHTS_NAME).write_bytes(whole)
        agent = parse(f"policy:{folder}", Rules.parse("practice-table"))
        assert agent.policy.card.training["__reduce__"] == text
        tensors["0.bias"] = np.resize(np.frombuffer(data, np.uint8), 16)
        (folder / WEIGHTS_NAME).write_bytes(safetensors.numpy.save(tensors))
        refused(folder, r"0\.bias is uint8; accepted: float32")


def test_a_table_with_a_pickle_in_it_is_refused_and_the_pickle_never_run(tmp_path, monkeypatch):
    path, rules = tmp_path / "table.npz", Rules.parse("le-her")
    with trap(tmp_path) as data:
        objects = np.array([Trap(tmp_path / "sprung")], object)
        for name in ("header", "keys", "chances"):
            sound = {"header": np.frombuffer(b"{}", np.uint8), "keys": np.zeros(1), "chances": 1}
            np.savez(path, **{**sound, name: objects})
            with pytest.raises(AgentError, match="is refused"):
                parse(f"table:{path}", rules)
        archive(path, data)
        with pytest.raises(AgentError, match="is refused"):
            parse(f"table:{path}", rules)
        path.write_bytes(data)
        with pytest.raises(AgentError, match="is refused"):
            parse(f"table:{path}", rules)


@pytest.mark.parametrize("name", [CARD_NAME, WEIGHTS_NAME])
def test_a_file_cut_short_anywhere_is_refused(folder, name):
    whole = (folder / name).read_bytes()
    for length in [*range(0, min(len(whole) - 2, 400), 7), len(whole) // 2, len(whole) - 2]:
        (folder / name).write_bytes(whole[:length])
        refused(folder, "damaged, or no")


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(folder, number):
    policy = random_policy()
    policy.weights["1.bias"][2] = number
    policy.save(folder)
    refused(folder, r"1\.bias has numbers that are not finite")
    with pytest.raises(ValueError, match=r"1\.bias has numbers that are not finite"):
        Policy(card=policy.card, weights=policy.weights)


def test_a_network_whose_outputs_overflow_is_refused_when_it_plays(folder):
    random_policy(scale=1e30).save(folder)
    agent = parse(f"policy:{folder}", Rules.parse("practice-table"))
    with pytest.raises(PolicyError, match="its network gives numbers that are not finite"):
        agent.probabilities(*situations("practice-table"))


def test_other_tensors_are_refused(folder):
    weights = dict(random_policy().weights)
    for changed, match in [
        ({**weights, "extra": np.zeros(1, np.float32)}, r"'extra' is \(1,\); accepted: None"),
        ({**weights, "\x1b[2J" * 99: np.zeros(1, np.float32)}, "its tensors are not the card's"),
        ({k: t for k, t in weights.items() if k != "0.bias"}, "'0.bias' is None; accepted"),
        ({**weights, "0.bias": np.zeros((1, 16), np.float32)}, r"'0.bias' is \(1, 16\); accepted"),
        ({k: t.astype(np.float16) for k, t in weights.items()}, "is float16; accepted: float32"),
        ({k: t.astype(np.float64) for k, t in weights.items()}, "is float64; accepted: float32"),
        ({k: t.view(np.int32) for k, t in weights.items()}, "is int32; accepted: float32"),
        ({}, "its tensors are not the card's"),
    ]:
        (folder / WEIGHTS_NAME).write_bytes(safetensors.numpy.save(changed))
        refused(folder, match)


def test_a_header_that_lies_is_refused(folder):
    path = folder / WEIGHTS_NAME
    whole = path.read_bytes()
    for length in (2**63, 2**40, 10**6, 0):
        path.write_bytes(struct.pack("<Q", length) + whole[8:])
        refused(folder, "damaged, or no safetensors file")
    for shape, start, stop in [
        ([2**62, 4], 0, 16),
        ([2**63], 0, 8),
        ([10**30], 0, 8),
        ([-4], 0, 16),
        ([4.0], 0, 16),
        ([4], 0, 15),
        ([4], 16, 0),
        ([4], 0, 2**62),
        ([1] * 200, 0, 4),
        ([0, 2**62, 2**62], 0, 0),
        ([0, 2**40], 0, 0),
    ]:
        tensor = {"dtype": "F32", "shape": shape, "data_offsets": [start, stop]}
        path.write_bytes(weights_file({"0.weight": tensor}, bytes(16)))
        refused(folder, "damaged, or no safetensors file|its tensors are not the card's")
    for kind in ("F8_E4M3", "BF16", "F4", "O", "object", "\x1b[31m"):
        tensor = {"dtype": kind, "shape": [4], "data_offsets": [0, 8]}
        path.write_bytes(weights_file({"0.weight": tensor}, bytes(8)))
        refused(folder, "damaged, or no safetensors file|a tensor is .*; accepted: float32")
    for header in (b"[" * 50_000, b"{" * 50_000, b"\xff\xfe", b'{"a": NaN}', b"null", b"{}" * 9):
        path.write_bytes(weights_file(header))
        refused(folder, "damaged, or no safetensors file|its tensors are not the card's")


@pytest.mark.parametrize("name", [CARD_NAME, WEIGHTS_NAME])
def test_files_too_large_to_be_right_are_not_read(folder, name):
    with (folder / name).open("r+b") as file:
        file.truncate(2**40)  # a hole: a terabyte that takes no room
    refused(folder, "is larger than")
    (folder / name).write_bytes(weights_file(b"{" + b" " * 5_000_000 + b"}"))
    refused(folder, "is larger than")


def test_archives_that_unpack_to_more_than_they_should_are_not_unpacked(folder, monkeypatch):
    bomb = folder / "bomb.npz"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("keys.npy", bytes(2_000_000))
    assert bomb.stat().st_size < 10_000
    monkeypatch.setattr("cuckoo_env.agents.table._LARGEST", 1_000_000)
    with pytest.raises(AgentError, match="more than 1,000,000 bytes when unpacked"):
        parse(f"table:{bomb}", Rules.parse("le-her"))
    bomb.replace(folder / WEIGHTS_NAME)
    refused(folder, "damaged, or no safetensors file")


def test_text_that_is_no_card_is_refused(folder):
    sound = (folder / CARD_NAME).read_text()
    for data in (
        b"[" * 100_000,
        b'{"training": ' * 50_000,
        b'{"format": ' + b"9" * 10_000 + b"}",
        b"null",
        b"[]",
        b"\xff\x00",
        b"",
        sound.encode("utf-16"),
        sound.encode("utf-8-sig"),
        sound.replace("practice-table", "pra\u00e7tice-table").encode("latin-1"),
        json.dumps({"format": "x" * 10**6}).encode(),
    ):
        (folder / CARD_NAME).write_bytes(data)
        refused(folder, f"it is not a card of format {FORMAT}|it is damaged, or no JSON|digits")


def test_what_is_not_there_is_refused(tmp_path):
    refused(tmp_path / "nowhere", "no such folder or file")
    refused(tmp_path, r"policy\.json: cannot be read: No such file")
    (tmp_path / CARD_NAME).mkdir()
    refused(tmp_path, "cannot be read: Is a directory")


LOADS = """
import sys
from cuckoo_env.agents import AgentError, parse
from cuckoo_env.rules import Rules

for spec in sys.argv[1:]:
    try:
        parse(spec, Rules.parse("practice-table"))
    except AgentError as error:
        print(error)
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_and_devices_are_refused_without_waiting(tmp_path):
    pipe, specs = tmp_path / "pipe", []
    os.mkfifo(pipe)
    for name in (CARD_NAME, WEIGHTS_NAME):
        for number, target in enumerate([pipe, Path("/dev/zero"), Path("/dev/random"), tmp_path]):
            folder = tmp_path / f"{name}-{number}"
            folder.mkdir()
            random_policy().save(folder)
            (folder / name).unlink()
            (folder / name).symlink_to(target)
            specs.append(f"policy:{folder}")
    circle = tmp_path / "circle.json"
    circle.symlink_to(circle)
    specs += [f"policy:{circle}", f"table:{pipe}", "table:/dev/zero", f"table:{circle}"]
    # In a process of its own, which can be given up: what waits for a pipe cannot be interrupted.
    command = [sys.executable, "-c", LOADS, *specs]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    lines = run.stdout.splitlines()
    assert len(lines) == len(specs)
    for line, spec in zip(lines, specs, strict=True):
        assert spec.partition(":")[2] in line
        assert "cannot be read: " in line
    assert run.stdout.count("it is no regular file") == 8


# -- Damage at random ---------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["practice-table", "cuckoo", "relu", FORMAT, 2, 3, 10**30]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
KEYS = list(random_policy().card.as_json())


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A folder whose files the tests below replace, and what is in them."""
    folder = tmp_path_factory.mktemp("sound")
    generalist().save(folder)
    return folder, {name: (folder / name).read_bytes() for name in (CARD_NAME, WEIGHTS_NAME)}


def refused_or_sound(folder, **changed):
    """Load a policy with some files changed: a refusal in one line, or a policy that plays."""
    for name, data in changed.items():
        (folder / name).write_bytes(data)
    try:
        policy = Policy.load(folder)
    except PolicyError as error:
        told = str(error)
    else:
        plays(policy)
        return
    assert told.isprintable()
    assert len(told) < 1000


def plays(policy):
    assert {k: t.shape for k, t in policy.weights.items()} == policy.card.shapes()
    assert all(t.dtype == np.float32 and np.isfinite(t).all() for t in policy.weights.values())
    rules = policy.card.rules
    chances = PolicyAgent.of(policy, "x", rules).probabilities(*situations(rules, 16))
    np.testing.assert_allclose(chances.sum(axis=1), 1)


@given(
    name=st.sampled_from([CARD_NAME, WEIGHTS_NAME]),
    at=st.integers(0, 1200),
    gone=st.integers(0, 40),
    new=st.binary(max_size=40),
)
def test_bytes_that_were_changed_anywhere_do_no_harm(sound, name, at, gone, new):
    folder, files = sound
    whole = files[name]
    changed = whole[:at] + new + whole[at + gone :]
    refused_or_sound(folder, **{**files, name: changed})


@given(changes=st.dictionaries(st.sampled_from(KEYS), JSON, min_size=1, max_size=3))
def test_a_card_with_any_values_does_no_harm(sound, changes):
    folder, files = sound
    values = {**json.loads(files[CARD_NAME]), **changes}
    refused_or_sound(folder, **{**files, CARD_NAME: json.dumps(values).encode()})


@given(
    header=st.dictionaries(
        st.sampled_from(["0.weight", "0.bias", "2.bias", "__metadata__"]) | st.text(max_size=9),
        JSON
        | st.fixed_dictionaries(
            {
                "dtype": st.sampled_from(["F32", "F64", "I64", "BOOL", "C64", "F8_E5M2", "U8"]),
                "shape": st.lists(st.integers(0, 2**64), max_size=4),
                "data_offsets": st.lists(st.integers(0, 2**64), min_size=2, max_size=2),
            }
        ),
        max_size=4,
    ),
    numbers=st.binary(max_size=64),
)
def test_a_weights_file_with_any_header_does_no_harm(sound, header, numbers):
    folder, files = sound
    refused_or_sound(folder, **{**files, WEIGHTS_NAME: weights_file(header, numbers)})


@given(data=st.binary(max_size=200))
def test_any_bytes_do_no_harm(sound, data):
    folder, files = sound
    for name in files:
        refused_or_sound(folder, **{**files, name: data})


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """A file for damaged tables, and a sound one."""
    (sound,) = (Path(specs.__file__).parent / "tables").glob("le-her.npz")
    return tmp_path_factory.mktemp("solved") / "table.npz", sound.read_bytes()


@given(at=st.integers(0, 10_000), gone=st.integers(0, 40), new=st.binary(max_size=40))
def test_a_table_that_was_changed_anywhere_does_no_harm(solved, at, gone, new):
    path, whole = solved
    at %= len(whole)
    path.write_bytes(whole[:at] + new + whole[at + gone :])
    try:
        parse(f"table:{path}", Rules.parse("le-her"))
    except AgentError as error:
        told = str(error)
    else:
        return
    assert told.isprintable()
