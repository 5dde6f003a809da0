"""The practice table's page in a real Chromium, played as a person plays it."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from cuckoo_env import events, explain, records
from cuckoo_env.cards import card_symbol, card_text, parse_card, rank_of
from cuckoo_env.engine import NO_CARD
from cuckoo_env.rules import FinalTie, Rules

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
NEEDED = ("playwright", "starlette", "uvicorn")
MISSING = [each for each in NEEDED if importlib.util.find_spec(each) is None]
if CHROMIUM is None:
    MISSING.append("Chromium on the PATH")

pytestmark = [
    pytest.mark.needs_chromium,
    pytest.mark.skipif(
        bool(MISSING),
        reason="the practice table in a browser (matches, tutorials, coach, keyboard, print, secrets,"
        f" accessibility) is left out: there is no {', no '.join(MISSING)}",
    ),
]

PHONE, TABLET, DESKTOP = (360, 740), (820, 1100), (1280, 820)
PAGES = ("new", "play", "learn", "reference")


# The server, in this process, so that a test can look at what the page must not know


@dataclass
class Answer:
    """What the server sent, and what it had to keep to itself at that moment."""

    path: str
    status: int
    text: str
    secrets: tuple[str, ...]
    laid_away: dict[int, list[str]]


@dataclass
class Wire:
    """Stands between the server and the browser, and writes everything down."""

    app: Any
    registry: Any
    answers: list[Answer] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, status = bytearray(), 0

        async def listen(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                body.extend(repr(message["headers"]).encode())
            body.extend(message.get("body", b""))
            await send(message)

        await self.app(scope, receive, listen)
        if scope["type"] == "http":
            text, path = body.decode(), scope["path"]
            table = self._table_of(path, text)
            kept = () if table is None else (*hidden_cards(table), *seeds(table))
            laid = {} if table is None else laid_away(table)
            self.answers.append(Answer(path, status, text, kept, laid))

    def _table_of(self, path: str, text: str) -> Any:
        code = re.match(r"/api/tables/([\w-]+)", path) or re.search(r'"table":"([\w-]+)"', text)
        if not path.startswith("/api/tables") or code is None:
            return None
        return self.table(code[1])

    def table(self, code: str) -> Any:
        return self.registry._tables[code].table


def hidden_cards(table: Any) -> Iterator[str]:
    """The cards that the person at a table may not see now: other seats' and the stock's top."""
    g, viewer = table._game._games[0], table.seat
    if table._game.seat is None:
        return
    for seat in range(table.rules.seats):
        if g["lives"][seat] > 0 and seat != viewer and not g["known"][seat, viewer]:
            yield card_text(int(g["card"][seat]))
    if int(g["top"]) != int(g["stock"]) and int(g["top"]) != NO_CARD:
        yield card_text(int(g["top"]))


def laid_away(table: Any) -> dict[int, list[str]]:
    """By round: the cards that were laid away for one from the stock, and that the person never saw."""
    laid: dict[int, list[str]] = {}
    for number, happened in enumerate(rounds_of(table), 1):
        held: dict[int, str] = {}
        seen: set[str] = set()
        for event in happened:
            if event.event == "drew" and held[event.seat] not in seen:
                laid.setdefault(number, []).append(held[event.seat])
            if event.event in {"dealt", "drew", "turned_up", "showed", "swapped"}:
                held[event.seat] = event.card
            if event.event == "swapped":
                held[event.other] = event.other_card
            seen.update(filter(None, (held.get(table.seat), event.seen_by(table.seat).card)))
    return laid


def seeds(table: Any) -> tuple[str, ...]:
    """The seed and the generator's state, as they would be written."""
    numbers = [table._seed, *table._game._games[0]["rng"].ravel().tolist()]
    return tuple(form for each in numbers for form in (str(each), f"{each:x}") if len(form) > 5)


class Served:
    """A practice table that listens, and can be stopped and started again."""

    def __init__(self) -> None:
        from cuckoo_env.play import server

        self._server = server
        self._port = 0
        self.start()

    def start(self) -> None:
        from cuckoo_env.play.menu import Menu
        from cuckoo_env.play.opponents import Opponent
        from cuckoo_env.play.registry import Registry

        menu = Menu(Rules.parse("practice-table"), [Opponent.of("robin"), Opponent.of("alex")])
        registry = Registry()
        self.wire = Wire(self._server.make_app(menu, registry=registry), registry)
        listener = self._server.listen("127.0.0.1", self._port)
        self._port = listener.getsockname()[1]
        self._uvicorn = self._server.make_server(self.wire)
        self._thread = threading.Thread(target=self._uvicorn.run, args=([listener],), daemon=True)
        self._thread.start()
        self._listener = listener

    def stop(self) -> None:
        self._uvicorn.should_exit = True
        self._thread.join(20)
        self._listener.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    # Chromium's own sandbox does not work for the root user of a container.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    from cuckoo_env import seeding

    check = seeding.check_seed
    # The same games in every run: what the operating system would give is given here.
    monkeypatch.setattr(
        seeding, "check_seed", lambda seed: check(20_240_607 if seed is None else seed)
    )
    each = Served()
    yield each
    each.stop()


@pytest.fixture
def person(chromium: Any, served: Served) -> Iterator[Callable[..., Person]]:
    """Makes people who sit at the page; afterwards nothing may have gone wrong in their browsers."""
    people: list[Person] = []

    def come(size: tuple[int, int] = DESKTOP, **wishes: Any) -> Person:
        people.append(Person(chromium, served, size, **wishes))
        return people[-1]

    yield come
    for each in people:
        each.context.close()
        assert each.complaints == []
        assert [url for url in each.asked if not url.startswith(served.url)] == []


class Person:
    """Somebody at the page."""

    def __init__(
        self,
        chromium: Any,
        served: Served,
        size: tuple[int, int],
        *,
        pace: str = "at once",
        **wishes: Any,
    ) -> None:
        self.served = served
        viewport = {"width": size[0], "height": size[1]}
        self.context = chromium.new_context(viewport=viewport, **wishes)
        self.context.add_init_script(f"sessionStorage.setItem('cuckoo.pace', {pace!r})")
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.heard: list[Any] = []
        self.sockets: list[Any] = []
        self.expects: tuple[str, ...] = ()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("response", lambda response: self._note(self.heard, response))
        self.page.on("websocket", lambda socket: self._note(self.sockets, socket))

    @staticmethod
    def _note(noted: list[Any], each: Any) -> None:
        # Playwright marks what it calls, and a list's own method cannot be marked.
        noted.append(each)

    def _hear(self, message: Any) -> None:
        if message.type in {"error", "warning"} and not any(
            each in message.text for each in self.expects
        ):
            self.complaints.append(message.text)

    def go(self, page: str) -> None:
        self.page.goto(f"{self.served.url}#{page}")
        self.page.wait_for_selector(f"main[data-page='{page}'] h1")

    def sit_down(
        self,
        rules: str = "practice-table",
        seats: int = 3,
        opponents: tuple[str, ...] = (),
        *,
        coach: bool = False,
        name: str = "You",
        **changes: str,
    ) -> None:
        """Choose a table as one does by hand."""
        self.go("new")
        self.page.fill("[name=name]", name)
        self.page.select_option("[name=preset]", rules)
        self.page.select_option("[name=seats]", str(seats))
        if changes:
            self.page.click("text=Variants")
        for axis, value in changes.items():
            control = self.page.locator(f"[name=axis-{axis}]")
            if axis == "lives":
                control.fill(value)
                control.blur()
            else:
                control.select_option(value)
        for at, spec in enumerate(opponents):
            self.page.select_option(f"[name=opponent-{at}]", spec)
        switch = self.page.get_by_role("switch", name="Coach")
        if (switch.get_attribute("aria-checked") == "true") != coach:
            switch.click()
        self.page.click("text=Deal the cards")
        self.settle()

    def settle(self) -> str:
        """Wait until the page waits for the person; returns what it waits for."""
        self.page.wait_for_selector(".controls[data-state]:not([data-state=telling])")
        return self.state

    @property
    def state(self) -> str:
        found: str = self.page.get_attribute(".controls", "data-state")
        return found

    @property
    def legal(self) -> list[str]:
        found: list[str] = self.page.eval_on_selector_all(
            ".actions [data-action]", "all => all.map(each => each.dataset.action)"
        )
        return found

    @property
    def table(self) -> Any:
        """The table as the server knows it."""
        code = self.page.evaluate("sessionStorage.getItem('cuckoo.table')")
        return self.served.wire.table(code)

    def press(self, label: str) -> str:
        """Press a button and see what comes of it."""
        before = self.page.locator(".controls > *").first.element_handle()
        self.page.locator(".controls").get_by_role("button", name=label).click()
        self.page.wait_for_function("node => !node.isConnected", arg=before)
        return self.settle()

    def decide(self, action: str) -> str:
        return self.press(action.capitalize())

    def play(
        self, choose: Callable[[list[str]], str] = lambda legal: legal[0], until: str = "over"
    ) -> None:
        """Play on until the page is in a state."""
        while (state := self.settle()) != until:
            if state == "decide":
                self.decide(choose(self.legal))
            elif state == "round":
                self.press("Next round")
            elif state == "watch":
                self.press("Watch on")
            else:
                raise AssertionError(f"the page is in the state {state} and never in {until}")

    def start_over(self) -> None:
        """A new game, from the menu of options; a question is asked first unless the game is over."""
        told = self.page.locator(".log").element_handle()
        before = told.query_selector("p")
        self.page.click("text=Options")
        self.page.locator(".options-list").get_by_role("button", name="Start over").click()
        self.page.wait_for_function("node => !node.isConnected", arg=before)
        assert self.settle() == "decide"

    @property
    def log(self) -> list[str]:
        """What has been told."""
        told: list[str] = self.page.eval_on_selector_all(
            ".log [data-event]", "all => all.map(each => each.textContent)"
        )
        return told

    @property
    def tokens(self) -> list[int]:
        """The lives that lie on the table."""
        found: list[int] = self.page.eval_on_selector_all(
            ".stage .seat",
            "all => all.map(each => each.querySelectorAll('.token:not(.token-lost)').length)",
        )
        return found

    @property
    def open_cards(self) -> list[str]:
        found: list[str] = self.page.eval_on_selector_all(
            ".stage .seat-card .card", "all => all.map(each => each.dataset.card)"
        )
        return found


