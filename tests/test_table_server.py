"""The practice table's server: what it answers, what it refuses, and what it never tells."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import json
import random
import re
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from cuckoo_env import records
from cuckoo_env.agents import policy
from cuckoo_env.cards import card_symbol, parse_card
from cuckoo_env.game import Game
from cuckoo_env.play import coach as coaching
from cuckoo_env.play import lessons, server, table
from cuckoo_env.play.menu import Menu
from cuckoo_env.play.opponents import Opponent, read
from cuckoo_env.play.prepared import Prepared
from cuckoo_env.play.registry import Registry
from cuckoo_env.play.table import RefusedError, Table
from cuckoo_env.rules import AXES, PRESETS, Rules

Answer = dict[str, Any]
HERE = "http://127.0.0.1"
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

PRACTICE = Rules.parse("practice-table")


def app(registry: Registry | None = None, **options: Any) -> Any:
    menu = Menu(PRACTICE, read("robin,alex", PRACTICE, 0))
    return server.make_app(menu, registry=registry, **options)


class Http:
    """Requests that go to an application without a network."""

    runner = asyncio.Runner()

    def __init__(self, application: Any, base_url: str = HERE, *, raising: bool = True) -> None:
        transport = httpx.ASGITransport(app=application, raise_app_exceptions=raising)
        self._http = httpx.AsyncClient(transport=transport, base_url=base_url, timeout=600)

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self.runner.run(self._http.request(method, path, **more))

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.request("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:
        return self.request("POST", path, **more)


@pytest.fixture(scope="module", autouse=True)
def _closing() -> Iterator[None]:
    yield
    Http.runner.close()


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Browser:
    """A client with one table; it keeps the bytes of every answer."""

    def __init__(self, registry: Registry | None = None) -> None:
        self.registry = Registry() if registry is None else registry
        self.http = Http(app(self.registry))
        self.heard: list[bytes] = []
        self.path = ""

    def say(self, path: str, status: int = 200, **message: Any) -> Answer:
        return self._heard(self.http.post(path, json=message), status)

    def look(self, path: str, status: int = 200) -> Answer:
        return self._heard(self.http.get(path), status)

    def _heard(self, answer: httpx.Response, status: int) -> Answer:
        self.heard.append(answer.content)
        assert answer.status_code == status, answer.text
        found: Answer = answer.json()
        return found

    def sit_down(self, rules: str = "practice-table", *opponents: str, **more: Any) -> Answer:
        parsed = Rules.parse(rules)
        who = list(opponents) or ["robin", "alex"][: parsed.seats - 1]
        said = {"rules": rules, "opponents": who, "name": "Ann", "coach": False, **more}
        answer = self.say("/api/tables", 201, **said)
        self.path = f"/api/tables/{answer['table']}"
        return answer

    def act(self, turn: int, action: str, status: int = 200) -> Answer:
        return self.say(f"{self.path}/act", status, turn=turn, action=action)

    def go_on(self, rng: random.Random, answer: Answer) -> Answer:
        turn = answer["turn"]
        if answer["phase"] == "watch":
            return self.say(f"{self.path}/watch", turn=turn, how=rng.choice(["go", "end"]))
        return self.act(turn, rng.choice(answer["legal"]))

    @property
    def table(self) -> Table:
        return self.registry.find(self.path.rpartition("/")[2])


@pytest.fixture
def ann() -> Browser:
    return Browser()


def refused(answer: Answer) -> str:
    """The code of an error, which always comes with one sentence."""
    assert set(answer) == {"error"}
    assert set(answer["error"]) == {"code", "message"}
    assert 10 < len(answer["error"]["message"]) < 500
    assert "\n" not in answer["error"]["message"]
    code: str = answer["error"]["code"]
    assert code in server.STATUS
    return code


# ---- secrets

_SYMBOL = re.compile(r"(?:10|[A2-9JQK])[♣♦♥♠]")
_CARD = re.compile(r'"([A2-9TJQK][cdhs])"')
_SYMBOLS = {card_symbol(number): number for number in range(52)}


def cards_in(text: str) -> set[int]:
    """Every card that an answer names, as data or in words."""
    return {parse_card(card) for card in _CARD.findall(text)} | {
        _SYMBOLS[symbol] for symbol in _SYMBOL.findall(text)
    }


def shown_to(person: int, game: Game, start: int) -> set[int]:
    """The cards that a seat has been shown in the rounds told from an event on."""
    happened = list(game.events)
    while start > 0 and happened[start].event != "round":
        start -= 1
    return {
        parse_card(card)
        for event in happened[start:]
        if event.event not in {"dealt", "drew", "swapped"} or person in {event.seat, event.other}
        for card in (event.card, event.other_card)
        if card is not None
    }


def hidden_from(person: int, game: Game) -> set[int]:
    """The cards on the table that a seat does not know, the top of the stock among them."""
    g = game._games[0]
    unknown = [seat for seat in range(game.rules.seats) if not g["known"][seat, person]]
    cards = {int(g["card"][seat]) for seat in unknown} | {int(g["top"])}
    return {card for card in cards if card >= 0}


RULE_SETS = [
    *PRESETS,
    "chase-the-ace,seats=10",
    "standard,seats=2",
    *(
        f"standard,seats=4,{axis}={value}"
        for axis, values in AXES.items()
        for value in list(values)[1:]
        if (axis, value) != ("direction", "left")
    ),
    "onesies,seats=5,queen=redirects,jack=may_block,king=ends_trading,swapped_turn=lost",
]


@pytest.mark.parametrize("rules", RULE_SETS)
def test_nothing_sent_before_the_reveal_names_a_hidden_card(rules: str) -> None:
    hidden = 0
    for seed in range(3):
        ann, rng = Browser(), random.Random(seed)
        answer = ann.sit_down(rules, "random")
        told = 0
        while True:
            game = ann.table._game
            text = ann.heard[-1].decode()
            # What was revealed in earlier rounds is told again at the end.
            begins = 0 if answer["phase"] == "over" else told
            named = cards_in(text)
            shown = shown_to(0, game, begins) | cut_from(answer)
            assert named <= shown
            if answer["phase"] == "over":
                break
            secret = hidden_from(0, game) - shown
            assert not named & secret
            hidden += len(secret)
            assert_no_seed(ann, text)
            told = len(game.events)
            answer = ann.go_on(rng, answer)
        # After the reveal the replay tells all.
        assert hidden_from(0, game) - {int(game._games[0]["top"])} == set()
        ann.look(f"{ann.path}/replay")
        assert cards_in(ann.heard[-1].decode()) > named or len(game.events) < 30
    assert hidden > 3


def cut_from(answer: Answer) -> set[int]:
    """Cards that were cut for the deal: everybody sees them."""
    return {parse_card(f["card"]) for f in answer["frames"] if f["event"] == "dealer_cut"}


def assert_no_seed(browser: Browser, text: str) -> None:
    """Neither the table's seed nor the generator's words, in any notation."""
    words = [browser.table._seed, *browser.table._game._games[0]["rng"].tolist()]
    for word in words:
        assert str(word) not in text
        assert f"{word:x}" not in text
    assert "seed" not in text
    assert "rng" not in text


@pytest.mark.parametrize("coach", [False, True])
def test_other_hidden_cards_make_no_other_bytes(coach: bool) -> None:
    compared = 0
    for seed in range(12):
        rng = random.Random(seed)
        plain = [f"{rank}{suit}" for rank in "23456789T" for suit in "cdhs"]
        rng.shuffle(plain)
        own, *rest = plain
        answers = []
        for at in (0, 5, 10):
            ann = Browser()
            ann.sit_down("chase-the-ace,seats=4", "naive", coach=coach)
            # The same card for the person, and others for all that it cannot see.
            redeal(ann.table, [own, *rest[at : at + 4]])
            looked = ann.look(ann.path)
            answers.append(ann.heard[-1])
            assert looked["view"]["seats"][0]["card"] == own
            if coach:
                ann.act(0, "keep")
                advice = json.loads(ann.heard[-1])["advice"]
                answers[-1] += json.dumps(advice).encode()
        assert len(set(answers)) == 1
        compared += 1
    assert compared == 12


def redeal(seat: Table, cards: list[str]) -> None:
    """Begin the table's game again with these cards dealt, and the next on top of the stock."""
    game = Game(seat.rules, 0)
    game.reset(cards=cards)
    told = server_frames(seat, game)
    seat._show(game, told, None)


