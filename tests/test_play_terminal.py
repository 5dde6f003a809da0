"""The practice table in a terminal."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pytest
from rich.console import Console

from cuckoo_env import cli
from cuckoo_env.explain import sentences
from cuckoo_env.play import coach
from cuckoo_env.play.opponents import read
from cuckoo_env.play.table import Table, TableSettings
from cuckoo_env.play.terminal import ACTIONS, NO_ADVICE, Terminal
from cuckoo_env.rules import Rules

ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Typist:
    """Types given lines, and then whatever leads on, until the game is over."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self.lines = iter(lines)
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        line = next(self.lines, None)
        if line is not None:
            return line
        if prompt.startswith("Play again"):
            raise EOFError
        choices = re.search(r": ([\w ]+)\?", prompt)
        return choices[1].split()[0] if choices else ""


def played(
    rules: str = "practice-table", typist: Typist | None = None, **settings: Any
) -> tuple[str, Typist]:
    """What was printed, and who typed."""
    parsed = Rules.parse(rules)
    against = read(",".join(["robin", "alex"][: parsed.seats - 1]), parsed, 0)
    options = {"coach": False, "seed": 2, **settings}
    seat = Table(TableSettings(rules=parsed, opponents=against, **options))
    out, who = io.StringIO(), typist or Typist()
    Terminal(seat, Console(file=out, width=100, emoji=False, highlight=False), who).play()
    return out.getvalue(), who


@pytest.mark.parametrize("rules", ["practice-table", "onesies,seats=4", "jack-rule", "le-her"])
def test_a_game_is_played_to_its_end(rules: str) -> None:
    told, who = played(rules)
    assert "A new round: " in told
    assert re.search(r"\w+ wins?\.", told)
    assert who.prompts[-1] == "Play again (Enter), replay or quit? "
    assert "\x1b" not in told
    assert "Win shares" not in told


def test_hidden_cards_are_question_marks() -> None:
    told, who = played(typist=Typist(["quit"]))
    table = told[told.index("seat") :]
    assert re.search(r"You \(you\) +●●● +\S+ +to act", table)
    assert re.search(r"Robin +●●● +\?", table)
    assert re.search(r"Alex +●●● +\? +dealer", table)
    assert re.fullmatch(r"You hold \S+: keep or swap with Robin\? \(help, quit\) ", who.prompts[0])


def test_help_teaches_the_choices_and_the_rules() -> None:
    told, _ = played(typist=Typist(["?", "rules", "quit"]))
    assert f"keep: {ACTIONS['keep']}" in told
    assert f"swap: {ACTIONS['swap']}" in told
    assert ACTIONS["pay"] not in told
    told_of_rules = told[told.index("practice table") :]
    rules = Rules.parse("practice-table")
    said = {**sentences(rules), "first_dealer": "Alex deals first."}
    stake = said.pop("stake")
    for sentence in said.values():
        assert f"- {sentence}" in told_of_rules
    assert stake not in told


@pytest.mark.parametrize(
    ("rules", "pot"), [("cuckoo,stake=2,seats=3", "The pot: 6"), ("one-round", None)]
)
def test_stakes_are_told_where_they_are_played_for(rules: str, pot: str | None) -> None:
    told, _ = played(rules, Typist(["rules"]))
    assert ("The pot: " in told) is (pot is not None)
    assert pot is None or pot in told
    assert f"- {sentences(Rules.parse(rules))['stake']}" in told
    (payoffs,) = re.findall(r"Payoffs: You (\S+), Robin (\S+), Alex (\S+)", told)
    assert sum(map(float, payoffs)) == pytest.approx(0)


def test_nothing_is_told_of_stakes_where_nobody_plays_for_them() -> None:
    for rules in ("practice-table", "cuckoo", "chase-the-ace,final_tie=carry"):
        told, _ = played(rules, Typist(["help", "rules"]))
        assert not re.search(r"\b(pot|stakes?|payoffs?)\b", told, re.IGNORECASE)


def test_response_turns_say_what_they_mean() -> None:
    for seed in range(20):
        told, who = played("onesies,seats=4", Typist(["keep", "help", "pay", "quit"]), seed=seed)
        if "accept" in who.prompts[1]:
            assert re.fullmatch(r"You hold \S+: accept (or show )?or pay\? .*", who.prompts[1])
            assert f"accept: {ACTIONS['accept']}" in told
            assert f"pay: {ACTIONS['pay']}" in told
            assert "You pay a life to refuse." in told
            return
    pytest.fail("nobody was asked")


def test_help_says_what_is_special() -> None:
    told, _ = played("queen-rule", Typist(["help", "quit"]))
    assert "What is special about these rules:" in told
    assert f"  {sentences(Rules.parse('queen-rule'))['queen']}" in told


