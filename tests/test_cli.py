"""The command line: what it prints, and one clear line for everything it cannot use."""

import json
import subprocess
import sys
import types
from typing import Any

import pytest

from cuckoo_env import cli
from cuckoo_env.agents import BOTS, KINDS
from cuckoo_env.rules import PRESETS, Rules, RulesError


def cuckoo(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The exit status, the output and what went to standard error."""
    status = cli.main(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    status, out, _ = cuckoo(capsys, *arguments)
    assert status == 0
    return out


# -- Bad input ----------------------------------------------------------------------------------

EVALUATE = ("evaluate", "robin", "robin", "alex")
BAD = {
    "unknown command": (("play-chess",), "No such command 'play-chess'"),
    "unknown option": ((*EVALUATE, "--gamse", "5"), "No such option"),
    "unknown preset": (("rules", "bridge"), "rules: bridge is refused; accepted: a preset of"),
    "unknown rule": (("rules", "standard,colour=red"), "field: colour is refused; accepted"),
    "bad value": (("rules", "standard,king=red"), "king: red is refused; accepted: one of: blocks"),
    "no value": (("rules", "standard,king"), "rules: king is refused; accepted: field=value"),
    "combination": (("rules", "le-her,pairs=safe"), "ties: first is refused"),
    "too many seats": (("rules", "standard,seats=60,decks=1"), "seats: 60 is refused"),
    "seats of a preset": (("rules", "le-her,seats=3"), "seats: 3 is refused; accepted: 2 with"),
    "unknown agent": (("evaluate", "robin", "rob", "alex"), "agent: 'rob' is refused; accepted"),
    "bad threshold": (("evaluate", "threshold:14", "robin", "alex"), "from 0 to 13"),
    "too few agents": (("evaluate", "robin", "alex"), "agents: 2 are refused; accepted: 3"),
    "too many agents": ((*EVALUATE, "alex"), "agents: 4 are refused; accepted: 3"),
    "one agent": (("evaluate", "robin", "--rules", "standard"), "agents: 1 are refused"),
    "no agents": (("evaluate",), "Missing argument 'AGENT...'"),
    "no games": ((*EVALUATE, "--games", "0"), "games: 0 is refused; accepted"),
    "fewer than none": ((*EVALUATE, "--games", "-3"), "games: -3 is refused; accepted"),
    "half a game": ((*EVALUATE, "--games", "1.5"), "'--games'"),
    "bad seed": ((*EVALUATE, "--seed", "-1"), "'--seed'"),
    "dealer out of range": ((*EVALUATE, "--first-dealer", "3"), "first_dealer: 3 is refused"),
    "dealer by vote": ((*EVALUATE, "--first-dealer", "vote"), "first_dealer: vote is refused"),
    "short baseline": ((*EVALUATE, "--baseline", "robin"), "agents: 1 are refused; accepted: 3"),
    "best response of samples": ((*EVALUATE, "--best-response"), "only together with --exact"),
    "games of exact values": ((*EVALUATE, "--exact", "--games", "5"), "games: 5 is refused"),
    "seed of exact values": ((*EVALUATE, "--exact", "--seed", "0"), "seed: 0 is refused"),
    "exact dealer": ((*EVALUATE, "--exact", "--first-dealer", "3"), "first_dealer: 3 is refused"),
    "exact with too few": (("evaluate", "robin", "--exact"), "agents: 1 are refused"),
    "exact baseline": ((*EVALUATE, "--exact", "--baseline", "alex"), "agents: 1 are refused"),
    "too large": (("evaluate", *["robin"] * 9, "--rules", "cuckoo", "--exact"), "nodes a round"),
    "no such policy": (("evaluate", "policy:/no/such", "robin", "alex"), "/no/such"),
    "text with breaks": (("rules", "a\nb"), "rules: a b is refused"),
    "train without out": (("train",), "out: a folder is needed"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "expected"), BAD.values(), ids=BAD)
def test_bad_input_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    status, out, err = cuckoo(capsys, *arguments)
    assert status == cli.BAD_INPUT
    assert out == ""
    assert err.startswith("cuckoo: ")
    assert err.count("\n") == 1
    assert expected in err


def test_the_installed_command_says_the_same() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "cuckoo_env.cli", "rules", "bridge"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("cuckoo: rules: bridge is refused")
    assert run.stderr.count("\n") == 1


def test_training_without_its_libraries_names_the_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] == "torch" or name.startswith("cuckoo_env.train."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delattr("cuckoo_env.train.command", raising=False)
    for arguments in (("train", "--out", "x"), ("demo",)):
        status, _, err = cuckoo(capsys, *arguments)
        assert status == cli.BAD_INPUT
        assert "pip install 'cuckoo-env[train]'" in err
        assert err.count("\n") == 1


def test_a_missing_library_of_ours_is_a_bug_and_not_told_as_bad_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cuckoo_env.explain", None)
    monkeypatch.delattr("cuckoo_env.explain", raising=False)
    with pytest.raises(ImportError):
        cli.main(["rules", "standard"])


def test_an_interrupted_command_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(text: str) -> Rules:
        raise KeyboardInterrupt

    monkeypatch.setattr(Rules, "parse", interrupt)
    status, _, err = cuckoo(capsys, "rules", "standard")
    assert status == cli.INTERRUPTED
    assert err == "cuckoo: interrupted\n"


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    code = "import sys; from cuckoo_env.cli import main; sys.exit(main(['rules', '--json']))"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        assert run.stderr.read() == b""


# -- Help ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["rules", "evaluate", "train", "demo"])
def test_every_command_has_help_with_an_example_and_json(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    text = told(capsys, command, "--help")
    assert f"Example: cuckoo {command} " in text
    assert "--json" in text


def test_the_command_alone_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys) == told(capsys, "--help")
    assert "completion" not in told(capsys, "--help")


def test_help_loads_no_heavy_library() -> None:
    code = (
        "import sys; from cuckoo_env.cli import main; main(['--help']); main(['rules', '--json']);"
        "sys.exit(bool({'numba', 'torch', 'gymnasium', 'pettingzoo', 'numpy'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "--version").count(".") == 2


# -- Rules --------------------------------------------------------------------------------------


def test_all_presets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "rules").splitlines()
    for preset in PRESETS.values():
        assert any(line.startswith(preset.name) and preset.source in line for line in lines)


def test_the_list_for_machines_makes_the_same_rules(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(told(capsys, "rules", "--json"))
    assert {row["name"]: Rules(**row["fields"]) for row in rows} == {
        name: preset.rules() for name, preset in PRESETS.items()
    }


def test_any_rule_set_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(told(capsys, "rules", "chase-the-ace,queen=redirects,seats=5").split())
    assert "Rules: queens-redirect" not in text
    assert "Rules: chase-the-ace,seats=5,queen=redirects" in text
    assert "* queen redirects" in text
    assert "5 seats play." in text
    assert "- Where two seats are in, the other side is the same seat" in text


def test_the_explanation_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    told_fields = json.loads(told(capsys, "rules", "onesies,stake=2.5", "--json"))
    rules = Rules.parse("onesies,stake=2.5")
    assert Rules.parse(told_fields["rules"]) == rules
    assert told_fields["fields"] == rules.fields()
    assert told_fields["special"] == [
        "lives", "refusal", "penalty", "final_tie", "stake", "first_dealer"
    ]  # fmt: skip
    assert "refusal" in told_fields["sentences"]
    assert told_fields["together"]


# -- Evaluate -----------------------------------------------------------------------------------


def test_evaluate_tells_every_seat(capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, "evaluate", "robin", "naive", "alex", "--games", "3000", "--seed", "4")
    assert "3,000 games of practice-table, seed 4; first dealer: 2" in out
    assert "seat 1 (naive) against the average seat: lower win share: -0." in out


def test_evaluate_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (*EVALUATE, "--games", "500", "--seed", "4", "--json")
    result = json.loads(told(capsys, *arguments))
    assert result == json.loads(told(capsys, *arguments))
    assert (result["method"], result["games"], result["seed"]) == ("sampled", 500, 4)
    assert (result["rules"], result["first_dealer"]) == ("practice-table", "2")
    assert result["agents"] == ["robin", "robin", "alex"]
    assert result["truncated"] == 0
    assert sum(result["win_share"]) == pytest.approx(1)
    for name in ("win_share", "win_share_se", "payoff", "payoff_se", "verdicts"):
        assert len(result[name]) == 3
    assert "baseline" not in result


def test_evaluate_against_a_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (*EVALUATE, "--baseline", "naive,robin,alex", "--games", "4000")
    out = told(capsys, *arguments)
    assert "Baseline: naive, robin, alex, dealt the same cards." in out
    assert "seat 0 (robin here, naive in the baseline): higher win share: +0." in out
    result = json.loads(told(capsys, *arguments, "--json"))
    ours, theirs = result["win_share"], result["baseline"]["win_share"]
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    assert result["difference"]["win_share"] == pytest.approx(differences)
    assert len(result["verdicts"]) == 6


def test_what_a_single_game_cannot_tell_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    result = json.loads(told(capsys, *EVALUATE, "--games", "1", "--json"))
    assert result["win_share_se"] == [None, None, None]


@pytest.mark.parametrize(
    ("text", "agents", "expected"),
    [
        ("standard", 5, "standard,seats=5"),
        ("standard,lives=4", 2, "multiple-tokens,seats=2"),
        ("chase-the-ace,first_dealer=4", 5, "chase-the-ace,seats=5,first_dealer=4"),
        ("cuckoo", 10, "cuckoo,seats=10"),
        ("cuckoo", 2, "cuckoo"),
        ("standard, seats=4", 5, "standard,seats=4"),
        ("practice-table", 2, "practice-table"),
    ],
)
def test_the_table_has_a_seat_for_every_agent_if_the_rules_leave_it_open(
    text: str, agents: int, expected: str
) -> None:
    assert cli.rules_for(text, agents) == Rules.parse(expected)


def test_rules_for_refuses_what_rules_refuse() -> None:
    with pytest.raises(RulesError, match="rules: bridge"):
        cli.rules_for("bridge", 4)


@pytest.mark.parametrize("bot", BOTS)
def test_every_bot_can_be_evaluated(capsys: pytest.CaptureFixture[str], bot: str) -> None:
    result = json.loads(told(capsys, "evaluate", "robin", bot, "alex", "--games", "50", "--json"))
    assert result["agents"] == ["robin", bot, "alex"]
    assert result["method"] == "sampled"


def test_every_kind_of_agent_is_named_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(told(capsys, "evaluate", "--help").split())  # lines may break at a hyphen
    for kind in KINDS.values():
        assert kind.form in text


# -- Evaluate, exactly --------------------------------------------------------------------------


def exact(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(told(capsys, "evaluate", *arguments, "--exact", "--json"))
    return fields


def test_exact_values_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    values = exact(capsys, "robin", "robin", "alex")
    assert (values["method"], values["rules"]) == ("exact", "practice-table")
    assert values["agents"] == ["robin", "robin", "alex"]
    assert values["first_dealer"] == "2"
    assert (values["truncated"], values["undecided"]) == (0, 0)
    assert sum(values["win_share"]) == pytest.approx(1)
    assert sum(values["payoff"]) == pytest.approx(0)
    for name in ("payoff_reason", "best_response", "gain", "nash_conv", "baseline", "games"):
        assert name not in values


def test_exact_best_responses_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    values = exact(capsys, "robin", "robin", "alex", "--best-response")
    gains = [
        best - now for best, now in zip(values["best_response"], values["win_share"], strict=True)
    ]
    assert values["gain"] == pytest.approx(gains)
    assert values["nash_conv"] == pytest.approx(sum(gains))
    assert min(gains) > 0


def test_all_dealers_are_averaged(capsys: pytest.CaptureFixture[str]) -> None:
    by_dealer = [
        exact(capsys, "robin", "naive", "alex", "--first-dealer", str(seat))["win_share"]
        for seat in range(3)
    ]
    values = exact(capsys, "robin", "naive", "alex", "--first-dealer", "all")
    assert values["first_dealer"] == "all"
    averages = [sum(shares) / 3 for shares in zip(*by_dealer, strict=True)]
    assert values["win_share"] == pytest.approx(averages)
    assert by_dealer[0] != by_dealer[1]
    by_lot = exact(capsys, "robin", "naive", "alex", "--first-dealer", "lot")
    assert by_lot["win_share"] == values["win_share"]
    assert by_lot["first_dealer"] == "lot"


def test_an_exact_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    values = exact(capsys, "robin", "robin", "alex", "--baseline", "naive,robin,alex")
    assert values["baseline"]["agents"] == ["naive", "robin", "alex"]
    for name in ("win_share", "payoff"):
        differences = [a - b for a, b in zip(values[name], values["baseline"][name], strict=True)]
        assert values["difference"][name] == pytest.approx(differences)


def test_payoffs_without_a_limit_are_null_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("robin", "alex", "--rules", "chase-the-ace,final_tie=carry_stake")
    values = exact(capsys, *arguments, "--baseline", "alex,alex")
    assert values["payoff"] is None
    assert "max_rounds" in values["payoff_reason"]
    assert values["difference"]["payoff"] is None
    assert sum(values["win_share"]) == pytest.approx(1)
    out = told(capsys, "evaluate", *arguments, "--exact")
    assert "No payoffs: final_tie=carry_stake without max_rounds" in out


def test_games_that_nobody_wins(capsys: pytest.CaptureFixture[str]) -> None:
    one_round = exact(capsys, "naive", "naive", "--rules", "one-round")
    assert one_round["truncated"] == 0
    assert one_round["undecided"] == pytest.approx(1 / 17)
    limited = exact(capsys, "naive", "naive", "--rules", "chase-the-ace,max_rounds=1")
    assert limited["undecided"] == 0
    assert limited["truncated"] == pytest.approx(1)


def test_exact_values_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    plain = told(capsys, "evaluate", "robin", "robin", "alex", "--exact")
    assert "Exact values of practice-table; first dealer: 2." in plain
    assert "best response" not in plain
    assert "NashConv" not in plain
    out = told(capsys, *EVALUATE, "--exact", "--best-response", "--baseline", "naive,robin,alex")
    values = exact(capsys, "robin", "robin", "alex", "--best-response")
    for seat, agent in enumerate(values["agents"]):
        row = next(line for line in out.splitlines() if line.startswith(f"{seat} "))
        assert row.split()[:2] == [str(seat), agent]
        for name in ("win_share", "best_response", "gain"):
            assert f"{values[name][seat]:.6f}" in row
    assert f"NashConv {values['nash_conv']:.6f}" in out
    assert "Baseline: naive, robin, alex." in out


# -- Train and demo -----------------------------------------------------------------------------


def test_train_and_demo_hand_their_options_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: dict[str, object] = {}

    def listen(*names: object, **options: object) -> int:
        heard.clear()
        heard.update(options, names=names)
        return 5

    fake = types.ModuleType("cuckoo_env.train.command")
    fake.train = fake.resume = fake.demo = listen  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cuckoo_env.train.command", fake)
    monkeypatch.setattr("cuckoo_env.train.command", fake, raising=False)
    words = (
        "--rules standard --seat all --against alex --steps 7 --seed 2 --out y --games 64 --force"
        " --hidden 8,8 --shaping lives --target 0.9 --device auto --checkpoint-minutes 2"
        " --set clip=0.1 --set epochs=4 --seeds 1,2 --algorithm other --self-play --seats 2-4"
    )
    assert cli.main(["train", *words.split()]) == 5
    assert heard == {
        "names": (), "out": "y", "algorithm": "other", "seeds": "1,2", "force": True,
        "settings": ["clip=0.1", "epochs=4"], "as_json": False, "self_play": True,
        "given": {
            "rules": "standard", "seats": "2-4", "seat": "all", "against": "alex", "steps": 7, "seed": 2,
            "games": 64, "hidden": "8,8", "shaping": "lives", "target": 0.9, "device": "auto",
            "checkpoint_minutes": 2.0,
        },
    }  # fmt: skip
    assert cli.main(["train", "--out", "y", "--json"]) == 5
    assert heard == {
        "names": (), "out": "y", "algorithm": None, "seeds": None, "force": False,
        "settings": (), "as_json": True, "given": {}, "self_play": False,
    }  # fmt: skip
    assert cli.main(["train", "--resume", "y", "--json"]) == 5
    assert heard == {"names": ("y",), "as_json": True}
    heard.clear()
    for words in ("--resume y --seed 0", "--resume y --force", ""):
        assert cli.main(["train", *words.split()]) == cli.BAD_INPUT
        assert not heard
    assert "out: a folder is needed" in capsys.readouterr().err
    assert cli.main(["demo", "--minutes", "0.5", "--json"]) == 5
    assert heard == {
        "names": (), "out": "runs/demo", "minutes": 0.5, "seed": 0, "as_json": True,
    }  # fmt: skip