def server_frames(seat: Table, game: Game) -> list[dict[str, Any]]:
    from cuckoo_env.play.frames import frames

    return frames(None, game, game.events, seat.seat, seat.names)


# ---- what it answers


def test_the_menu_offers_every_preset_axis_agent_and_lesson(ann: Browser) -> None:
    menu = ann.look("/api/menu")
    assert [each["name"] for each in menu["presets"]] == list(PRESETS)
    assert set(AXES) <= set(menu["axes"])
    assert {"robin", "alex", "equilibrium"} <= {each["spec"] for each in menu["agents"]}
    assert all(each["summary"] for each in menu["agents"])
    assert menu["lessons"] == lessons.lessons()
    assert menu["defaults"]["opponents"] == ["robin", "alex"]
    for each in menu["lessons"]:
        assert ann.look(f"/api/lessons/{each['id']}")["id"] == each["id"]


def test_rules_are_explained(ann: Browser) -> None:
    told = ann.say("/api/explain", rules="standard,seats=4,queen=redirects")
    assert told["text"] == "standard,seats=4,queen=redirects"
    assert told["special"] == ["queen", "final_tie", "first_dealer"]
    assert told["sentences"]["queen"].startswith("An asked queen is shown")
    assert "stake" not in told["sentences"]
    assert told["reference"]["sections"]
    assert told["title"] == "standard, 4 seats, queen redirects"
    assert told["reference"]["title"] == f"Cuckoo: {told['title']}"