def test_what_is_not_understood_is_asked_again() -> None:
    told, who = played(typist=Typist(["", "x", "pay", "r", "sw", "quit"]))
    assert told.count("Please type one of: keep, swap, coach, rules, help, quit.") == 3
    assert "You ask Robin to swap." in told
    assert len(who.prompts) == 6


def test_the_coach_speaks_and_is_silenced() -> None:
    told, _ = played(typist=Typist(["keep", "coach", "keep", "quit"]), coach=True)
    (said,) = re.findall(r"Coach: .*", told)
    shares = r"Win shares: keep \d+\.\d%, swap \d+\.\d% \(exact\)\."
    assert re.match(
        rf"Coach: keep, (well chosen|swap was better by \d+\.\d points)\. {shares} \w", said
    )
    assert "The coach is silent." in told


def test_sampled_advice_says_how_one_is_taken_to_go_on() -> None:
    told, _ = played("standard,seats=6", Typist(["keep", "quit"]), coach=True)
    plain = " ".join(told.split())
    assert re.search(r"\(sampled, ± \d\.\d points, if you then play on as Robin does\)", plain)


def test_a_decision_without_advice_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise coach.ImpossibleError("no deal fits")

    monkeypatch.setattr(coach.Coach, "advise", fail)
    told, _ = played(typist=Typist(["keep", "quit"]), coach=True)
    assert told.count(f"Coach: {NO_ADVICE}") == 1


def test_the_costliest_decisions_come_last() -> None:
    told, _ = played(coach=True, seed=3)
    assert told.rindex("Your costliest decisions:") > told.rindex("wins.")
    assert 1 <= told.count("\n- Round ") <= 3
    (judged, decisions) = re.findall(r"The coach judged (\d+) of (\d+) decisions", told)[0]
    assert judged == decisions == str(told.count("\nCoach: "))


def test_the_last_screen_shows_everybodys_lives() -> None:
    told, _ = played(seed=3)
    last = told[told.rindex("wins.") :]
    assert re.search(r"\w+ +●[●○]{2} ", last)
    assert last.count("○○○") == 2


def test_who_is_out_may_watch_on_end_or_restart() -> None:
    watched, who = played("chase-the-ace,seats=5,lives=1", Typist(), seed=3)
    assert any(prompt.startswith("You are out. Watch on (Enter)") for prompt in who.prompts)
    assert "wins." in watched or "win." in watched


def test_a_finished_game_can_be_replayed_and_played_again() -> None:
    lines = ["keep", "replay", "again", "quit"]
    told, who = played("one-round", Typist(lines))
    assert told.count("A new round: ") == 3
    assert re.search(r"Robin gets [\dAJQK]+[♣♦♥♠]\.", told)
    assert len(who.prompts) == 4


def test_the_replay_says_what_each_seat_knew_of_others() -> None:
    told, _ = played("one-round", Typist(["swap", "replay", "quit"]))
    again = told[told.rindex("A new round: ") :]
    mine, theirs = re.findall(r"You swap with Robin, (\S+) for (\S+)\.", again)[0]
    swap = again[again.index("You swap") :].splitlines()
    assert swap[1:3] == [f"  You know: Robin {mine}", f"  Robin knows: you {theirs}"]
    # What lies open for all is known to all, and not told again.
    reveal = again[again.index("You reveal") :]
    assert "know" not in reveal


def test_a_terminal_gets_colours_and_others_do_not() -> None:
    parsed = Rules.parse("practice-table")
    seat = Table(TableSettings(rules=parsed, opponents=read("robin", parsed, 0), coach=False))
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=True, color_system="standard")
    Terminal(seat, console, Typist(["quit"])).play()
    assert "\x1b[" in out.getvalue()
    assert "A new round: Alex deals." in ANSI.sub("", out.getvalue()).replace("Robin 2", "Alex")


def test_the_command_plays_what_is_typed_into_a_pipe() -> None:
    command = [sys.executable, "-m", "cuckoo_env.cli", "play", "--no-coach", "--seed", "5"]
    run = subprocess.run(
        command, input="keep\nswap\n", capture_output=True, text=True, check=True, timeout=300
    )
    assert run.stderr == ""
    assert "You keep." in run.stdout
    assert "\x1b" not in run.stdout


def test_the_command_refuses_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["--rules", "nonsense"],
        ["--rules", "standard,seats=11"],
        ["--against", "nobody"],
        ["--name", "<b>"],
        ["--against", "robin,robin,robin"],
    ):
        assert cli.main(["play", *arguments]) == 2
        told = capfd.readouterr()
        assert told.err.startswith("cuckoo: ")
        assert told.err.count("\n") == 1


def test_help_has_an_example(capfd: pytest.CaptureFixture[str]) -> None:
    for command in ("play", "table"):
        assert cli.main([command, "--help"]) == 0
        told = " ".join(capfd.readouterr().out.split())
        assert f"Example: cuckoo {command}" in told
        assert "--against" in told
