"""Access to the viewer's server: only the page that it serves, at an address with a secret token.

A browser lets every page connect to servers of the same machine. The server therefore answers only requests with its
token in their path and with headers of a page that was opened from here. `Host` names this machine; it does not where a
foreign name was made to point here (DNS rebinding). `Origin` is that host.
"""

import http
import importlib
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

__all__ = ["Access"]

LOOPBACK = "127.0.0.1"  # the only address that the server listens at
NAMES = ("localhost", "127.0.0.1", "[::1]")  # of this machine in a `Host`; a tunnel to it may have another port
TOKEN_BYTES = 24

_starting = threading.Lock()


class Access:
    """The token of one server, and the check of its requests."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self._checks = False

    def refusal(self, path: str, hosts: Sequence[str], origins: Sequence[str], upgrade: bool) -> str | None:
        """Why a request is rejected, from its path and its headers `Host` and `Origin`; None if it is answered.

        upgrade: whether it asks for a WebSocket. Browsers send its origin always, and for a page only where another
        page asks for it.
        """
        if len(hosts) != 1 or _name(hosts[0]) not in NAMES:
            return f"the host must be one of {', '.join(NAMES)}"
        if origins != [f"http://{hosts[0]}"] and (upgrade or origins):
            return "only the viewer's own page may connect"
        if not secrets.compare_digest(_token(path).encode(), self.token.encode()):
            return "the address lacks the viewer's token; open the whole address that it printed"
        return None

    @contextmanager
    def guard(self) -> Iterator[str]:
        """The host with which a `viser.ViserServer` is made inside the block: its requests are then checked.

        Raises RuntimeError at the end of the block for a version of viser that starts its server in another way.
        """
        module = importlib.import_module("websockets.asyncio.server")
        host, serve = _Host(LOOPBACK), module.serve

        def guarded(handler: Any, at: Any = None, *args: Any, process_request: Any = None, **options: Any) -> Any:
            if at is host:  # another server may start in another thread
                process_request, self._checks = self._checked(process_request), True
            return serve(handler, at, *args, process_request=process_request, **options)

        with _starting:
            module.serve = guarded  # type: ignore[attr-defined]
            try:
                yield host
            finally:
                module.serve = serve  # type: ignore[attr-defined]

    @property
    def checks(self) -> bool:
        """Whether a server was made that checks its requests."""
        return self._checks

    def _checked(self, answer: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """The answer to a request of which `answer` sees the path without the token, or a refusal."""

        def process(connection: Any, request: Any) -> Any:
            headers = request.headers
            reason = self.refusal(
                request.path, headers.get_all("Host"), headers.get_all("Origin"), bool(headers.get_all("Upgrade"))
            )
            if reason is not None:
                return connection.respond(http.HTTPStatus.FORBIDDEN, f"{reason}\n")
            response = answer(connection, replace(request, path=request.path.replace(f"/{self.token}", "", 1) or "/"))
            if response is not None:
                response.headers["Referrer-Policy"] = "no-referrer"  # no link sends the token
            return response

        return process


class _Host(str):
    """An address that is distinguished from equal ones by its identity."""

    __slots__ = ()


def _name(host: str) -> str:
    """'localhost' of 'localhost:8080'."""
    name, colon, port = host.rpartition(":")
    return name.lower() if colon and port.isascii() and port.isdigit() else host.lower()


def _token(path: str) -> str:
    """The first part of a path."""
    return path.partition("?")[0].removeprefix("/").partition("/")[0]