def test_rules_keep_the_name_that_was_chosen(ann: Browser) -> None:
    laid = ann.sit_down("onesies,seats=4")["rules"]
    assert laid["title"] == ann.say("/api/explain", rules="onesies,seats=4")["title"]
    assert laid["title"] == "onesies, 4 seats"
    assert laid["sentences"]["first_dealer"].startswith("The first dealer is found by cutting")
    named = ann.sit_down("cuckoo,seats=4", "robin", "alex", "naive")["rules"]["sentences"]
    assert named["first_dealer"] == "Naive deals first."


def test_who_cannot_play_some_rules_is_said_before_a_table_is_laid(ann: Browser) -> None:
    found = ann.say("/api/explain", rules="standard,seats=5")["unplayable"]
    offered = {each["spec"] for each in ann.look("/api/menu")["agents"]}
    assert set(found) == {"equilibrium", "ppo-practice"}
    assert set(found) <= offered
    said = {"rules": "standard,seats=5", "name": "Ann", "coach": False}
    for label in offered:
        status = 400 if label in found else 201
        ann.say("/api/tables", status, **said, opponents=[label])


def test_a_run_of_the_server_is_told_from_another(ann: Browser) -> None:
    clock = Clock()
    registry = Registry(idle_seconds=60, clock=clock)
    bob = Browser(registry)
    bob.sit_down()
    run = bob.look("/api/server")
    assert set(run) == {"run"}
    clock.now += 40
    assert bob.look("/api/server") == run
    clock.now += 40
    # To ask for it is no use of a table.
    assert refused(bob.look(bob.path, 404)) == "unknown-table"
    assert ann.look("/api/server") != run


def test_a_game_is_looked_at_again_recorded_and_started_again(ann: Browser) -> None:
    rng, answer = random.Random(1), ann.sit_down("onesies")
    assert set(answer) - {"table"} == set(ann.look(ann.path))
    while answer["phase"] != "over":
        answer = ann.go_on(rng, answer)
        assert ann.look(ann.path) == answer
    saved = ann.http.get(f"{ann.path}/record")
    assert saved.headers["content-disposition"].startswith("attachment;")
    assert records.check(saved.json()) == saved.json()
    assert ann.look(f"{ann.path}/replay")["steps"][-1]["event"] == "won"
    again = ann.say(f"{ann.path}/restart", turn=answer["turn"])
    assert (again["phase"], again["view"]["round"]) == ("decide", 1)
    silent = ann.say(f"{ann.path}/coach", turn=again["turn"], on=True)
    assert silent["coach"] is True


def test_a_policy_is_named_by_its_folder_only(tmp_path: Path) -> None:
    missing = tmp_path / "secret-folder" / "short"
    menu = Menu(PRACTICE, read("robin,alex", PRACTICE, 0), [str(missing)])
    with pytest.raises(ValueError, match="secret-folder"):
        menu.check_files()
    http = Http(server.make_app(menu))
    assert "policy:short" in [each["spec"] for each in http.get("/api/menu").json()["agents"]]
    said = {"rules": "practice-table", "opponents": ["policy:short"], "name": "A", "coach": False}
    answer = http.post("/api/tables", json=said)
    assert answer.status_code == 400
    assert "short" in answer.text
    assert "secret-folder" not in answer.text + http.get("/api/menu").text


def test_the_rules_that_are_offered_first_keep_their_preset() -> None:
    text = "chase-the-ace,seats=4"
    menu = Menu(Rules.parse(text), (Opponent.of("robin"),), text=text)
    assert menu.plain()["defaults"]["rules"] == text


def test_agents_in_the_menu_have_names_of_their_own() -> None:
    shipped = [str(policy.SHIPPED / name) for name in ("generalist", "ppo-practice")]
    offered = Menu(PRACTICE, (Opponent.of("robin"),), shipped).plain()["agents"]
    names = [each["name"] for each in offered]
    assert {"Generalist", "Generalist (policy)", "Ppo practice (policy)"} <= set(names)
    assert len(set(names)) == len(names)


def test_two_files_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two files of one name"):
        Menu(PRACTICE, (Opponent.of("robin"),), ["a/short", "b/short"])


def test_the_page_and_its_files_are_served(ann: Browser) -> None:
    page = ann.http.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    links = re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text)
    assert links
    for link in links:
        assert ann.http.get(link).status_code == 200
    assert ann.http.get("/static/../server.py").status_code == 404
    assert ann.http.get("/static/%2e%2e/server.py").status_code == 404


# ---- what it refuses


