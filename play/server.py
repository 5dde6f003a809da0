"""The practice table's server: JSON over HTTP for the page, and the page itself.

A client sends a message and gets a snapshot (see :mod:`cuckoo_env.play.table`), or an error: a code for
programs and one sentence for people. Messages are JSON objects with known fields of known types and
nothing else; whatever is refused has changed nothing. A table answers only to who knows its code.

Pages of other sites can neither read from this server (they get no permission) nor write to it
(messages must be sent as JSON, which browsers do not let them do), not even under a name of their own
that leads here (the ``Host`` header is checked).
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cuckoo_env import explain
from cuckoo_env.agents import AgentError
from cuckoo_env.play import lessons, reference
from cuckoo_env.play.frames import JsonObject
from cuckoo_env.play.menu import Menu
from cuckoo_env.play.registry import Registry
from cuckoo_env.play.table import RefusedError, Table, TableSettings, read_rules
from cuckoo_env.rules import RulesError

STATIC: Final = Path(__file__).parent / "static"
LARGEST_BODY: Final = 64 * 1024
"""Bytes of a message; the largest that means something has some hundred."""
BACKLOG: Final = 256
"""Connections that may wait to be accepted."""
AT_WORK: Final = 40
"""Messages to tables that are worked on at once; those that may wait for the coach are not counted."""
SWEEP_SECONDS: Final = 60.0
"""How often idle tables are looked for, if nobody asks for any."""
LOOPBACK: Final = "127.0.0.1"

STATUS: Final[Mapping[str, int]] = {
    "bad-request": 400,
    "unknown-table": 404,
    "unknown-lesson": 404,
    "unknown-page": 404,
    "bad-method": 405,
    "stale": 409,
    "illegal": 409,
    "not-over": 409,
    "too-long": 409,
    "too-large": 413,
    "bad-type": 415,
    "bad-host": 421,
    "failed": 500,
    "too-many": 503,
}
"""The codes of errors, and the HTTP status that each comes with."""

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self';"
    " frame-ancestors 'none'; object-src 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""What every answer says to the browser: nothing but this server's own files, and no frames."""
NOT_STORED: Final = {"Cache-Control": "no-store"}
"""What answers of the interface say beside."""


# -- Messages -------------------------------------------------------------------------------------


async def _body(request: Request) -> bytes:
    """The bytes of a message, never more than :data:`LARGEST_BODY` of them."""
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > LARGEST_BODY:
            raise RefusedError("too-large", f"message: more than {LARGEST_BODY} bytes are refused")
    return bytes(received)


async def _message(request: Request) -> JsonObject:
    """The JSON object that a request carries."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusedError(
            "bad-type", f"content-type: {kind!r:.60} is refused; accepted: application/json"
        )
    body = await _body(request)
    try:
        found = json.loads(body, parse_constant=_no_constant)
        # Half a character (a lone surrogate) could not be told again.
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeError:
        raise RefusedError("bad-request", "message: it is no text in UTF-8") from None
    except (ValueError, RecursionError):
        raise RefusedError("bad-request", "message: it is no JSON") from None
    if not isinstance(found, dict):
        raise RefusedError("bad-request", "message: it is no JSON object")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(text)


_FOLDERS: Final = re.compile(r"[^\s'\":,]*[/\\]")
_ACCEPTED: Final = {int: "a whole number", str: "a text", bool: "true or false", list: "a list"}


def _fields(message: JsonObject, **kinds: type) -> JsonObject:
    """The message, if it has these fields of these types and no others."""
    for name, value in message.items():
        if name not in kinds:
            raise RefusedError.of("field", repr(name), f"only: {', '.join(kinds)}")
        # Not isinstance: true is no whole number.
        if type(value) is not kinds[name]:
            raise RefusedError.of(name, json.dumps(value), _ACCEPTED[kinds[name]])
    for name, kind in kinds.items():
        if name not in message:
            raise RefusedError.of(name, "nothing", _ACCEPTED[kind])
    return message


# -- What is served -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request.

    Attributes:
        where: the table's code, or the lesson's id, in the address.
        said: the message.
    """

    where: str
    said: JsonObject


Work = Callable[[Asked], JsonObject]
Endpoint = Callable[[Request], Awaitable[Response]]