# Playing


def test_a_whole_match_is_told_to_its_end(person: Any) -> None:
    somebody = person()
    somebody.sit_down()
    assert somebody.log[0] == "A new round: Alex deals."
    rounds = 0
    while (state := somebody.settle()) != "over":
        if state == "round":
            rounds += 1
            check_round(somebody, rounds)
            somebody.press("Next round")
        elif state == "watch":
            somebody.press("Watch on")
        else:
            somebody.decide("keep")
    table = somebody.table
    assert rounds == len(rounds_of(table)) - 1
    assert somebody.log == events.story(table._game.events, table.seat, table.names)
    assert somebody.tokens == list(table._game.lives)
    winner = table._game.result.winners[0]
    name = "You win" if winner == table.seat else f"{table.names[winner]} wins"
    assert somebody.page.inner_text(".outcome") == f"{name}, after {rounds + 1} rounds."


def rounds_of(table: Any) -> list[list[Any]]:
    """What has happened at a table, round by round."""
    rounds: list[list[Any]] = []
    for event in table._game.events:
        if event.event == "round":
            rounds.append([])
        if rounds:
            rounds[-1].append(event)
    return rounds


def check_round(somebody: Person, number: int) -> None:
    """The panel after a round says who lost what, with which card, and everybody's lives."""
    table, page = somebody.table, somebody.page
    rounds = rounds_of(table)
    losses = stood(rounds[number - 1])
    revealed = {event.seat: event.card for event in rounds[number - 1] if event.event == "revealed"}
    heading = page.inner_text(".result h2")
    assert heading == f"Round {number}: {told_together(rounds[number - 1], table)}"
    marked = page.locator(".standing-loses").evaluate_all(
        "all => all.map(each => Number(each.dataset.seat))"
    )
    assert marked == sorted(event.seat for event in losses)
    reasons = page.locator(".whys").all_inner_texts()
    assert len(reasons) == (1 if losses else 0)
    whys = " ".join(reasons)
    assert all(card_symbol(parse_card(revealed[event.seat])) in whys for event in losses)
    lives = [table.rules.lives] * table.rules.seats
    for event in (event for happened in rounds[:number] for event in stood(happened)):
        lives[event.seat] -= event.count
    shown = page.locator(".standing").evaluate_all(
        "all => all.map(each => each.querySelectorAll('.token:not(.token-lost)').length)"
    )
    assert shown == lives


def stood(happened: list[Any]) -> list[Any]:
    """The losses of a round, but for those that a final tie takes back."""
    stands = events.losses_stand(happened)
    return [event for event in happened if event.event == "lost" and stands]


def told_together(happened: list[Any], table: Any) -> str:
    """What a round came to in which each loses one life, if it stands."""
    losses = stood(happened)
    if not losses:
        tie = next(event for event in happened if event.event == "final_tie")
        return str(events.sentence(tie, table.seat, table.names))
    if len(losses) == 1:
        return str(events.sentence(losses[0], table.seat, table.names))
    names = ["You" if each.seat == table.seat else table.names[each.seat] for each in losses]
    return f"{', '.join(names[:-1])} and {names[-1]} each lose a life."


def find_seed(rules: str, opponents: str, fits: Callable[[Any], bool]) -> int:
    """The first seed whose table is as it is wanted."""
    from cuckoo_env.play.opponents import Opponent
    from cuckoo_env.play.table import Table, TableSettings

    agents = tuple(map(Opponent.of, opponents.split(",")))
    for seed in range(5000):
        settings = TableSettings(rules=Rules.parse(rules), opponents=agents, coach=False, seed=seed)
        if fits(Table(settings)):
            return seed
    raise AssertionError("there is no such seed")


