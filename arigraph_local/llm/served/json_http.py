"""JSON over HTTP to a server in the laboratory: time-outs, retries, one clear line on failure.

Connections are made directly, without the proxies of the environment, one for each call: a reply
takes seconds to compute, so there is nothing to gain from keeping them open.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from arigraph_local.errors import ArigraphError

KEY_VARIABLE = "ARIGRAPH_API_KEY"

_SHOWN = 200
_LONGEST_WAIT = 30.0


class HttpTimeoutError(ArigraphError):
    """The server did not answer in the time it had."""


class HttpRefusedError(ArigraphError):
    """The server answered with an error that asking again would not cure."""

    def __init__(self, message: str, status: int, body: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = body


class _PassingError(Exception):
    """What asking again may cure; `wait` is how many seconds the server asks for."""

    def __init__(self, reason: str, wait: float = 0.0, *, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.wait = wait
        self.timed_out = timed_out


@dataclass(frozen=True)
class Retries:
    """How often and how patiently a call is made again: after 1, 2, 4… times `first_wait`."""

    attempts: int = 5
    first_wait: float = 0.5
    sleep: Callable[[float], None] = time.sleep


class JsonHttp:
    """Calls to one server. May be used by many threads at once."""

    def __init__(self, url: str, retries: Retries | None = None) -> None:
        """`url` is `http://HOST:PORT`, perhaps with a path before every call's own.

        The key, if the server wants one, is the value of `ARIGRAPH_API_KEY`.
        """
        self.url = url.rstrip("/")
        self._parts = urlsplit(self.url)
        self._retries = retries or Retries()
        self._key = os.environ.get(KEY_VARIABLE, "").strip()
        self._turn = threading.Lock()
        self._open: set[http.client.HTTPConnection] = set()
        self._closed = False

    def get(self, path: str, *, seconds: float = 10.0) -> Any:
        """The JSON answer to a GET; errors as `post`."""
        return self._call("GET", path, None, seconds, retry_timeout=True)

    def post(
        self, path: str, payload: Any, *, seconds: float = 600.0, retry_timeout: bool = True
    ) -> Any:
        """The JSON answer to a POST of JSON.

        Connection faults, 408, 425, 429 and 5xx, answers cut off or no JSON are tried again; so
        is a call that took `seconds`, if `retry_timeout`. Raises `HttpTimeoutError`,
        `HttpRefusedError` or plain `ArigraphError`, naming the server.
        """
        return self._call("POST", path, payload, seconds, retry_timeout=retry_timeout)

    def close(self) -> None:
        """Break off all calls and refuse new ones. Closing twice is harmless."""
        with self._turn:
            self._closed = True
            connections = list(self._open)
        for connection in connections:
            if connection.sock is not None:
                # Wakes the thread that waits for it, which closing alone would not.
                try:
                    connection.sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue

    def _call(
        self, method: str, path: str, payload: Any, seconds: float, *, retry_timeout: bool
    ) -> Any:
        body = None if payload is None else json.dumps(payload).encode()
        for attempt in range(1, self._retries.attempts + 1):
            if self._closed:
                raise ArigraphError(f"the connection to {self.url} is closed")
            try:
                return self._once(method, path, body, seconds)
            except _PassingError as fault:
                last = attempt == self._retries.attempts or self._closed
                if last or (fault.timed_out and not retry_timeout):
                    kind = HttpTimeoutError if fault.timed_out else ArigraphError
                    raise kind(f"the server {self.url} {fault}{_times(attempt)}") from fault
                wait = max(self._retries.first_wait * 2 ** (attempt - 1), fault.wait)
                self._retries.sleep(min(wait, _LONGEST_WAIT))
        raise AssertionError("at least one attempt is made")

    def _once(self, method: str, path: str, body: bytes | None, seconds: float) -> Any:
        connection = self._connection(seconds)
        with self._turn:
            self._open.add(connection)
        try:
            connection.request(method, self._parts.path + path, body, self._headers(body))
            response = connection.getresponse()
            data = response.read()
        except TimeoutError as error:
            message = f"did not answer within {seconds:.0f} s"
            raise _PassingError(message, timed_out=True) from error
        except ssl.SSLCertVerificationError as error:
            message = f"the server {self.url} has no valid certificate: {error.verify_message}"
            raise ArigraphError(message) from error
        except (OSError, http.client.HTTPException) as error:
            raise _PassingError(_connection_fault(error)) from error
        finally:
            with self._turn:
                self._open.discard(connection)
            connection.close()
        return self._answer(response, data, path)

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=seconds)
        return http.client.HTTPConnection(host, port, timeout=seconds)

    def _headers(self, body: bytes | None) -> dict[str, str]:
        headers = {"Accept": "application/json", "Connection": "close"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    def _answer(self, response: http.client.HTTPResponse, data: bytes, path: str) -> Any:
        status, text = response.status, data.decode(errors="replace")
        if status in (408, 425, 429) or status >= 500:
            asked = response.getheader("Retry-After", "")
            wait = float(asked) if asked.isdecimal() else 0.0
            raise _PassingError(f"answers {status}: {_shown(text)}", wait)
        if status in (401, 403):
            state = "refuses the key in" if self._key else "wants a key: set"
            message = f"the server {self.url} {state} {KEY_VARIABLE} ({status})"
            raise HttpRefusedError(message, status, text)
        if status >= 300:
            message = f"the server {self.url}{path} answers {status}: {_shown(text)}"
            raise HttpRefusedError(message, status, text)
        try:
            return json.loads(data)
        except ValueError as error:
            raise _PassingError(f"answers with no JSON: {_shown(text)}") from error


def _connection_fault(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "refuses the connection: is it running?"
    if isinstance(error, socket.gaierror):
        return f"is not known by that name: {error.strerror}"
    if isinstance(error, (http.client.IncompleteRead, http.client.RemoteDisconnected)):
        return "cut the connection off"
    if isinstance(error, http.client.HTTPException):
        return f"does not speak HTTP: {type(error).__name__}"
    return f"cannot be reached: {getattr(error, 'strerror', None) or error}"


def _shown(text: str) -> str:
    """The message of an error in JSON, else the beginning of the text; one line."""
    try:
        found = json.loads(text)
        while isinstance(found, dict):
            found = next((found[k] for k in ("error", "message", "detail") if k in found), None)
        text = found if isinstance(found, str) else text
    except ValueError:
        pass
    line = " ".join(text.split())
    return line[:_SHOWN] + ("…" if len(line) > _SHOWN else "") or "nothing"


def _times(attempts: int) -> str:
    return f" (tried {attempts} times)" if attempts > 1 else ""
