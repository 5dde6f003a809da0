"""How fast the practice table answers while many people play at once.

Starts the server as a process of its own, and plays whole games with it from here: every client is one
person at a table of Robin, Alex or a solved table, waits a while before each message, as people do
(but far less long), and measures how long the answer takes. With ``--think 0`` nobody waits, and the
server is asked as much as it can answer. Writes ``results/table.json``.

    python benchmarks/table.py --clients 200
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from made import ROOT, made_with

from cuckoo_env.files import write_text

Post = Callable[[str, dict[str, Any]], Awaitable[tuple[int, bytes]]]

OPPONENTS: Final = ("robin", "alex", "equilibrium")


@dataclass
class Tally:
    """What many clients have seen.

    Attributes:
        seconds: how long each answer took.
        games: games that were played to their end.
        errors: answers that were errors.
    """

    seconds: list[float] = field(default_factory=list)
    games: int = 0
    errors: list[str] = field(default_factory=list)


class Connection:
    """A connection that is kept open, as a browser's is.

    A whole HTTP library would take longer over an answer than the server does, and be measured with it.
    """

    def __init__(self, address: str) -> None:
        """Connect at the first message.

        Args:
            address: the server's address.
        """
        self._host, self._port = address.removeprefix("http://").strip("/").split(":")
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, message: dict[str, Any]) -> tuple[int, bytes]:
        """Send a message; the status and the body of the answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, int(self._port))
        reader, writer = self._streams
        body = json.dumps(message).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(answer.partition("content-length:")[2].partition("\r\n")[0])
        return int(answer.split()[1]), await reader.readexactly(length)

    def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()


class Client:
    """One person who plays without thinking.

    Attributes:
        tally: where answers are counted.
    """

    def __init__(self, post: Post, tally: Tally, rng: random.Random, think: float) -> None:
        """Sit down in front of a browser.

        Args:
            post: sends a message to a path, and gives back the status and the body of the answer.
            tally: where to count answers.
            rng: chooses everything.
            think: seconds between messages, on average.
        """
        self.tally = tally
        self._post, self._rng, self._think = post, rng, think

    async def play(self, rules: str, opponents: list[str], *, coach: bool = False) -> None:
        """A whole game."""
        said = {"rules": rules, "opponents": opponents, "name": "Ann", "coach": coach}
        answer = await self._say("/api/tables", said)
        table = f"/api/tables/{answer['table']}"
        while answer["phase"] != "over":
            message: dict[str, Any] = {"turn": answer["turn"]}
            if answer["phase"] == "watch":
                following = await self._say(f"{table}/watch", {**message, "how": "go"})
            else:
                action = self._rng.choice(answer["legal"])
                following = await self._say(f"{table}/act", {**message, "action": action})
            if (following["turn"], following["players"]) != (answer["turn"] + 1, answer["players"]):
                self.tally.errors.append(f"{table}: this answer is somebody else's")
            answer = following
        self.tally.games += 1

    async def _say(self, path: str, message: dict[str, Any]) -> dict[str, Any]:
        if self._think:
            await asyncio.sleep(self._rng.uniform(0, 2 * self._think))
        began = time.perf_counter()
        status, body = await self._post(path, message)
        self.tally.seconds.append(time.perf_counter() - began)
        if status >= 400:
            self.tally.errors.append(body.decode())
            raise RuntimeError(f"{path}: {body.decode()}")
        found: dict[str, Any] = json.loads(body)
        return found


async def play_all(
    posts: Sequence[Post], *, think: float, seed: int, rules: str, coach: bool
) -> Tally:
    """Let a client at each connection play a game, all at once."""
    tally = Tally()
    games = []
    for number, post in enumerate(posts):
        rng = random.Random(seed * len(posts) + number)
        opponents = [rng.choice(OPPONENTS), rng.choice(OPPONENTS)]
        games.append(Client(post, tally, rng, think).play(rules, opponents, coach=coach))
    await asyncio.gather(*games)
    return tally


@contextmanager
def served() -> Iterator[str]:
    """The address of a server that runs as long as the block."""
    command = [sys.executable, "-m", "cuckoo_env.cli", "table", "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().split()[-1]
        finally:
            server.terminate()


async def _played(address: str, clients: int, **options: Any) -> Tally:
    """The tally of so many games at once; lines of their own, for the server hangs up on who is silent."""
    lines = [Connection(address) for _ in range(clients)]
    try:
        return await play_all([line.post for line in lines], **options)
    finally:
        for line in lines:
            line.close()


async def measure(address: str, arguments: argparse.Namespace, think: float, *, coach: bool) -> Any:
    """A row of the table."""
    options = {"seed": arguments.seed, "rules": "practice-table", "coach": coach}
    # What is loaded and compiled at first use is no part of an answer.
    await _played(address, 9, think=0, **options)
    began = time.perf_counter()
    tally = await _played(address, arguments.clients, think=think, **options)
    took = time.perf_counter() - began
    milliseconds = [1000 * each for each in tally.seconds]
    slow = statistics.quantiles(milliseconds, n=100)
    return [
        f"{think:g} s" if think else "none",
        "on" if coach else "off",
        f"{tally.games}",
        f"{len(milliseconds):,}",
        f"{len(milliseconds) / took:,.0f}",
        f"{statistics.median(milliseconds):.1f}",
        f"{slow[94]:.1f}",
        f"{len(tally.errors)}",
    ]


def main() -> int:
    """Measure with and without waiting, with and without the coach."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200, help="games at once")
    parser.add_argument("--think", type=float, default=1.0, help="seconds between messages")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with served() as address:
        rows = [
            asyncio.run(measure(address, arguments, think, coach=coach))
            for think, coach in ((arguments.think, False), (arguments.think, True), (0.0, False))
        ]
    for row in rows:
        print(*row, sep="\t")
    table = {
        "title": f"The practice table's server with {arguments.clients} games at once",
        "columns": [
            "wait before a message, on average",
            "coach",
            "games",
            "answers",
            "answers a second",
            "median, ms",
            "95 per cent within, ms",
            "errors",
        ],
        "rows": rows,
        "seeds": [arguments.seed],
        "note": "Server and clients share the machine. Opponents are Robin, Alex and the solved table.",
        "made": made_with(
            f"python benchmarks/table.py --clients {arguments.clients}",
            libraries=("starlette", "uvicorn"),
        ),
    }
    text = json.dumps(table, indent=1, ensure_ascii=False) + "\n"
    write_text(ROOT / "results" / "table.json", text)
    print("results/table.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
