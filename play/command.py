"""The commands ``cuckoo table`` and ``cuckoo play``."""

from __future__ import annotations

import contextlib
import sys
import webbrowser
from collections.abc import Callable, Sequence
from typing import Final

from rich.console import Console

from cuckoo_env.play import opponents
from cuckoo_env.play.opponents import Opponent
from cuckoo_env.play.table import Table, TableSettings, read_rules
from cuckoo_env.play.terminal import Terminal
from cuckoo_env.rules import Rules

PORT: Final = 8642
"""Where the table is served unless told otherwise."""


def table(
    *,
    rules: str,
    against: str | None,
    policies: Sequence[str],
    host: str,
    port: int,
    open_browser: bool,
    tell: Callable[[str], None],
) -> int:
    """Serve the practice table until interrupted.

    Args:
        rules: text of the rule set that is offered first.
        against: specs of the line-up that is offered first, with commas between.
        policies: run folders or files of trained policies to offer.
        host: the name or address to listen on.
        port: the port; 0 takes one that is free.
        open_browser: whether to show the page in a browser.
        tell: prints a line.

    Returns:
        The exit status.

    Raises:
        ValueError: for input that is refused.
    """
    from cuckoo_env.play import server  # noqa: PLC0415 - the web server, only to serve
    from cuckoo_env.play.menu import Menu  # noqa: PLC0415

    parsed = read_rules(rules)
    menu = Menu(parsed, _lineup(against, parsed), policies, rules)
    menu.check_files()
    listener = server.listen(host, port)
    address = server.address_of(listener)
    tell(f"The practice table is at {address}")
    tell("Stop it with Ctrl-C.")
    if open_browser:
        webbrowser.open(address)
    # Where Ctrl-C is ignored, as by jobs in the background, the server ends without raising it.
    with contextlib.suppress(KeyboardInterrupt):
        server.make_server(server.make_app(menu, host=host)).run(sockets=[listener])
    tell("The table is closed.")
    return 0


def play(
    *,
    rules: str,
    against: str | None,
    name: str,
    coach: bool,
    seed: int | None,
    console: Console,
) -> int:
    """Play in the terminal.

    Args:
        rules: text of the rule set.
        against: specs of the agents in the other seats, with commas between.
        name: what the person is called.
        coach: whether the coach speaks.
        seed: the seed of all cards and choices; None asks the operating system.
        console: where to print.

    Returns:
        The exit status.

    Raises:
        ValueError: for input that is refused.
    """
    parsed = read_rules(rules)
    settings = TableSettings(
        rules=parsed,
        text=rules,
        opponents=_lineup(against, parsed),
        name=name,
        coach=coach,
        seed=seed,
    )
    Terminal(Table(settings), console, _ask).play()
    return 0


def _ask(prompt: str) -> str:
    line = input(prompt)
    if not sys.stdin.isatty():
        # What comes from a pipe is not on the screen yet.
        sys.stdout.write(f"{line}\n")
    return line


def _lineup(against: str | None, rules: Rules) -> tuple[Opponent, ...]:
    """The opponents that are asked for, or as many of the usual ones as there are seats for."""
    usual = ",".join(opponents.DEFAULT.split(",")[: rules.seats - 1])
    return opponents.read(usual if against is None else against, rules, 0)