def test_every_answer_has_the_security_headers(ann: Browser) -> None:
    ann.sit_down()
    for path in ("/", "/api/menu", ann.path, "/nothing", "/api/tables", "/static/nothing.js"):
        answer = ann.http.get(path)
        for name, value in server.HEADERS.items():
            assert answer.headers[name] == value
        assert "server" not in answer.headers
        assert "set-cookie" not in answer.headers
    policy = server.HEADERS["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_stale_doubled_and_illegal_messages_change_nothing(ann: Browser) -> None:
    ann.sit_down()
    before = ann.look(ann.path)
    for code, status, verb, message in [
        ("stale", 409, "act", {"turn": 1, "action": "keep"}),
        ("stale", 409, "act", {"turn": -1, "action": "keep"}),
        ("stale", 409, "restart", {"turn": 10**30}),
        ("illegal", 409, "act", {"turn": 0, "action": "pay"}),
        ("illegal", 409, "act", {"turn": 0, "action": "KEEP"}),
        ("illegal", 409, "watch", {"turn": 0, "how": "go"}),
        ("bad-request", 400, "act", {"turn": 0}),
        ("bad-request", 400, "act", {"turn": True, "action": "keep"}),
        ("bad-request", 400, "act", {"turn": "0", "action": "keep"}),
        ("bad-request", 400, "act", {"turn": 0, "action": 0}),
        ("bad-request", 400, "act", {"turn": 0, "action": None}),
        ("bad-request", 400, "act", {"turn": 0, "action": "keep", "seat": 1}),
        ("bad-request", 400, "watch", {"turn": 0, "how": "x" * 1000}),
        ("bad-request", 400, "coach", {"turn": 0, "on": 1}),
    ]:
        answer = ann.say(f"{ann.path}/{verb}", status, **message)
        assert refused(answer) == code, message
        assert ann.look(ann.path) == before
    for path in ("record", "replay"):
        assert refused(ann.look(f"{ann.path}/{path}", 409)) == "not-over"
    ann.act(0, "keep")
    assert refused(ann.act(0, "keep", 409)) == "stale"


@pytest.mark.parametrize(
    ("code", "status", "body", "kind"),
    [
        ("too-large", 413, b"x" * 1_000_000, "application/json"),
        ("too-large", 413, b'{"turn": 0, "action": "' + b"k" * 70_000 + b'"}', "application/json"),
        ("bad-type", 415, b'{"turn": 0, "action": "keep"}', "text/plain"),
        ("bad-type", 415, b"turn=0&action=keep", "application/x-www-form-urlencoded"),
        ("bad-type", 415, b'{"turn": 0, "action": "keep"}', ""),
        ("bad-request", 400, b"", "application/json"),
        ("bad-request", 400, b"{", "application/json"),
        ("bad-request", 400, b"[" * 60_000, "application/json"),
        ("bad-request", 400, b"\xff\xfe\x00", "application/json"),
        ("bad-request", 400, b"[0]", "application/json"),
        ("bad-request", 400, b"null", "application/json"),
        ("bad-request", 400, b'{"turn": NaN, "action": "keep"}', "application/json"),
        ("bad-request", 400, b'{"turn": 1e400, "action": "keep"}', "application/json"),
        ("bad-request", 400, b'{"turn": ' + b"9" * 5000 + b"}", "application/json"),
        ("bad-request", 400, b'{"turn": 0, "action": "keep", "x": "\\ud800"}', "application/json"),
        ("bad-request", 400, b'{"turn": 0, "action": "\\ud800"}', "application/json"),
        ("bad-request", 400, b'{"turn": 0, "action": "keep", "\\udfff": 0}', "application/json"),
    ],
)
def test_junk_is_refused(ann: Browser, code: str, status: int, body: bytes, kind: str) -> None:
    ann.sit_down()
    before = ann.look(ann.path)
    answer = ann.http.post(f"{ann.path}/act", content=body, headers={"Content-Type": kind})
    assert answer.status_code == status
    assert refused(answer.json()) == code
    assert ann.look(ann.path) == before


def test_a_body_that_never_ends_is_cut_off(ann: Browser) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 50_000_000:
            sent += 10_000
            yield b" " * 10_000

    request = {"Content-Type": "application/json"}
    answer = ann.http.post("/api/explain", content=endless(), headers=request)
    assert refused(answer.json()) == "too-large"
    assert sent < 200_000


def test_random_junk_never_breaks_the_server(ann: Browser) -> None:
    rng = random.Random(0)
    ann.sit_down()
    pieces = ["turn", "action", "keep", "seat", "<script>", "../..", "\x00", "policy:/etc/passwd"]
    halves = ["\ud800", "k\udfff", "\ud800" * 30]
    numbers = [0, 1, -1, 1.5, 2**70, 10**4000, -(10**4000)]
    values: list[Any] = [*pieces, *halves, *numbers, True, None, [], {}, [["x"]], "9" * 5000]
    paths = ["act", "watch", "restart", "coach", "", "record", "x"]
    for _ in range(300):
        message = {rng.choice(pieces): rng.choice(values) for _ in range(rng.randrange(4))}
        refuse_junk(ann, f"{ann.path}/{rng.choice(paths)}", message)
    # Fields that are right but for one value.
    whole = {"turn": 0, "action": "keep", "how": "go", "on": True}
    fields = {
        "act": ("turn", "action"),
        "watch": ("turn", "how"),
        "coach": ("turn", "on"),
        "restart": ("turn",),
    }
    for verb, names in fields.items():
        for name in names:
            for value in values:
                right = {each: whole[each] for each in names}
                # Not by equality: a truth is no number.
                if repr(value) != repr(right[name]):
                    refuse_junk(ann, f"{ann.path}/{verb}", {**right, name: value})
    for value in [*pieces, *halves, "9" * 5000, "standard," + "9" * 900]:
        refuse_junk(ann, "/api/explain", {"rules": value})
        for field in ("rules", "opponents", "name"):
            said = {"rules": "onesies", "opponents": ["robin"], "name": "A", "coach": False}
            wrong = [value] if field == "opponents" else value
            # A word is a name.
            if field != "name" or not value.isalpha():
                refuse_junk(ann, "/api/tables", {**said, field: wrong})
    assert ann.look(ann.path)["turn"] == 0


def refuse_junk(browser: Browser, path: str, message: Any) -> None:
    headers = {"Content-Type": "application/json"}
    answer = browser.http.post(path, content=json.dumps(message).encode(), headers=headers)
    assert 400 <= answer.status_code < 500, (path, message, answer.text)
    refused(answer.json())


@pytest.mark.parametrize("label", ["threshold:99", "threshold:14", "threshold:07", "threshold:-1"])
def test_a_threshold_is_refused_by_the_menu_not_only_at_a_table(label: str) -> None:
    menu = Menu(PRACTICE, read("robin,alex", PRACTICE, 0))
    with pytest.raises(RefusedError, match=r"accepted: threshold:T \(0 to 13\), or one of: random"):
        menu.opponent(label)
    assert menu.opponent("threshold:13").label == "threshold:13"


@pytest.mark.parametrize("long", ["9" * 4000, "keep" * 1000, "threshold:" + "9" * 5000])
def test_what_is_refused_is_told_in_short(ann: Browser, long: str) -> None:
    ann.sit_down()
    table = {"rules": "onesies", "opponents": ["robin"], "name": "A", "coach": False}
    for path, message in [
        (f"{ann.path}/act", {"turn": 0, "action": long}),
        (f"{ann.path}/act", {"turn": 10**3999, "action": "keep"}),
        (f"{ann.path}/restart", {"turn": 10**3999}),
        (f"{ann.path}/act", {long: 0}),
        (f"{ann.path}/watch", {"turn": 0, "how": long}),
        ("/api/explain", {"rules": long[:900]}),
        ("/api/explain", {"rules": f"standard,{long[:900]}"}),
        ("/api/explain", {"rules": f"standard,lives={long[:900]}"}),
        ("/api/tables", {**table, "rules": long}),
        ("/api/tables", {**table, "name": long}),
        ("/api/tables", {**table, "opponents": [long]}),
    ]:
        answer = ann.http.post(path, json=message)
        assert refused(answer.json()) in {"stale", "illegal", "bad-request"}
        assert long[:70] not in answer.text
        assert "0" * 70 not in answer.text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rules", "nonsense"),
        ("rules", "standard,seats=11"),
        ("rules", "standard,lives=1000"),
        ("rules", "standard,stake=1e308"),
        ("rules", "standard," * 1000),
        ("rules", "<script>alert(1)</script>"),
        ("rules", 3),
        ("opponents", []),
        ("opponents", "robin"),
        ("opponents", ["robin"] * 3),
        ("opponents", ["robin"] * 1000),
        ("opponents", [["robin"]]),
        ("opponents", ["nobody"]),
        ("opponents", ["threshold:99"]),
        ("opponents", ["threshold:07"]),
        ("opponents", ["policy:/etc/passwd"]),
        ("opponents", ["policy:x"]),
        ("opponents", ["table:x"]),
        ("opponents", ["best-response:policy:x,robin"]),
        ("opponents", ["best-response:robin"]),
        ("opponents", ["ppo-practice:x"]),
        ("opponents", ["threshold:" + "9" * 5000]),
        ("opponents", ["threshold:\uff11"]),
        ("name", "<script>alert(1)</script>"),
        ("name", "<img src=x onerror=alert(1)>"),
        ("name", ""),
        ("name", "x" * 1000),
        ("name", None),
        ("coach", "on"),
    ],
)
def test_a_table_is_laid_only_as_offered(ann: Browser, field: str, value: Any) -> None:
    said = {"rules": "practice-table", "opponents": ["robin", "alex"], "name": "A", "coach": False}
    answer = ann.say("/api/tables", 400, **{**said, field: value})
    assert refused(answer) == "bad-request"
    # No form is told that clients may not use.
    assert "FILE" not in answer["error"]["message"]
    assert "PATH" not in answer["error"]["message"]
    assert len(ann.registry) == 0