class Service:
    """The answers to every request.

    Attributes:
        menu: what clients can choose from.
        registry: the tables.
    """

    def __init__(self, menu: Menu, registry: Registry) -> None:
        """Serve a menu's tables.

        Args:
            menu: what clients can choose from.
            registry: where tables are kept.
        """
        self.menu, self.registry = menu, registry
        self._run = secrets.token_urlsafe(8)
        # Three kinds of work, none of which waits for threads that another one holds.
        self._working = CapacityLimiter(AT_WORK)
        self._waiting = CapacityLimiter(registry.most)

    def routes(self) -> list[Route]:
        """The interface for programs, below ``/api``."""
        table = "/api/tables/{code}"
        return [
            Route("/api/server", self._who),
            Route("/api/menu", _answering(self._offer)),
            Route("/api/lessons/{code}", _answering(self._lesson)),
            Route("/api/explain", _answering(self._explain), methods=["POST"]),
            Route("/api/tables", self._at_tables(self._open, status=201), methods=["POST"]),
            Route(table, _answering(self._look)),
            Route(f"{table}/act", self._at_tables(self._act), methods=["POST"]),
            Route(f"{table}/watch", self._at_tables(self._watch), methods=["POST"]),
            Route(f"{table}/restart", self._at_tables(self._restart), methods=["POST"]),
            Route(f"{table}/coach", self._at_tables(self._coach), methods=["POST"]),
            Route(f"{table}/record", self._at_tables(self._record, save_as="cuckoo-record.json")),
            Route(f"{table}/replay", self._at_tables(self._replay)),
        ]

    def _at_tables(self, work: Work, **options: Any) -> Endpoint:
        return _answering(work, threads=self._threads, **options)

    def _threads(self, code: str) -> CapacityLimiter:
        """The threads for a message to a table: where it may wait for the coach, others than for the rest.

        It may also wait for the action before it, as a table takes one message at a time.
        """
        return self._waiting if self.registry.may_wait(code) else self._working

    async def _who(self, _request: Request) -> Response:
        """Which run of the server this is, so that a page sees that its table is gone."""
        return JSONResponse({"run": self._run}, headers=NOT_STORED)

    def _offer(self, _asked: Asked) -> JsonObject:
        return self.menu.plain()

    def _lesson(self, asked: Asked) -> JsonObject:
        if asked.where not in {each["id"] for each in lessons.lessons()}:
            raise RefusedError("unknown-lesson", f"lesson: there is no {asked.where!r:.60}")
        return lessons.lesson(asked.where)

    def _explain(self, asked: Asked) -> JsonObject:
        said = _fields(asked.said, rules=str)["rules"]
        rules = read_rules(said)
        title = explain.title(rules, said)
        return {
            "text": str(rules),
            "title": title,
            "sentences": explain.sentences_at_table(rules),
            "special": explain.special(rules),
            "together": explain.together(rules),
            "reference": reference.reference(rules, title),
            "unplayable": self.menu.unplayable(rules),
        }

    def _open(self, asked: Asked) -> JsonObject:
        said = _fields(asked.said, rules=str, opponents=list, name=str, coach=bool)
        for each in said["opponents"]:
            if type(each) is not str:
                raise RefusedError.of("opponents", json.dumps(each), "texts that name agents")
        self.registry.check_room()
        settings = TableSettings(
            rules=read_rules(said["rules"]),
            text=said["rules"],
            opponents=tuple(self.menu.opponent(label) for label in said["opponents"]),
            name=said["name"],
            coach=said["coach"],
        )
        try:
            table = Table(settings)
        except AgentError as error:
            raise RefusedError("bad-request", _without_files(str(error), settings)) from None
        return {"table": self.registry.add(table), **table.snapshot()}

    def _find(self, asked: Asked) -> Table:
        return self.registry.find(asked.where)

    def _look(self, asked: Asked) -> JsonObject:
        return self._find(asked).snapshot()

    def _act(self, asked: Asked) -> JsonObject:
        table, said = self._find(asked), _fields(asked.said, turn=int, action=str)
        return table.act(said["turn"], said["action"])

    def _watch(self, asked: Asked) -> JsonObject:
        table, said = self._find(asked), _fields(asked.said, turn=int, how=str)
        return table.watch(said["turn"], said["how"])

    def _restart(self, asked: Asked) -> JsonObject:
        table, said = self._find(asked), _fields(asked.said, turn=int)
        return table.restart(said["turn"])

    def _coach(self, asked: Asked) -> JsonObject:
        table, said = self._find(asked), _fields(asked.said, turn=int, on=bool)
        return table.set_coach(said["turn"], on=said["on"])

    def _record(self, asked: Asked) -> JsonObject:
        return self._find(asked).record()

    def _replay(self, asked: Asked) -> JsonObject:
        return {"steps": self._find(asked).replay()}


def _without_files(text: str, settings: TableSettings) -> str:
    """What is said of agents, without the folders of the files that they come from."""
    for each in settings.opponents:
        if each.spec != each.label:
            text = text.replace(each.spec.partition(":")[2], each.label.partition(":")[2])
    return _FOLDERS.sub("", text)