@pytest.fixture
def deal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets the next tables be those of a seed that fits."""
    from cuckoo_env import seeding

    check = seeding.check_seed

    def choose(rules: str, opponents: str, fits: Callable[[Any], bool]) -> None:
        with monkeypatch.context() as context:
            context.setattr(seeding, "check_seed", lambda seed: seed)
            seed = find_seed(rules, opponents, fits)
        monkeypatch.setattr(
            seeding, "check_seed", lambda given: check(seed if given is None else given)
        )

    return choose


def happened_after(table: Any, action: str) -> set[str]:
    return {frame["event"] for frame in table.act(table.turn, action)["frames"]}


def test_a_tie_for_everybody_s_last_life_costs_nothing(person: Any, deal: Any) -> None:
    rules = "standard,seats=2,lives=1,final_tie=replay"
    deal(rules, "robin", lambda table: "final_tie" in happened_after(table, "keep"))
    somebody = person()
    somebody.sit_down("standard", 2, ("robin",), final_tie="replay", lives="1")
    assert somebody.decide("keep") == "round"
    page = somebody.page
    check_round(somebody, 1)
    assert page.inner_text(".result h2") == "Round 1: Everyone still in would go out at once."
    said = page.locator(".result > p")
    assert "they keep their lives" in said.first.inner_text()
    size = "each => parseFloat(getComputedStyle(each).fontSize)"
    assert said.first.evaluate(size) == page.locator("body").evaluate(size)
    assert page.locator(".standing-loses").count() == 0
    assert "−" not in page.inner_text(".result")
    assert page.locator(".standing-tied").all_inner_texts() == ["tied", "tied"]
    assert somebody.tokens == [1, 1]
    losses = [line for line in somebody.log if " a life" in line]
    assert len(losses) == 2
    assert all("would lose a life" in line for line in losses)
    somebody.press("Next round")
    somebody.play(lambda legal: legal[0])
    page.click("text=Every round")
    first = page.locator(".rounds li").first.inner_text()
    assert first == "a tie"


def test_a_tie_that_brings_all_back_is_told_in_the_words_of_its_rule(
    person: Any, deal: Any
) -> None:
    def out_then_tied(table: Any) -> bool:
        if "out" not in happened_after(table, "keep"):
            return False
        return table.snapshot()["phase"] == "decide" and "carried" in happened_after(table, "keep")

    deal("standard,seats=3,lives=1,final_tie=carry", "robin,alex", out_then_tied)
    somebody = person()
    somebody.sit_down("standard", 3, ("robin", "alex"), final_tie="carry", lives="1")
    somebody.decide("keep")
    somebody.press("Next round")
    assert somebody.decide("keep") == "round"
    page = somebody.page
    assert page.inner_text(".result h2") == "Round 2: Everyone still in would go out at once."
    said = page.locator(".result > p").first.inner_text()
    assert said == explain.CHOICES["final_tie"][FinalTie.CARRY]
    assert page.locator(".standing-tied").all_inner_texts() == ["tied", "tied"]
    assert somebody.tokens == [1, 1, 1]


def test_those_who_lose_together_are_told_together(person: Any, deal: Any) -> None:
    def several(table: Any) -> bool:
        frames = table.act(table.turn, "keep")["frames"]
        lost = [frame for frame in frames if frame["event"] == "lost"]
        return len(lost) == 2 and all(frame["seat"] != 0 for frame in lost)

    deal("cuckoo,seats=3", "robin,alex", several)
    somebody = person()
    somebody.sit_down("cuckoo", 3, ("robin", "alex"))
    somebody.decide("keep")
    assert somebody.page.inner_text(".result h2") == "Round 1: Robin and Alex each lose a life."
    assert somebody.page.locator(".whys").count() == 1
    reason = somebody.page.inner_text(".whys")
    assert reason.startswith("Two held the lowest")
    assert somebody.page.locator(".log .log-why").all_inner_texts().count(reason) == 1


@pytest.mark.parametrize("direction", ["left", "right"])
def test_the_order_of_play_is_shown_and_moves(person: Any, direction: str) -> None:
    somebody = person()
    somebody.sit_down("cuckoo", seats=4, direction=direction)
    step = {"left": 1, "right": -1}[direction]
    rounds = 0
    while rounds < 2 and somebody.settle() in {"decide", "round"}:
        if somebody.state == "round":
            rounds += 1
            somebody.press("Next round")
            continue
        dealer, lives = somebody.table._game.dealer, somebody.table._game.lives
        round_table = [(dealer + step * each) % 4 for each in range(1, 5)]
        order = [seat for seat in round_table if lives[seat] > 0]
        places = somebody.page.locator(".seat .seat-place [aria-hidden]").all_inner_texts()
        assert [int(places[seat]) for seat in order] == list(range(1, len(order) + 1))
        assert somebody.page.locator(".arrow").count() == len(order) - 1
        beside = somebody.page.evaluate(
            """[...document.querySelectorAll('.seat')].findIndex(
                seat => seat.contains(document.querySelector('.dealer-button')))"""
        )
        assert beside == dealer
        somebody.decide("keep")
    assert rounds > 0


def test_cards_lie_open_only_at_the_reveal(person: Any) -> None:
    somebody = person()
    somebody.sit_down()
    own, *others = somebody.open_cards
    assert own == card_text(int(somebody.table._game._games[0]["card"][0]))
    assert others == ["", ""]
    while somebody.settle() == "decide":
        somebody.decide("keep")
    assert all(somebody.open_cards)


def test_a_response_turn_can_be_paid_shown_or_accepted(person: Any, deal: Any) -> None:
    deal(
        "onesies,seats=3,jack=may_block",
        "alex,alex",
        lambda table: "show" in table.snapshot()["legal"],
    )
    somebody = person()
    somebody.sit_down("onesies", 3, ("alex", "alex"), jack="may_block")
    taken: set[str] = set()
    while taken != {"accept", "show", "pay"}:
        state = somebody.settle()
        if state == "round":
            somebody.press("Next round")
        elif state in {"over", "watch"}:
            somebody.press("Play again" if state == "over" else "Start over")
        elif "accept" in (legal := somebody.legal):
            assert "asks you to swap" in somebody.page.inner_text(".prompt")
            wanted = next(
                (each for each in ("show", "pay", "accept") if each in legal and each not in taken),
                "accept",
            )
            somebody.decide(wanted)
            taken.add(wanted)
            told = {"accept": "swaps with you", "pay": "You pay a life", "show": "You show"}[wanted]
            assert any(told in line for line in somebody.log)
        else:
            somebody.decide("keep")


def test_the_table_can_be_started_over(person: Any) -> None:
    somebody = person()
    somebody.sit_down()
    somebody.decide("keep")
    somebody.page.once("dialog", lambda dialog: dialog.accept())
    before = somebody.table.turn
    somebody.start_over()
    assert somebody.page.locator(".log [data-event=round]").count() == 1
    assert somebody.table.turn == before + 1
    assert somebody.tokens == [3, 3, 3]
    assert somebody.page.locator(".log [data-event=revealed]").count() == 0


def test_who_is_out_watches_on_and_sees_the_end(person: Any) -> None:
    somebody = person()
    somebody.sit_down("cuckoo", seats=4)
    # Asking away even high cards loses sooner or later; who wins all the same plays again.
    while True:
        state = somebody.settle()
        if state == "watch":
            break
        if state == "over":
            somebody.press("Play again")
        elif state == "round":
            somebody.press("Next round")
        else:
            somebody.decide("swap" if "swap" in somebody.legal else somebody.legal[0])
    assert somebody.tokens[0] == 0
    # Whoever is out has no turn, and no badge for it that covers a name.
    assert not somebody.page.locator(".seat-you .seat-place").is_visible()
    told = len(somebody.log)
    somebody.press("Watch on")
    assert len(somebody.log) > told
    while somebody.state == "round":
        somebody.press("Next round")
    if somebody.state == "watch":
        somebody.press("Show the end")
    assert somebody.state == "over"
    assert somebody.page.locator("text=Download the record").is_visible()
    assert somebody.press("Play again") == "decide"


def test_ten_seats_fit_without_covering_each_other(person: Any) -> None:
    for size in (PHONE, DESKTOP):
        somebody = person(size)
        somebody.sit_down("onesies", seats=10)
        boxes = somebody.page.eval_on_selector_all(
            ".stage .seat",
            """all => all.map(seat => ['.seat-card', '.plaque', '.seat-place'].map(part => {
                const box = seat.querySelector(part).getBoundingClientRect();
                return [box.left, box.top, box.right, box.bottom];
            }))""",
        )
        assert all(box[0] >= 0 and box[2] <= size[0] for seat in boxes for box in seat)
        plaques = [seat[1] for seat in boxes]
        cards = [seat[0] for seat in boxes]
        places = [seat[2] for seat in boxes]
        # Where a turn comes stands on no card, its own least of all.
        assert not any(overlap(place, card) for place in places for card in cards)
        for one, plaque in enumerate(plaques):
            for two in range(len(boxes)):
                if one != two:
                    assert not overlap(plaque, plaques[two]), (size, one, two)
                    assert not overlap(plaque, cards[two]), (size, one, two)


BOXES = """(which) => which.map(each => { const box = document.querySelector(each).getBoundingClientRect();
    return [box.left, box.top, box.right, box.bottom]; })"""
SMALL = (320, 568)
NARROW = [SMALL, PHONE, (390, 844), (720, 450), (820, 1180), (1280, 720), (1440, 900)]


@pytest.mark.parametrize("size", NARROW, ids=str)
def test_the_person_s_seat_leaves_the_stock_and_the_desk_free(
    person: Any, size: tuple[int, int]
) -> None:
    somebody = person(size, reduced_motion="reduce")
    for seats in (3, 4, 5, 10):
        somebody.sit_down("standard" if seats > 3 else "practice-table", seats=seats)
        parts = [".seat-you .seat-card", ".seat-you .plaque", ".stock > .card", ".desk"]
        card, plaque, stock, desk = somebody.page.evaluate(BOXES, parts)
        assert plaque[3] <= desk[1], seats
        assert not overlap(card, stock), seats
        # What can be done lies within the window.
        assert somebody.page.evaluate(BOXES, [".controls"])[0][3] <= size[1], seats


@pytest.mark.parametrize("size", NARROW, ids=str)
def test_nothing_is_wider_than_the_window_wherever_the_deal_is(
    person: Any, size: tuple[int, int]
) -> None:
    somebody = person(size, reduced_motion="reduce")
    for page in PAGES:
        somebody.page.goto(f"{somebody.served.url}#{page}")
        somebody.page.wait_for_selector("h1")
        somebody.page.wait_for_timeout(200)
        assert somebody.page.evaluate("document.documentElement.scrollWidth") <= size[0], page
    somebody.sit_down("standard", seats=4)
    dealers = set()
    while len(dealers) < 4:
        state = somebody.settle()
        if state == "round":
            somebody.press("Next round")
            continue
        dealers.add(somebody.table._game.dealer)
        assert somebody.page.evaluate("document.documentElement.scrollWidth") <= size[0]
        button = somebody.page.evaluate(BOXES, [".dealer-button"])[0]
        assert button[0] >= 0
        assert button[2] <= size[0]
        somebody.decide(somebody.legal[0])


@pytest.mark.parametrize("size", [SMALL, (820, 1180), (1440, 900)], ids=str)
@pytest.mark.parametrize("name", ["W" * 24, "Wilhelmina Featherstone"])
def test_a_long_name_stays_on_its_plaque(person: Any, size: tuple[int, int], name: str) -> None:
    somebody = person(size, reduced_motion="reduce")
    somebody.sit_down(seats=3, name=name)
    parts = [
        ".stage",
        ".seat-you",
        ".seat-you .seat-card",
        ".seat-you .plaque",
        ".seat-you .seat-name",
    ]
    stage, seat, card, plaque, shown = somebody.page.evaluate(BOXES, parts)
    middle = (stage[0] + stage[2]) / 2
    for box in (seat, card, plaque):
        assert (box[0] + box[2]) / 2 == pytest.approx(middle, abs=1.5)
    assert seat[0] - 0.5 <= plaque[0]
    assert plaque[2] <= seat[2] + 0.5
    assert plaque[0] <= shown[0]
    assert shown[2] <= plaque[2]
    assert somebody.page.locator(".seat-you .seat-name").get_attribute("title") == name
    assert somebody.page.evaluate("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("seats", [2, 4, 5, 6, 8])
def test_the_seat_at_the_top_leaves_the_heading_free(person: Any, seats: int) -> None:
    for size in (PHONE, DESKTOP):
        somebody = person(size)
        somebody.sit_down("standard", seats=seats)
        # A seat with two lines of notes is as high as it gets.
        somebody.page.eval_on_selector_all(
            ".seat-note",
            "all => all.forEach(each => { each.textContent = 'was sent on and swapped'; })",
        )
        # In one go: the page may be scrolling.
        low, high = somebody.page.evaluate(
            """() => {
                const boxes = (which) => [...document.querySelectorAll(which)].map(
                    each => each.getBoundingClientRect());
                return [
                    Math.max(...boxes('.table-bar .hint, .options').map(box => box.bottom)),
                    Math.min(...boxes('.seat-card, .plaque, .seat-place').map(box => box.top)),
                ];
            }"""
        )
        assert high >= low, size


def test_the_swap_button_says_with_whom(person: Any) -> None:
    somebody = person()
    somebody.sit_down()
    swap = somebody.page.locator("[data-action=swap]")
    assert swap.locator(".action-hint").inner_text() == "with Robin"
    somebody.sit_down("standard", seats=2)
    while somebody.settle() == "decide" and somebody.table.snapshot()["view"]["dealer"] != 0:
        somebody.decide("keep")
        if somebody.state == "round":
            somebody.press("Next round")
    assert swap.locator(".action-hint").inner_text() == "from the stock"


def overlap(one: list[float], two: list[float]) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


def test_a_reload_goes_on_where_the_table_stands(person: Any) -> None:
    somebody = person()
    somebody.sit_down()
    card = somebody.open_cards[0]
    somebody.page.reload()
    assert somebody.settle() == "decide"
    assert somebody.open_cards[0] == card


def test_a_reload_tells_again_what_was_told_last(person: Any) -> None:
    somebody = person()
    somebody.sit_down()
    told = somebody.log
    somebody.page.get_by_role("switch", name="Coach").click()
    somebody.page.wait_for_selector("text=After each of your decisions")
    assert somebody.log == told
    somebody.page.reload()
    assert somebody.settle() == "decide"
    assert somebody.log == told


def test_the_coach_switch_gives_nothing_away_and_holds_nothing_up(person: Any) -> None:
    somebody = person(pace="calm")
    somebody.go("new")
    somebody.page.select_option("[name=preset]", "standard")
    somebody.page.select_option("[name=seats]", "2")
    somebody.page.click("text=Variants")
    somebody.page.fill("[name=axis-lives]", "1")
    somebody.page.click("text=Deal the cards")
    somebody.page.click("text=Show at once")
    ends = 0
    while not ends:
        somebody.settle()
        somebody.page.click(".controls .primary >> nth=0")
        somebody.page.wait_for_selector(".controls[data-state=telling]")
        if somebody.table._game.seat is None:
            ends += 1
            throw_switch(somebody)
            # Long enough for the answer to have been drawn, if it were.
            somebody.page.evaluate("() => new Promise(done => requestAnimationFrame(done))")
            assert somebody.state == "telling"
            assert somebody.page.locator(".outcome").count() == 0
        somebody.page.click("text=Show at once")
    while somebody.settle() != "over":
        somebody.press("Next round")
    assert somebody.page.locator(".outcome").count() == 1


def throw_switch(somebody: Person) -> None:
    """Switch the coach on or off, and wait until the server has answered."""
    with somebody.page.expect_response("**/coach"):
        somebody.page.get_by_role("switch", name="Coach").click()


def test_the_coach_switch_leaves_the_next_round_to_be_dealt(person: Any) -> None:
    somebody = person()
    somebody.sit_down()
    while somebody.decide("keep") != "round":
        pass
    throw_switch(somebody)
    somebody.page.wait_for_selector("text=After each of your decisions")
    assert somebody.state == "round"
    assert somebody.press("Next round") == "decide"


def test_the_table_says_what_is_played_in_words(person: Any) -> None:
    somebody = person()
    somebody.sit_down("onesies", 4, ("robin", "alex", "robin"), queen="redirects")
    line = somebody.page.locator(".table-bar .hint")
    told = "Against Robin, Alex and Robin 2 · rules: onesies, 4 seats, queen redirects"
    assert line.inner_text() == told
    assert line.locator("a").get_attribute("title") == "onesies,seats=4,queen=redirects"


def test_a_stake_that_is_played_for_lies_on_the_table(person: Any) -> None:
    somebody = person()
    somebody.sit_down("standard", 2, ("robin",), final_tie="carry_stake", lives="1")
    assert somebody.page.inner_text(".felt-sign") == "Round 1, pot 2"
    somebody.play(lambda legal: legal[0])
    payoffs = somebody.table._game.result.payoffs
    told = somebody.page.locator("text=Of the stakes").inner_text()
    for name, payoff in zip(("You", "Robin"), payoffs, strict=True):
        assert f"{name} {'−' if payoff < 0 else '+'}{abs(payoff):g}" in told
    somebody.sit_down()
    assert somebody.page.inner_text(".felt-sign") == "Round 1"
    somebody.play(lambda legal: legal[0])
    assert somebody.page.locator("text=Of the stakes").count() == 0


def test_the_table_waits_while_one_looks_elsewhere(person: Any) -> None:
    somebody = person()
    somebody.sit_down()
    somebody.page.keyboard.press("k")
    somebody.page.wait_for_selector(".controls[data-state=round]")
    told = somebody.log
    somebody.page.click("nav >> text=Learn")
    somebody.page.wait_for_selector(".shelf")
    turn = somebody.table.turn
    somebody.page.keyboard.press("n")
    somebody.page.click("nav >> text=Play")
    somebody.page.wait_for_selector(".controls[data-state=round]")
    assert somebody.log == told
    assert somebody.table.turn == turn
    somebody.page.keyboard.press("n")
    assert somebody.settle() == "decide"


def test_a_stale_page_is_told_and_catches_up(person: Any) -> None:
    somebody = person()
    somebody.expects = ("409",)
    somebody.sit_down()
    table = somebody.table
    table.act(table.turn, "keep")
    somebody.page.click("[data-action=keep]")
    somebody.page.wait_for_selector(".notice")
    assert "turn" in somebody.page.inner_text(".notice")
    somebody.page.wait_for_function(
        "() => document.querySelectorAll('.log [data-event=kept]').length > 0"
    )


def refuse(route: Any) -> None:
    error = {"code": "illegal", "message": "action: this one is refused"}
    route.fulfill(status=400, json={"error": error})


LOSSES = {"lost": lambda route: route.abort(), "refused": refuse}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_message_without_effect_tells_nothing_again(person: Any, loss: str) -> None:
    somebody = person()
    somebody.expects = ("ERR_FAILED", "400")
    somebody.sit_down(coach=True)
    somebody.decide("keep")
    if somebody.state == "round":
        somebody.press("Next round")
    told, advice = somebody.log, somebody.page.inner_text(".coach-body")
    somebody.page.route("**/api/tables/*/*", LOSSES[loss])
    switch = somebody.page.get_by_role("switch", name="Coach")
    for control in (somebody.page.locator(".actions [data-action=keep]"), switch):
        with somebody.page.expect_response("**/api/tables/*"):
            control.click()
            somebody.page.locator(".notice button").click()
    somebody.page.wait_for_selector(".coach [role=switch][aria-checked=true]")
    assert somebody.log == told
    assert somebody.page.inner_text(".coach-body") == advice
    somebody.page.unroute("**/api/tables/*/*")
    somebody.decide("keep")
    assert somebody.log[: len(told)] == told


def test_an_answer_from_before_the_last_move_is_not_told(person: Any) -> None:
    somebody = person()
    somebody.sit_down()
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append((route, route.fetch()))

    somebody.page.route("**/api/tables/*", hold)
    somebody.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    somebody.page.wait_for_timeout(100)
    ((route, before),) = held
    somebody.decide("keep")
    told, state = somebody.log, somebody.state
    with somebody.page.expect_response("**/api/tables/*"):
        route.fulfill(response=before)
    somebody.page.wait_for_timeout(100)
    assert (somebody.log, somebody.state) == (told, state)


def test_what_takes_its_time_says_so(person: Any) -> None:
    somebody = person()
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    somebody.go("learn")
    somebody.page.route("**/api/lessons/*", hold)
    somebody.page.evaluate("location.hash = '#learn/king'")
    somebody.page.wait_for_selector("[role=status] >> text=One moment")
    held.pop().continue_()
    somebody.page.wait_for_selector("h1 >> text=A king in the way")
    somebody.go("new")
    somebody.page.route("**/api/tables", hold)
    somebody.page.click("text=Deal the cards")
    somebody.page.wait_for_selector("button >> text=One moment")
    somebody.expects = ("ERR_FAILED",)
    held.pop().abort()
    somebody.page.wait_for_selector("button >> text=Deal the cards")


# Learning


def test_every_lesson_is_told_and_answered(person: Any) -> None:
    somebody = person()
    somebody.go("learn")
    links = somebody.page.eval_on_selector_all(".shelf a", "all => all.map(each => each.hash)")
    from cuckoo_env.play import lessons

    assert links == [f"#learn/{each['id']}" for each in lessons.lessons()]
    for link in links:
        steps = lessons.lesson(link.rpartition("/")[2])["steps"]
        somebody.page.goto(f"{somebody.served.url}{link}")
        for at, step in enumerate(steps):
            somebody.page.wait_for_selector(f"text=Step {at + 1} of {len(steps)}")
            assert step["text"] in somebody.page.inner_text(".lesson .desk")
            if step.get("ask"):
                for answer in step["legal"]:
                    somebody.page.click(f".lesson [data-action={answer}]")
                    assert step["answers"][answer] in somebody.page.inner_text(".lesson-answer")
            if at + 1 < len(steps):
                somebody.page.click(".lesson .actions >> text=Next")


def test_a_lesson_is_walked_through_with_one_key(person: Any) -> None:
    from cuckoo_env.play import lessons

    somebody = person()
    somebody.go("learn/" + first_lesson())
    reach(somebody, "Next")
    steps = len(lessons.lesson(first_lesson())["steps"])
    focus = "document.activeElement.matches('.actions .primary')"
    for _ in range(2 * steps):
        if somebody.page.evaluate("document.activeElement.tagName") == "A":
            break
        assert somebody.page.evaluate(focus)
        somebody.page.keyboard.press("Enter")
    assert f"Step {steps} of {steps}" in somebody.page.inner_text(".progress")
    assert "←" in somebody.page.text_content(".progress")


@pytest.mark.parametrize("size", [PHONE, (390, 844), (1280, 720)], ids=str)
def test_the_buttons_of_a_lesson_stay_where_they_are(person: Any, size: tuple[int, int]) -> None:
    somebody = person(size, reduced_motion="reduce")
    from cuckoo_env.play import lessons

    for lesson in lessons.lessons():
        somebody.go("learn/" + lesson["id"])
        places = set()
        for _ in range(80):
            foot = somebody.page.evaluate(BOXES, [".desk-foot"])[0]
            assert foot[3] <= size[1]
            answer = somebody.page.locator(".lesson-answer")
            if answer.count():
                # What has been answered can be read without scrolling.
                assert somebody.page.evaluate(BOXES, [".lesson-answer"])[0][3] <= foot[1] + 1
            places.add(round(foot[3]))
            button = somebody.page.locator(".lesson .actions button.primary").first
            if not button.count():
                break
            button.click()
        # As good as: where there is more to read than room, they stand on the edge of the window.
        assert max(places) - min(places) < 32, lesson["id"]


def test_buttons_that_stand_together_are_alike(person: Any) -> None:
    for size in (PHONE, DESKTOP):
        somebody = person(size)
        somebody.sit_down("standard", 2, ("robin",), lives="1")
        somebody.play(lambda legal: legal[0])
        boxes = somebody.page.eval_on_selector_all(
            ".actions > *",
            "all => all.map(each => [each.offsetHeight, parseFloat(getComputedStyle(each).fontSize)])",
        )
        assert len(boxes) == 3
        assert len({tuple(box) for box in boxes}) == 1


# The coach


def exact_worths(table: Any) -> dict[int, dict[str, float]]:
    """By the rank it holds: what the first seat's choices are worth in the first round.

    Read off the exact trees, without the coach.
    """
    import numpy as np

    from cuckoo_env.evaluate.exact import action_values, best_response, reveal_worth, strategy_of
    from cuckoo_env.evaluate.match import Match

    match = Match(table.rules)
    # What sits in the person's seat is replaced by the best response.
    strategy = strategy_of(match, [table._agents[0], *table._agents])
    best = best_response(match, strategy, table.seat)
    position = next(
        each for each in match.positions if each.lives == (3, 3, 3) and each.dealer == 2
    )
    number = match.positions.index(position)
    tree = match.tree[number]
    assert match.order[number][0] == table.seat
    leaf = tree.outcomes @ reveal_worth(match, number, table.seat, best.win_share)
    own = tree.own_edges(0)
    won, _ = action_values(tree, best.strategy[number], own, leaf)
    reached, _ = action_values(tree, best.strategy[number], own, np.ones(len(tree.outcomes)))
    worths = {}
    for state in np.flatnonzero(tree.state_place == 0):
        edges = slice(tree.state_edge[state], tree.state_edge[state + 1])
        ranks, _ = tree.path_to(int(tree.state_node[state]))
        shares = (won[edges] / reached[edges]).tolist()
        worths[ranks[0]] = dict(zip(("keep", "swap"), shares, strict=True))
    return worths


def test_the_coach_s_figures_are_the_exact_ones(person: Any) -> None:
    somebody = person()
    somebody.sit_down(coach=True)
    worths = exact_worths(somebody.table)
    assert len(worths) == 13
    somebody.page.on("dialog", lambda dialog: dialog.accept())
    for action in ("keep", "swap", "keep", "swap"):
        card = somebody.open_cards[0]
        exact = worths[rank_of(parse_card(card))]
        somebody.decide(action)
        shown = somebody.page.eval_on_selector_all(
            ".worth", "all => all.map(each => [each.dataset.action, Number(each.dataset.share)])"
        )
        assert dict(shown) == pytest.approx(exact, abs=1e-9)
        text = somebody.page.inner_text(".coach")
        assert all(f"{100 * share:.1f} %" in text for share in exact.values())
        best = max(exact, key=exact.__getitem__)
        cost = float(somebody.page.get_attribute(".advice", "data-cost"))
        assert cost == pytest.approx(exact[best] - exact[action], abs=1e-9)
        somebody.start_over()


def test_the_coach_can_be_silenced_and_sums_up_at_the_end(person: Any) -> None:
    somebody = person()
    somebody.sit_down(coach=True)
    switch = somebody.page.get_by_role("switch", name="Coach")
    switch.click()
    somebody.page.wait_for_selector("text=The coach is silent.")
    somebody.decide("keep")
    assert somebody.page.locator(".advice").count() == 0
    switch.click()
    somebody.page.wait_for_selector("text=After each of your decisions")
    somebody.play(lambda _: "swap")
    results = somebody.table.snapshot()["results"]
    assert results["judged"] == results["decisions"] - 1
    told = f"The coach judged {results['judged']} of your {results['decisions']} decisions."
    assert told in somebody.page.inner_text(".result")
    assert 1 <= somebody.page.locator(".costliest li").count() <= 3
    costs = [each.cost for each in somebody.table._advices]
    shown = somebody.page.eval_on_selector_all(
        ".costliest .cost", "all => all.map(each => each.textContent)"
    )
    assert shown[0].startswith(f"{100 * max(costs):.1f} ")


def test_advice_says_of_what_it_is_and_steps_back(person: Any) -> None:
    somebody = person(pace="calm")
    somebody.go("new")
    somebody.page.click("text=Deal the cards")
    somebody.page.click("text=Show at once")
    somebody.settle()
    card = RANK_WORDS[somebody.open_cards[0][0]]
    somebody.page.click("[data-action=keep]")
    somebody.page.wait_for_selector(".advice")
    assert somebody.page.inner_text(".advice-when") == f"Round 1, with {card}"
    past = somebody.page.locator(".coach-past")
    assert past.count() == 0
    somebody.page.click("text=Show at once")
    somebody.settle()
    assert past.count() == 0
    while somebody.state == "round":
        somebody.page.click("text=Next round")
        somebody.page.click("text=Show at once")
        somebody.settle()
    assert somebody.state == "decide"
    assert past.count() == 1


RANK_WORDS = {
    **{str(number): f"a {number}" for number in range(2, 10)},
    "8": "an 8",
    "T": "a 10",
    "J": "a jack",
    "Q": "a queen",
    "K": "a king",
    "A": "an ace",
}


def test_a_coach_who_judged_nothing_praises_nothing(person: Any) -> None:
    somebody = person()
    somebody.sit_down("standard", 2, ("robin",), lives="1")
    somebody.play(lambda legal: legal[0])
    assert "The coach judged none of your decisions." in somebody.page.inner_text(".result")
    assert "well played" not in somebody.page.inner_text(".result")


def test_a_decision_without_advice_is_told(person: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from cuckoo_env.play import coach

    def fail(*_: Any) -> Any:
        raise coach.ImpossibleError("no deal fits")

    somebody = person()
    somebody.sit_down(coach=True)
    somebody.decide("keep")
    assert somebody.page.locator(".advice").count() == 1
    somebody.page.on("dialog", lambda dialog: dialog.accept())
    somebody.start_over()
    assert "After each of your decisions" in somebody.page.inner_text(".coach")
    monkeypatch.setattr(coach.Coach, "advise", fail)
    somebody.decide("keep")
    assert "No advice on this decision" in somebody.page.inner_text(".coach")


def test_a_coach_who_takes_time_says_so(person: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from cuckoo_env.play import coach

    done, advise = threading.Event(), coach.Coach.advise

    def think(*said: Any) -> Any:
        assert done.wait(60)
        return advise(*said)

    somebody = person()
    somebody.sit_down(coach=True)
    monkeypatch.setattr(coach.Coach, "advise", think)
    somebody.page.click("[data-action=keep]")
    somebody.page.wait_for_selector("text=The coach is working it out")
    done.set()
    somebody.page.wait_for_selector(".advice")
    assert "working it out" not in somebody.page.inner_text(".coach")


# Afterwards


def test_the_replay_shows_every_step_and_what_each_seat_knew(person: Any) -> None:
    somebody = person()
    somebody.sit_down()
    somebody.play()
    table = somebody.table
    somebody.page.click("text=Replay step by step")
    steps = table.replay()
    somebody.page.wait_for_selector(f"text=Step 1 of {len(steps)}")
    viewer = somebody.page.get_by_label("Show", exact=True)
    for at in (0, 3, 7, len(steps) - 1):
        somebody.page.locator("input[type=range]").fill(str(at))
        assert somebody.page.inner_text(".caption") == steps[at]["text"]
        for seat in range(3):
            viewer.select_option(str(seat))
            held = [each["holds"] for each in steps[at]["view"]["seats"]]
            knew = [
                card or ""
                for card, holds in zip(steps[at]["knew"][seat], held, strict=True)
                if holds
            ]
            assert [
                card for card, holds in zip(cards_of(somebody), held, strict=True) if holds
            ] == knew
        viewer.select_option("all")
        # What lay face down is told from what lay open.
        hidden = [each["holds"] and not each["shown"] for each in steps[at]["view"]["seats"]]
        assert (
            somebody.page.eval_on_selector_all(
                ".stage .seat",
                "all => all.map(each => each.querySelector('.card-down .card-peeked') !== null)",
            )
            == hidden
        )
    somebody.page.keyboard.press("Home")


def cards_of(somebody: Person) -> list[str]:
    found: list[str] = somebody.page.eval_on_selector_all(
        ".stage .seat", "all => all.map(each => each.querySelector('.card')?.dataset.card ?? '')"
    )
    return found


def test_the_record_is_downloaded_and_replays(person: Any, tmp_path: Path) -> None:
    somebody = person()
    somebody.sit_down()
    somebody.play()
    with somebody.page.expect_download() as download:
        somebody.page.click("text=Download the record")
    file = tmp_path / "game.json"
    download.value.save_as(file)
    record = json.loads(file.read_text())
    checked = records.check(record)
    assert checked["winners"] == list(somebody.table._game.result.winners)


# Keyboard, screen readers, eyes


def test_everything_can_be_done_with_the_keyboard_alone(person: Any) -> None:
    somebody = person()
    somebody.go("new")
    keyboard = somebody.page.keyboard
    reach_field(somebody, "name")
    keyboard.press("Control+a")
    keyboard.type("Ann")
    reach_field(somebody, "preset")
    keyboard.type("four lives")
    reach_field(somebody, "seats", "Shift+Tab")
    while somebody.page.input_value("[name=seats]") != "4":
        keyboard.press(
            "ArrowUp" if int(somebody.page.input_value("[name=seats]")) > 4 else "ArrowDown"
        )
    reach_field(somebody, "opponent-0")
    keyboard.type("alex")
    reach(somebody, "Deal the cards")
    keyboard.press("Enter")
    assert somebody.settle() == "decide"
    assert somebody.table.rules == somebody.table.rules.replace(seats=4, lives=4)
    assert somebody.table.names[:2] == ("Ann", "Alex")
    states = set()
    while (state := somebody.settle()) != "over":
        states.add(state)
        press_with_keys(somebody, {"decide": "", "round": "Next round", "watch": "Watch on"}[state])
        if somebody.settle() == "round":
            # The focus is at what has just been said, so that the next tab reaches what can be done.
            assert somebody.page.evaluate("document.activeElement.textContent").startswith("Round ")
    assert {"decide", "round"} <= states
    assert somebody.table._game.seat is None
    assert somebody.page.locator(".outcome").is_visible()


def press_with_keys(somebody: Person, label: str) -> None:
    """Reach a button by the tab key, by default the first choice, and press it."""
    before = somebody.page.locator(".controls > *").first.element_handle()
    reach(somebody, label or somebody.legal[0].capitalize())
    somebody.page.keyboard.press("Enter")
    somebody.page.wait_for_function("node => !node.isConnected", arg=before)


def test_letters_press_buttons(person: Any) -> None:
    somebody = person()
    somebody.sit_down()
    keyboard = somebody.page.keyboard
    keyboard.press("k")
    somebody.page.wait_for_selector(".controls[data-state=round]")
    keyboard.press("n")
    assert somebody.settle() == "decide"
    keyboard.press("s")
    somebody.page.wait_for_function(
        "() => document.querySelectorAll('.log [data-event=asked]').length > 0"
    )
    reach(somebody, "Learn")
    keyboard.press("Enter")
    somebody.page.wait_for_selector(".shelf")
    assert somebody.page.evaluate("document.activeElement.tagName") == "H1"


def reach(somebody: Person, label: str) -> None:
    """Press the tab key until what has the focus is called so."""
    press_until(somebody, "Tab", "document.activeElement.textContent.trim()", label)


def reach_field(somebody: Person, name: str, key: str = "Tab") -> None:
    """Press the tab key until a field has the focus."""
    press_until(somebody, key, "document.activeElement.name ?? ''", name)


def press_until(somebody: Person, key: str, asked: str, wanted: str) -> None:
    for _ in range(60):
        somebody.page.keyboard.press(key)
        if somebody.page.evaluate(asked).startswith(wanted):
            return
    raise AssertionError(f"{key} never reaches {wanted}")


def test_letter_keys_can_be_switched_off(person: Any) -> None:
    somebody = person()
    somebody.sit_down()
    somebody.page.click("text=Options")
    somebody.page.get_by_role("switch", name="Letter keys").click()
    turn = somebody.table.turn
    somebody.page.keyboard.press("k")
    somebody.page.wait_for_timeout(200)
    assert somebody.table.turn == turn


NAMELESS = """() => [...document.querySelectorAll(
    'a, button, input, select, textarea, summary, [role=img], [role=switch], [role=log], [tabindex="0"]')]
  .filter(each => each.checkVisibility() && !each.closest('[aria-hidden=true]'))
  .filter(each => ![each.getAttribute('aria-label'), each.innerText, each.title,
      ...[...(each.labels ?? [])].map(label => label.innerText)].some(text => text?.trim()))
  .map(each => each.outerHTML)"""

CONTRASTS = """() => {
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const opaque = (color) => { const [, , , alpha = 1] = numbers(color); return alpha > 0.95; };
  const light = (color) => {
    const [r, g, b] = numbers(color).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, owner = node.parentElement;
    if (!node.textContent.trim() || owner.closest('.sr, .skip, option, script, noscript, .sprites')) continue;
    if (!owner.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    owner.scrollIntoView({block: 'center', behavior: 'instant'});
    const box = range.getClientRects()[0];
    if (!box || !box.width) continue;
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const stack = document.elementsFromPoint(x, y);
    const from = stack.indexOf(owner);
    if (from < 0) continue;
    const ground = stack.slice(from).map(each => getComputedStyle(each).backgroundColor).find(opaque)
      ?? getComputedStyle(document.body).backgroundColor;
    const card = owner.closest('svg.card');
    const color = card ? getComputedStyle(owner).fill : getComputedStyle(owner).color;
    const under = card ? getComputedStyle(card.querySelector('.card-paper')).fill : ground;
    const [high, low] = [light(color), light(under)].sort((a, b) => b - a);
    let veil = 1;
    for (let each = owner; each; each = each.parentElement) veil *= Number(getComputedStyle(each).opacity);
    found.push([(high + 0.05) / (low + 0.05), node.textContent.trim().slice(0, 40), color, under, veil]);
  }
  return found;
}"""


def at_every_page(somebody: Person) -> Iterator[str]:
    """Visit all pages, the table at several moments."""
    somebody.sit_down("onesies", seats=4, coach=True)
    yield "decide"
    while somebody.settle() == "decide":
        somebody.decide(somebody.legal[0])
    yield "round"
    for page in ("new", "learn", "learn/" + first_lesson(), "reference"):
        somebody.go(page)
        somebody.page.wait_for_timeout(250)
        yield page


def first_lesson() -> str:
    from cuckoo_env.play import lessons

    return str(lessons.lessons()[0]["id"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_every_page_can_be_read_and_named(person: Any, size: tuple[int, int], scheme: str) -> None:
    somebody = person(size, color_scheme=scheme, reduced_motion="reduce")
    for page in at_every_page(somebody):
        assert somebody.page.evaluate(NAMELESS) == [], page
        texts = somebody.page.evaluate(CONTRASTS)
        assert len(texts) > 8, page
        assert [each for each in texts if each[0] < 4.5 or each[-1] < 1] == [], page
        wide = somebody.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= size[0], page
        assert somebody.page.locator("h1").count() == 1, page
        assert somebody.page.evaluate("document.title")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_focus_can_be_seen_on_every_control(person: Any, scheme: str) -> None:
    somebody = person(color_scheme=scheme, reduced_motion="reduce")
    somebody.sit_down(coach=True)
    assert len(focused_by_tab(somebody)) >= 6
    somebody.go("new")
    somebody.page.click("text=Variants")
    assert len(focused_by_tab(somebody)) > 15


def focused_by_tab(somebody: Person) -> set[str]:
    """Everything that the tab key reaches, each with a ring that can be seen."""
    seen: set[str] = set()
    for _ in range(60):
        somebody.page.keyboard.press("Tab")
        name, style, width = somebody.page.evaluate(
            """() => { const it = document.activeElement, style = getComputedStyle(it);
                return [it.outerHTML.slice(0, 90), style.outlineStyle, parseFloat(style.outlineWidth)]; }"""
        )
        if name.startswith("<body") or name in seen:
            break
        assert style != "none", name
        assert width >= 2, name
        seen.add(name)
    return seen


def test_events_are_spoken_and_cards_have_names(person: Any) -> None:
    somebody = person()
    somebody.sit_down()
    assert somebody.page.get_attribute(".log", "aria-live") == "polite"
    card = somebody.open_cards[0]
    label = somebody.page.get_attribute(".seat-you .card", "aria-label")
    assert label.endswith({"c": "clubs", "d": "diamonds", "h": "hearts", "s": "spades"}[card[1]])
    seat = somebody.page.locator(".seat").nth(1)
    assert seat.get_by_role("img", name="face down").count() == 1
    assert seat.text_content().startswith("Robin, 3 of 3 lives left, plays second")


MOVING = "document.getAnimations().filter(each => each.playState === 'running').length"


def test_nothing_moves_where_motion_is_not_wanted(person: Any) -> None:
    moved = {}
    for wish, pace in (("reduce", "calm"), ("no-preference", "at once"), ("no-preference", "calm")):
        somebody = person(pace=pace, reduced_motion=wish)
        somebody.go("new")
        somebody.page.evaluate(
            """() => { window.moved = 0; const count = () => {
                window.moved += document.getAnimations().length; requestAnimationFrame(count); };
                count(); }"""
        )
        somebody.page.click("text=Deal the cards")
        somebody.settle()
        moved[wish, pace] = somebody.page.evaluate("window.moved")
    assert moved["reduce", "calm"] == 0
    assert moved["no-preference", "at once"] == 0
    assert moved["no-preference", "calm"] > 0


def test_the_story_takes_its_time_unless_it_is_hurried(person: Any) -> None:
    somebody = person(pace="calm")
    somebody.go("new")
    somebody.page.click("text=Deal the cards")
    somebody.page.wait_for_selector(".controls[data-state=telling]")
    assert len(somebody.log) < 4
    somebody.page.click("text=Show at once")
    assert somebody.settle() == "decide"
    assert len(somebody.log) == 4


# Paper


def test_the_quick_reference_prints_on_one_page(person: Any) -> None:
    somebody = person()
    somebody.go("reference")
    somebody.page.emulate_media(media="print")
    assert somebody.page.locator(".sheet").is_visible()
    for hidden in ("header.site", "footer.site", ".reference-bar"):
        assert not somebody.page.locator(hidden).is_visible()
    ink = somebody.page.eval_on_selector(".sheet", "each => getComputedStyle(each).color")
    assert ink == "rgb(0, 0, 0)"
    somebody.page.emulate_media(media="screen")
    choices = somebody.page.locator(".reference-bar option")
    presets = choices.evaluate_all("all => all.map(each => each.value)")
    assert len(presets) > 20
    for rules in [*presets, *HEAVY]:
        somebody.page.emulate_media(media="screen")
        show_rules(somebody, rules)
        somebody.page.emulate_media(media="print")
        assert pages_of(somebody.page.pdf(prefer_css_page_size=True)) == 1, rules


HEAVY = (
    "onesies,queen=redirects,jack=may_block,final_tie=carry_stake",
    "standard,seats=10,lives=10,decks=2,ace=high,king=ends_trading,queen=redirects,jack=may_block,"
    "dealer=rotation,swapped_turn=lost,refusal=fee,penalty=shared,final_tie=carry_stake,"
    "first_dealer=cut,direction=right,max_rounds=100,stake=5",
)


def show_rules(somebody: Person, rules: str) -> None:
    """Choose rules on the page of the quick reference, also such as it does not offer."""
    somebody.page.eval_on_selector(
        ".reference-bar select",
        """(select, rules) => {
            if (![...select.options].some(each => each.value === rules)) select.add(new Option(rules, rules));
            select.value = rules;
            select.dispatchEvent(new Event('change'));
        }""",
        rules,
    )
    text = str(Rules.parse(rules))
    somebody.page.wait_for_function(
        "text => document.querySelector('.sheet code').textContent === text", arg=text
    )


def test_the_reference_offers_what_concerns_the_reader(person: Any) -> None:
    somebody = person()
    somebody.go("reference")
    first = somebody.page.locator(".reference-bar option").first
    assert first.inner_text() == "practice table"
    assert somebody.page.inner_text(".sheet h2") == "Cuckoo: practice table"
    somebody.go("new")
    somebody.page.select_option("[name=preset]", "onesies")
    somebody.go("reference")
    assert first.inner_text() == "the table you are choosing"
    assert somebody.page.inner_text(".sheet h2").startswith("Cuckoo: onesies")
    somebody.sit_down()
    somebody.go("new")
    somebody.page.select_option("[name=preset]", "onesies")
    somebody.go("reference")
    assert first.inner_text() == "the table you play at"
    assert somebody.page.inner_text(".sheet h2") == "Cuckoo: practice table"


def test_the_last_choice_of_rules_is_the_one_that_is_shown(person: Any) -> None:
    somebody = person()
    somebody.go("reference")
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    somebody.page.route("**/api/explain", hold)
    choice = somebody.page.locator(".reference-bar select")
    for rules in ("onesies", "le-her"):
        choice.select_option(rules)
    somebody.page.wait_for_function("() => true")
    assert len(held) == 2
    for route in reversed(held):
        with somebody.page.expect_response("**/api/explain"):
            route.continue_()
    somebody.page.wait_for_timeout(100)
    assert somebody.page.inner_text(".sheet h2") == "Cuckoo: le her"


def test_a_reference_that_does_not_come_is_told(person: Any) -> None:
    somebody = person()
    somebody.expects = ("ERR_FAILED",)
    somebody.go("reference")
    somebody.page.route("**/api/explain", lambda route: route.abort())
    somebody.page.select_option(".reference-bar select", "onesies")
    somebody.page.wait_for_selector(".notice >> text=does not answer")
    somebody.page.unroute("**/api/explain")
    somebody.page.click("text=Try again")
    somebody.page.wait_for_selector(".sheet >> text=Cuckoo: onesies")


def pages_of(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


# Secrets


def in_this_deal(answer: Answer) -> str:
    """What an answer says of the deal that is being played; earlier ones lie open."""
    said = json.loads(answer.text[answer.text.index('{"') :])
    starts = [at for at, frame in enumerate(said.get("frames", ())) if frame["event"] == "round"]
    if starts:
        said["frames"] = said["frames"][starts[-1] :]
    return json.dumps(said, ensure_ascii=False)


def test_no_hidden_card_stock_or_seed_reaches_the_browser(person: Any) -> None:
    somebody = person()
    for rules, seats in (("practice-table", 3), ("onesies", 4), ("open-kings", 6)):
        somebody.sit_down(rules, seats=seats, coach=True)
        decided = 0
        while decided < 9:
            state = somebody.settle()
            if state == "decide":
                decided += 1
                legal = somebody.legal
                somebody.decide("swap" if "swap" in legal and decided % 2 else legal[0])
            else:
                on = {"round": "Next round", "watch": "Watch on", "over": "Play again"}
                somebody.press(on[state])
    assert sum(map(find_no_secret, somebody.served.wire.answers)) > 100
    assert sum(len(answer.laid_away) for answer in somebody.served.wire.answers) > 0
    # What the browser got is what the server sent, and nothing came by another way.
    sent = [answer.text for answer in somebody.served.wire.answers if answer.secrets]
    got = [each.text() for each in somebody.heard if "/api/tables" in each.url]
    assert len(got) == len(sent) > 20
    assert all(text.endswith(body) for text, body in zip(sent, got, strict=True))
    assert somebody.sockets == []
    kinds = {each.request.resource_type for each in somebody.heard}
    assert kinds <= {"document", "stylesheet", "script", "fetch", "image", "other"}


def find_no_secret(answer: Answer) -> int:
    """Search an answer for what it may not say; returns how much that is."""
    if not answer.secrets:
        open_to_all = ("/static/", "/api/menu", "/api/explain", "/api/server")
        assert answer.path.startswith(open_to_all) or answer.path == "/"
        return 0
    text = in_this_deal(answer)
    for secret in answer.secrets:
        assert len(secret) > 2 or not says(text, secret), (answer.path, secret)
        # A seed is never written anywhere, nor in the headers, nor in an earlier deal.
        assert len(secret) == 2 or secret not in answer.text
    # What was laid away is not even told when a deal is over.
    for number, deal in deals_of(answer):
        for card in answer.laid_away.get(number, ()):
            assert not says(deal, card), (answer.path, card)
    return len(answer.secrets)


def says(text: str, card: str) -> bool:
    return f'"{card}"' in text or symbol(card) in text


def deals_of(answer: Answer) -> Iterator[tuple[int, str]]:
    """What an answer tells of each deal, by the number of its round."""
    frames = json.loads(answer.text[answer.text.index('{"') :])["frames"]
    for number in {frame["view"]["round"] for frame in frames}:
        told = [frame for frame in frames if frame["view"]["round"] == number]
        yield number, json.dumps(told, ensure_ascii=False)


def symbol(card: str) -> str:
    return card_symbol(parse_card(card))


def test_the_search_for_secrets_finds_one_that_is_told(person: Any) -> None:
    somebody = person()
    somebody.sit_down()
    answer = next(each for each in somebody.served.wire.answers if each.path == "/api/tables")
    own = somebody.open_cards[0]
    assert own not in answer.secrets
    assert f'"{own}"' in in_this_deal(answer)
    assert symbol(own) in in_this_deal(answer)
    told = dataclasses.replace(answer, secrets=(own,))
    with pytest.raises(AssertionError):
        find_no_secret(told)
    with pytest.raises(AssertionError):
        find_no_secret(dataclasses.replace(answer, laid_away={1: [own]}))


# When things go wrong

SERVER_GONE: Final = ("404", "ERR_CONNECTION_REFUSED", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET")
"""What a browser says of a server that was stopped, and of a table that was on it."""


def test_a_restart_of_the_server_is_told(person: Any, served: Served) -> None:
    somebody = person()
    somebody.expects = SERVER_GONE
    somebody.page.clock.install()
    somebody.sit_down()
    served.stop()
    somebody.page.click("[data-action=keep]")
    somebody.page.wait_for_selector(".notice >> text=does not answer")
    served.start()
    somebody.page.click("text=Try again")
    somebody.page.wait_for_selector(".notice >> text=the server was restarted")
    # Where one is already is a way to the new table as well.
    somebody.page.click("nav >> text=Play")
    somebody.page.click("text=Deal the cards")
    assert somebody.settle() == "decide"
    # That the server is another one is no news now.
    with somebody.page.expect_response("**/api/tables/*"):
        somebody.page.clock.fast_forward(10_000)
    assert somebody.page.locator(".notice").count() == 0
    assert somebody.decide("keep") in {"decide", "round"}


def test_a_server_that_is_gone_is_missed_without_a_click(person: Any, served: Served) -> None:
    somebody = person()
    somebody.expects = SERVER_GONE
    somebody.page.clock.install()
    somebody.sit_down()
    served.stop()
    somebody.page.clock.fast_forward(10_000)
    somebody.page.wait_for_selector(".notice >> text=does not answer")
    served.start()
    somebody.page.clock.fast_forward(10_000)
    somebody.page.wait_for_selector(".notice >> text=the server was restarted")
    somebody.page.click("text=Choose a new table")
    somebody.page.click("text=Deal the cards")
    assert somebody.settle() == "decide"


def test_a_page_that_failed_is_drawn_when_the_server_is_back(person: Any, served: Served) -> None:
    somebody = person()
    somebody.expects = SERVER_GONE
    somebody.page.clock.install()
    somebody.sit_down()
    served.stop()
    somebody.page.evaluate("location.hash = 'learn/king'")
    somebody.page.wait_for_selector("h1 >> text=The table is empty")
    served.start()
    somebody.page.clock.fast_forward(10_000)
    somebody.page.wait_for_selector(".lesson")
    # The lesson is there; that the table is not has still to be said.
    assert "the server was restarted" in somebody.page.inner_text(".notice")


def test_a_table_that_is_gone_tells_nothing_more(person: Any, served: Served) -> None:
    somebody = person(pace="calm")
    somebody.expects = SERVER_GONE
    somebody.page.clock.install()
    somebody.go("new")
    somebody.page.click("text=Deal the cards")
    somebody.page.wait_for_selector(".controls[data-state=telling]")
    somebody.page.clock.pause_at(somebody.page.evaluate("Date.now() / 1000 + 1"))
    served.stop()
    served.start()
    with somebody.page.expect_response("**/api/tables/*"):
        # Each timer fires once, however long one waits: the telling has not come far.
        somebody.page.clock.fast_forward(10_000)
    somebody.page.wait_for_selector(".notice >> text=the server was restarted")
    told = len(somebody.log)
    somebody.page.clock.run_for(60_000)
    assert len(somebody.log) == told
    assert somebody.state == "telling"


def test_a_server_that_answers_again_is_no_news(person: Any) -> None:
    somebody = person()
    somebody.expects = ("ERR_FAILED",)
    somebody.page.clock.install()
    somebody.sit_down()
    somebody.page.route("**/api/server", lambda route: route.abort())
    somebody.page.clock.fast_forward(10_000)
    somebody.page.wait_for_selector(".notice")
    somebody.page.unroute("**/api/server")
    somebody.page.clock.fast_forward(10_000)
    somebody.page.wait_for_selector(".notice", state="detached")
    assert somebody.decide("keep") in {"decide", "round"}


@pytest.mark.parametrize(
    ("page", "asked"),
    [
        ("learn/king", "**/api/lessons/king"),
        ("reference", "**/api/explain"),
        ("play", "**/api/tables/*/act"),
    ],
)
def test_a_page_that_was_left_reports_no_failure(person: Any, page: str, asked: str) -> None:
    somebody = person()
    somebody.expects = ("ERR_FAILED",)
    somebody.sit_down()
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    with somebody.page.expect_request(asked) as sought:
        somebody.page.route(asked, hold)
        somebody.page.evaluate("page => { location.hash = page; }", page)
        if page == "play":
            somebody.page.click("[data-action=keep]")
    assert sought.value
    somebody.page.evaluate("location.hash = 'learn'")
    somebody.page.wait_for_selector(".shelf")
    assert len(held) == 1
    with somebody.page.expect_event("requestfailed"):
        held[0].abort()
    somebody.page.wait_for_timeout(100)
    assert somebody.page.locator(".notice").count() == 0
    assert somebody.page.locator(".shelf").is_visible()


@pytest.mark.parametrize("address", ["constructor", "toString", "%", "play/%"])
def test_an_address_that_leads_nowhere_leads_home(person: Any, address: str) -> None:
    somebody = person()
    somebody.page.goto(f"{somebody.served.url}#{address}")
    somebody.page.wait_for_selector("text=Deal the cards")


def test_where_there_is_nothing_to_replay_that_is_said(person: Any) -> None:
    somebody = person()
    somebody.go("replay")
    assert "when it is over" in somebody.page.inner_text("main")
    somebody.sit_down()
    somebody.go("replay")
    assert "when it is over" in somebody.page.inner_text("main")
    assert somebody.page.locator(".notice").count() == 0


def test_who_cannot_play_the_rules_cannot_be_chosen(person: Any) -> None:
    somebody = person()
    somebody.go("new")
    somebody.page.select_option("[name=preset]", "standard")
    somebody.page.select_option("[name=seats]", "3")
    option = somebody.page.locator("[name=opponent-0] option[value=equilibrium]")
    somebody.page.wait_for_function(
        "() => !document.querySelector('[data-unplayable]').textContent"
    )
    assert option.is_enabled()
    somebody.page.select_option("[name=opponent-0]", "equilibrium")
    somebody.page.select_option("[name=seats]", "6")
    hint = somebody.page.locator("[name=opponent-0] + .hint")
    somebody.page.wait_for_selector(".hint.refused")
    assert hint.inner_text().startswith("Equilibrium ")
    assert option.is_disabled()
    somebody.page.select_option("[name=opponent-0]", "robin")
    somebody.page.wait_for_selector(".hint.refused", state="detached")
    assert somebody.page.inner_text("[data-unplayable]").startswith("Equilibrium ")


def test_two_clicks_lay_one_table(person: Any) -> None:
    somebody = person()
    somebody.go("new")
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    somebody.page.route("**/api/tables", hold)
    somebody.page.dblclick("text=Deal the cards")
    somebody.page.wait_for_timeout(100)
    assert len(held) == 1
    held[0].continue_()
    assert somebody.settle() == "decide"


def test_a_choice_that_is_no_longer_offered_is_not_kept(person: Any) -> None:
    somebody = person()
    chosen = {"preset": "of-old", "changes": {"king": "plain"}, "name": "Ann"}
    somebody.context.add_init_script(
        f"sessionStorage.setItem('cuckoo.setup', {json.dumps(json.dumps(chosen))})"
    )
    somebody.go("new")
    assert somebody.page.input_value("[name=preset]") == "practice-table"
    assert somebody.page.input_value("[name=name]") == "Ann"
    assert somebody.page.inner_text(".setup-form summary") == "Variants"
    somebody.page.click("text=Deal the cards")
    assert somebody.settle() == "decide"


def test_only_what_can_be_changed_back_counts_as_changed(person: Any) -> None:
    somebody = person()

    def serve_rules(route: Any) -> None:
        menu = route.fetch().json()
        menu["defaults"]["rules"] = "standard,stake=2,first_dealer=2,lives=4"
        route.fulfill(json=menu)

    somebody.page.route("**/api/menu", serve_rules)
    somebody.go("new")
    title = somebody.page.locator(".setup-form summary")
    assert title.inner_text() == "Variants (1 changed)"
    dealer = somebody.page.locator("[name=axis-first_dealer]")
    assert dealer.input_value() == ""
    dealer.select_option("lot")
    assert title.inner_text() == "Variants (2 changed)"


def test_rules_are_not_explained_to_who_has_left(person: Any) -> None:
    somebody = person()
    somebody.page.clock.install()
    somebody.go("new")
    somebody.page.wait_for_selector(".explained h3")
    asked = len(somebody.asked)
    somebody.page.clock.pause_at(somebody.page.evaluate("Date.now() / 1000 + 1"))
    somebody.page.select_option("[name=preset]", "onesies")
    somebody.page.evaluate("location.hash = 'learn'")
    somebody.page.wait_for_selector(".shelf")
    somebody.page.clock.run_for(1000)
    assert [url for url in somebody.asked[asked:] if url.endswith("/explain")] == []


def test_what_is_typed_last_counts_when_the_cards_are_dealt(person: Any) -> None:
    somebody = person()
    somebody.go("new")
    somebody.page.select_option("[name=preset]", "standard")
    somebody.page.click("text=Variants")
    somebody.page.fill("[name=axis-lives]", "2")
    somebody.page.click("text=Deal the cards")
    somebody.settle()
    assert somebody.table.rules.lives == 2


def test_what_counts_is_seen_in_forced_colors(person: Any) -> None:
    somebody = person(forced_colors="active")
    somebody.sit_down(coach=True)
    knob, ground = (
        "getComputedStyle(document.querySelector('.coach .switch-knob'), '::after').backgroundColor",
        "getComputedStyle(document.querySelector('.coach .switch-knob')).backgroundColor",
    )
    seen = set()
    for _ in range(2):
        pair = somebody.page.evaluate(f"[{knob}, {ground}]")
        assert pair[0] != pair[1]
        seen.add(tuple(pair))
        somebody.page.get_by_role("switch", name="Coach").click()
        somebody.page.wait_for_timeout(300)
    assert len(seen) == 2
    for marked in ("nav [aria-current]", ".seat-acts .plaque"):
        style = somebody.page.eval_on_selector(
            marked, "each => getComputedStyle(each).outlineStyle"
        )
        assert style == "solid", marked


def test_a_name_is_text_and_never_code(person: Any) -> None:
    somebody = person()
    somebody.expects = ("400",)
    somebody.go("new")
    somebody.page.fill("[name=name]", "<b onclick=x>")
    somebody.page.click("text=Deal the cards")
    somebody.page.wait_for_selector(".notice")
    assert "name" in somebody.page.inner_text(".notice")
    assert somebody.page.locator(".notice b").count() == 0
    somebody.page.fill("[name=name]", "Zoë O’Neil")
    somebody.page.click("text=Deal the cards")
    somebody.settle()
    assert "Zoë O’Neil" in somebody.page.inner_text(".seat-you")


def test_rules_that_are_refused_are_explained(person: Any) -> None:
    somebody = person()
    somebody.expects = ("400",)
    somebody.go("new")
    somebody.page.select_option("[name=preset]", "onesies")
    somebody.page.click("text=Variants")
    somebody.page.select_option("[name=axis-ties]", "first")
    somebody.page.wait_for_selector(".explained .refused")
    assert "ties" in somebody.page.inner_text(".explained")
    somebody.page.select_option("[name=axis-ties]", "")
    somebody.page.wait_for_selector(".explained h3")
    somebody.page.select_option("[name=axis-king]", "open")
    somebody.page.wait_for_function(
        "() => document.querySelector('.explained').innerText.includes('king=open')"
    )


def test_no_script_of_others_runs(person: Any) -> None:
    somebody = person()
    somebody.expects = ("Content Security Policy",)
    somebody.go("new")
    somebody.page.evaluate(
        """() => { const script = document.createElement('script');
            script.textContent = 'window.intruder = true'; document.body.append(script); }"""
    )
    assert somebody.page.evaluate("window.intruder === undefined")