def test_agents_made_from_a_number_need_not_be_in_the_menu(ann: Browser) -> None:
    players = ann.sit_down("practice-table", "threshold:5", "threshold:8")["players"]
    assert [each["name"] for each in players] == ["Ann", "Threshold 5", "Threshold 8"]


def test_other_pages_and_verbs_are_refused_in_json(ann: Browser) -> None:
    assert refused(ann.look("/api/nothing", 404)) == "unknown-page"
    assert refused(ann.look("/api/lessons/none", 404)) == "unknown-lesson"
    assert refused(ann.look("/api/explain", 405)) == "bad-method"
    ann.sit_down()
    assert refused(ann.http.request("DELETE", ann.path).json()) == "bad-method"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "[::2]", "localhost@evil.example"]
)
def test_other_hosts_are_refused(ann: Browser, host: str) -> None:
    answer = ann.http.get("/api/menu", headers={"Host": host})
    assert answer.status_code == 421
    assert refused(answer.json()) == "bad-host"


@pytest.mark.parametrize("host", ["localhost:8642", "127.0.0.1", "[::1]:80", "LOCALHOST"])
def test_this_machines_names_are_answered(ann: Browser, host: str) -> None:
    assert ann.http.get("/api/menu", headers={"Host": host}).status_code == 200