def _answering(
    work: Work,
    *,
    status: int = 200,
    save_as: str | None = None,
    threads: Callable[[str], CapacityLimiter] | None = None,
) -> Endpoint:
    """An endpoint: reads the message, lets a thread do the work, and writes the answer."""

    def answer(asked: Asked) -> Response:
        headers = dict(NOT_STORED)
        if save_as is not None:
            headers["Content-Disposition"] = f'attachment; filename="{save_as}"'
        return JSONResponse(work(asked), status_code=status, headers=headers)

    async def endpoint(request: Request) -> Response:
        said = await _message(request) if request.method == "POST" else {}
        where = request.path_params.get("code", "")
        limiter = None if threads is None else threads(where)
        return await to_thread.run_sync(answer, Asked(where=where, said=said), limiter=limiter)

    return endpoint


# -- Errors ---------------------------------------------------------------------------------------


def _refusal(code: str, message: str, status: int | None = None) -> Response:
    return JSONResponse(
        {"error": {"code": code, "message": message}},
        status_code=status or STATUS[code],
        headers=NOT_STORED,
    )


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return _refusal(error.code, str(error))


async def _bad_rules(_request: Request, error: Exception) -> Response:
    return _refusal("bad-request", str(error))


async def _http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = {404: "unknown-page", 405: "bad-method"}.get(error.status_code, "bad-request")
    return _refusal(code, f"page: {error.detail}", error.status_code)


async def _failed(_request: Request, _error: Exception) -> Response:
    return _refusal("failed", "server: something went wrong here; the table is as it was")


# -- Who may ask ----------------------------------------------------------------------------------


class Guard:
    """Answers only to names that are this server's, and sets the headers of every answer.

    A page elsewhere whose name leads to this machine (DNS rebinding) sends its own name as the host.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        """Stand before an application.

        Args:
            app: the application.
            host: the name or address that the server was asked to listen on.
        """
        self.app = app
        self.names = {"localhost", "127.0.0.1", "::1", host.lower()}
        self.any_address = _is_everywhere(host)
        if self.any_address:
            self.names.add(socket.gethostname().lower())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it for the host it names."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        name = _host_name(dict(scope["headers"]).get(b"host", b"").decode("latin-1"))
        if name in self.names or (self.any_address and _is_address(name)):
            await self.app(scope, receive, send_with_headers)
        else:
            refusal = _refusal(
                "bad-host", f"host: {name!r:.60} is refused; accepted: this server's"
            )
            await refusal(scope, receive, send_with_headers)


def _host_name(host: str) -> str:
    """A Host header without its port and brackets."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_everywhere(host: str) -> bool:
    """Whether an address stands for all those of this machine."""
    return _is_address(host) and ipaddress.ip_address(host).is_unspecified


# -- The application ------------------------------------------------------------------------------


async def _page(_request: Request) -> Response:
    return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})


class _Static(StaticFiles):
    """The page's files; a browser asks each time whether they have changed."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


def make_app(menu: Menu, *, host: str = LOOPBACK, registry: Registry | None = None) -> ASGIApp:
    """The application of a practice table.

    Args:
        menu: what clients can choose from.
        host: the name or address that the server listens on.
        registry: where tables are kept; by default a new one.
    """
    tables = Registry() if registry is None else registry
    service = Service(menu, tables)
    app = Starlette(
        lifespan=lambda _app: _sweeping(tables),
        routes=[
            *service.routes(),
            Route("/", _page),
            Mount("/static", _Static(directory=STATIC)),
        ],
        exception_handlers={
            RefusedError: _refused,
            RulesError: _bad_rules,
            HTTPException: _http_error,
            Exception: _failed,
        },
    )
    app.router.redirect_slashes = False
    return Guard(app, host)


@asynccontextmanager
async def _sweeping(tables: Registry) -> AsyncIterator[None]:
    """Forget idle tables as long as the server runs, also while nobody asks for any."""

    async def sweep() -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            tables.forget_idle()

    sweeper = asyncio.create_task(sweep())
    try:
        yield
    finally:
        sweeper.cancel()


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on an address.

    Args:
        host: a name or an address of this machine.
        port: the port; 0 takes one that is free.

    Raises:
        ValueError: if there is no such address here, or the port is taken.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with ExitStack() as closing:
            listener = closing.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
            closing.pop_all()
    except OSError as error:
        raise ValueError(
            f"host: cannot listen on {host}, port {port}: {error.strerror or error}"
        ) from None
    return listener


def address_of(listener: socket.socket) -> str:
    """What to type into a browser on this machine."""
    host, port = listener.getsockname()[:2]
    if _is_everywhere(host):
        host = "localhost"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def make_server(app: ASGIApp) -> uvicorn.Server:
    """The web server, without logs of who asked for what."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=3,
    )
    return uvicorn.Server(config)