def test_a_host_that_was_asked_for_is_answered() -> None:
    named = Http(app(host="table.example"), base_url="http://table.example")
    assert named.get("/api/menu").status_code == 200
    everywhere = Http(app(host="0.0.0.0"), base_url="http://192.0.2.7:8642")
    assert everywhere.get("/api/menu").status_code == 200
    assert everywhere.get("/api/menu", headers={"Host": "evil.example"}).status_code == 421


def test_what_goes_wrong_here_is_said_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    http = Http(app(registry), raising=False)
    monkeypatch.setattr(Menu, "plain", lambda _: 1 / 0)
    answer = http.get("/api/menu")
    assert answer.status_code == 500
    assert refused(answer.json()) == "failed"
    assert "ZeroDivision" not in answer.text


# ---- tables


def test_messages_to_one_table_never_reach_another() -> None:
    registry = Registry()
    ann, bob = Browser(registry), Browser(registry)
    ann.sit_down("practice-table")
    first = bob.sit_down("onesies", name="Bob")
    assert ann.path != bob.path
    rng, answer = random.Random(3), ann.look(ann.path)
    while answer["phase"] != "over":
        answer = ann.go_on(rng, answer)
        seen = bob.look(bob.path)
        assert seen == {key: value for key, value in first.items() if key != "table"}
    assert all(b"Bob" not in heard for heard in ann.heard)


def test_codes_are_long_and_random(ann: Browser) -> None:
    codes = set()
    for _ in range(50):
        codes.add(ann.sit_down()["table"])
    assert len(codes) == 50
    assert min(map(len, codes)) >= 20


def test_a_server_that_was_started_again_says_that_the_table_is_gone() -> None:
    ann, later = Browser(), Browser()
    ann.sit_down()
    for answer in (
        later.look(ann.path, 404),
        later.say(f"{ann.path}/act", 404, turn=0, action="keep"),
        later.look(f"{ann.path}/record", 404),
    ):
        assert refused(answer) == "unknown-table"
        assert "started again" in answer["error"]["message"]


def test_idle_tables_are_forgotten() -> None:
    clock = Clock()
    registry = Registry(idle_seconds=60, clock=clock)
    ann, bob = Browser(registry), Browser(registry)
    ann.sit_down()
    bob.sit_down()
    for _ in range(5):
        clock.now += 40
        ann.look(ann.path)
    assert len(registry) == 1
    assert refused(bob.look(bob.path, 404)) == "unknown-table"
    ann.look(ann.path)


def test_there_is_room_for_so_many_tables_only() -> None:
    clock = Clock()
    registry = Registry(most=3, idle_seconds=60, clock=clock)
    ann = Browser(registry)
    for _ in range(3):
        ann.sit_down()
    said = {"rules": "practice-table", "opponents": ["robin"], "name": "A", "coach": False}
    assert refused(ann.say("/api/tables", 503, **said)) == "too-many"
    assert len(registry) == 3
    clock.now += 61
    ann.sit_down()
    assert len(registry) == 1


def test_a_server_that_nobody_asks_lets_idle_tables_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SWEEP_SECONDS", 0.001)
    clock = Clock()
    registry = Registry(idle_seconds=60, clock=clock)
    Browser(registry).sit_down()
    (kept,) = registry._tables.values()
    forgotten = weakref.ref(kept.table)
    del kept

    async def run() -> None:
        to_app: asyncio.Queue[Answer] = asyncio.Queue()
        from_app: asyncio.Queue[Any] = asyncio.Queue()
        running = asyncio.create_task(
            app(registry)({"type": "lifespan", "state": {}}, to_app.get, from_app.put)
        )
        await to_app.put({"type": "lifespan.startup"})
        assert (await from_app.get())["type"] == "lifespan.startup.complete"
        await asyncio.sleep(0.01)
        assert len(registry._tables) == 1
        clock.now += 61
        while registry._tables:
            await asyncio.sleep(0.001)
        await to_app.put({"type": "lifespan.shutdown"})
        await running
        await asyncio.sleep(0)
        assert not [task for task in asyncio.all_tasks() if "sweep" in repr(task.get_coro())]

    asyncio.run(asyncio.wait_for(run(), 60))
    gc.collect()
    assert forgotten() is None


def test_a_server_that_ends_badly_forgets_no_more_tables() -> None:
    def sweepers() -> list[Any]:
        return [task for task in asyncio.all_tasks() if "sweep" in repr(task.get_coro())]

    async def run() -> None:
        serving = server._sweeping(Registry())
        await serving.__aenter__()
        assert len(sweepers()) == 1
        assert not await serving.__aexit__(KeyError, KeyError(), None)
        await asyncio.sleep(0)
        assert not sweepers()

    asyncio.run(run())


def test_who_waits_for_the_coach_keeps_nobody_else_waiting(
    monkeypatch: pytest.MonkeyPatch, may_go_on: threading.Event
) -> None:
    waiting, many = threading.Semaphore(0), 3 * server.AT_WORK

    def worth(coach: coaching.Coach, *arguments: Any) -> Any:
        waiting.release()
        return plain_worth(coach, *arguments)

    plain_worth = coaching.Coach._worth
    monkeypatch.setattr(coaching.Coach, "_worth", worth)
    monkeypatch.setattr(coaching, "PATIENCE", 300)
    monkeypatch.setattr(coaching, "_prepared", Prepared())
    registry = Registry()
    browsers = [Browser(registry) for _ in range(many)]
    for each in browsers:
        each.sit_down("one-round,seats=2", coach=True)
    quiet = Browser(registry)
    quiet.sit_down()

    async def all_wait() -> None:
        for _ in range(many):
            while not waiting.acquire(blocking=False):
                await asyncio.sleep(0.001)

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=app(registry))
        async with httpx.AsyncClient(transport=transport, base_url=HERE, timeout=600) as http:
            said = {"turn": 0, "action": "keep"}
            answers = [
                asyncio.create_task(http.post(f"{each.path}/act", json=said)) for each in browsers
            ]
            await all_wait()
            # Each waits for the action before it at its table.
            impatient = [
                asyncio.create_task(http.post(f"{each.path}/restart", json={"turn": 0}))
                for each in browsers
            ]
            await asyncio.sleep(0.01)
            others = [
                await http.get("/api/menu"),
                await http.get(browsers[0].path),
                await http.post(f"{quiet.path}/act", json=said),
            ]
            assert [other.status_code for other in others] == [200] * 3
            assert not any(answer.done() for answer in [*answers, *impatient])
            may_go_on.set()
            assert {each.status_code for each in await asyncio.gather(*impatient)} == {409}
            return list(await asyncio.gather(*answers))

    try:
        answers = asyncio.run(asyncio.wait_for(ask(), 120))
    finally:
        may_go_on.set()
    assert all(answer.json()["advice"]["exact"] for answer in answers)


MEMORY = """
import tracemalloc
from cuckoo_env.play.opponents import Opponent
from cuckoo_env.play.registry import Registry
from cuckoo_env.play.table import Table, TableSettings
from cuckoo_env.rules import Rules

def settings(rules):
    opponents = (Opponent.of("robin"),)
    return TableSettings(rules=Rules.parse(rules), opponents=opponents, coach=False, seed=1)

def finished(rules):
    table = Table(settings(rules))
    while table.snapshot()["phase"] == "decide":
        table.act(table.turn, "keep")
    if table.snapshot()["phase"] == "watch":
        table.watch(table.turn, "end")
    assert table.snapshot()["phase"] == "over"
    return table

for rules in ("practice-table", "chase-the-ace,seats=10,lives=10"):
    finished(rules)
now = 0.0
registry = Registry(idle_seconds=60, clock=lambda: now)
tracemalloc.start()
held = lambda: tracemalloc.get_traced_memory()[0]
before = held()
for _ in range(200):
    registry.add(Table(settings("practice-table")))
print(held() - before)
now = 61.0
assert len(registry) == 0
print(held() - before)
before = held()
kept = finished("chase-the-ace,seats=10,lives=10")
print(held() - before)
"""


def test_tables_take_little_memory_and_give_it_back() -> None:
    # In a process of its own: what other threads of this one hold would be counted too.
    run = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True, timeout=600
    )
    many, forgotten, finished = map(int, run.stdout.split())
    assert many / 200 < 100_000
    assert forgotten < many / 10
    assert finished < 1_000_000


# ---- many at once, and for real


def scripted() -> ModuleType:
    """The clients of ``benchmarks/table.py``."""
    spec = importlib.util.spec_from_file_location("benchmarks_table", BENCHMARKS / "table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_two_hundred_games_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    clients, registry = scripted(), Registry()

    async def play() -> Any:
        transport = httpx.ASGITransport(app=app(registry))
        async with httpx.AsyncClient(transport=transport, base_url=HERE, timeout=600) as http:

            async def post(path: str, message: Answer) -> tuple[int, bytes]:
                answer = await http.post(path, json=message)
                return answer.status_code, answer.content

            options = {"think": 0, "seed": 0, "rules": "practice-table", "coach": False}
            return await clients.play_all([post] * 200, **options)

    tally = asyncio.run(play())
    assert tally.games == 200
    assert tally.errors == []
    assert len(tally.seconds) > 1500
    assert len(registry) == 200


def test_messages_at_the_same_moment_count_once() -> None:
    registry = Registry()
    ann = Browser(registry)
    ann.sit_down()

    async def double() -> list[int]:
        transport = httpx.ASGITransport(app=app(registry))
        async with httpx.AsyncClient(transport=transport, base_url=HERE, timeout=600) as http:
            said = {"turn": 0, "action": "keep"}
            answers = [http.post(f"{ann.path}/act", json=said) for _ in range(20)]
            return [answer.status_code for answer in await asyncio.gather(*answers)]

    statuses = asyncio.run(double())
    assert sorted(statuses) == [200] + [409] * 19
    assert ann.look(ann.path)["turn"] == 1


def test_the_benchmarks_connections_play_with_a_real_server(
    running: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    clients = scripted()

    async def play() -> Any:
        lines = [clients.Connection(running) for _ in range(6)]
        options = {"think": 0.01, "seed": 1, "rules": "onesies", "coach": True}
        tally = await clients.play_all([line.post for line in lines], **options)
        for line in lines:
            line.close()
        return tally

    tally = asyncio.run(play())
    assert tally.games == 6
    assert tally.errors == []


@pytest.fixture
def running() -> Iterator[str]:
    """The address of a real server in a thread."""
    listener = server.listen("127.0.0.1", 0)
    http = server.make_server(app())
    thread = threading.Thread(target=http.run, kwargs={"sockets": [listener]})
    thread.start()
    yield server.address_of(listener)
    http.should_exit = True
    thread.join(timeout=30)
    assert not thread.is_alive()


def test_a_real_server_plays_a_game(running: str) -> None:
    with httpx.Client(base_url=running, timeout=60) as http:
        said = {"rules": "one-round", "opponents": ["robin"], "name": "Ann", "coach": False}
        answer = http.post("/api/tables", json=said).json()
        path = f"/api/tables/{answer['table']}"
        while answer["phase"] != "over":
            said = {"turn": answer["turn"], "action": answer["legal"][0]}
            answer = http.post(f"{path}/act", json=said).json()
        assert http.get(f"{path}/record").json()["winners"] == answer["results"]["winners"]
        assert "server" not in http.get("/").headers
        junk = http.post("/api/explain", content=b"x" * 1_000_000)
        assert junk.status_code in {413, 415}


def test_it_listens_on_loopback_unless_asked() -> None:
    from cuckoo_env import cli

    options = {param.name: param.default for param in parameters(cli)}
    assert options["host"] == "127.0.0.1"
    with server.listen("127.0.0.1", 0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", server.address_of(listener))
        with pytest.raises(ValueError, match=r"^host: cannot listen on 127\.0\.0\.1, port \d+: "):
            server.listen("127.0.0.1", listener.getsockname()[1])
    with pytest.raises(ValueError, match=r"^host: cannot listen on 192\.0\.2\.1"):
        server.listen("192.0.2.1", 0)


def parameters(cli: ModuleType) -> list[Any]:
    import typer

    command = typer.main.get_command(cli.app).commands["table"]  # type: ignore[attr-defined]
    return list(command.params)


def test_the_command_serves_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "cuckoo_env.cli", "table", "--port", "0", "--no-open"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            with httpx.Client(base_url=address, timeout=60) as http:
                assert answering(http)["defaults"]["rules"] == "practice-table"
                process.send_signal(2)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "The table is closed." in out
    assert err == ""
    assert process.returncode == 0


def answering(http: httpx.Client) -> Answer:
    """The menu, once the server is there."""
    deadline = time.monotonic() + 60
    while True:
        try:
            found: Answer = http.get("/api/menu").json()
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return found


def test_the_command_refuses_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    from cuckoo_env import cli

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for arguments in (
            ["--port", port],
            ["--rules", "standard,seats=11"],
            ["--against", "nobody"],
            ["--policy", "/nowhere/at/all"],
            ["--host", "256.256.256.256"],
        ):
            assert cli.main(["table", "--no-open", *arguments]) == 2
            told = capfd.readouterr()
            assert told.err.startswith("cuckoo: ")
            assert told.err.count("\n") == 1


def test_a_missing_extra_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from cuckoo_env import cli, play

    monkeypatch.delitem(sys.modules, "cuckoo_env.play.server")
    monkeypatch.delattr(play, "server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert cli.main(["table", "--no-open", "--port", "0"]) == 2
    message = "cuckoo: uvicorn is missing; install: pip install 'cuckoo-env[table]'\n"
    assert capfd.readouterr().err == message


def test_refusals_name_a_field() -> None:
    with pytest.raises(RefusedError, match=r"^seats: 11 is refused; accepted: 2 to 10 at"):
        table.check_size(Rules(seats=11))
