"""A chat server for tests, on a free port of this machine: it answers from a list."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Body: TypeAlias = dict[str, Any]


class Answer:
    """One answer: a status and a body, or a fault of the connection."""

    def __init__(
        self,
        body: Any = None,
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
        cut: bool = False,
        hang: float = 0.0,
    ) -> None:
        """`cut` ends the connection half-way through the body; `hang` seconds pass first."""
        self.data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.status = status
        self.headers = headers or {}
        self.cut = cut
        self.hang = hang


Script: TypeAlias = list[Answer] | Callable[[Body], Answer]


def chat(text: str, **more: Any) -> Answer:
    """A completion as llama-server gives it."""
    finish = more.pop("finish", "stop")
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    usage = more.pop("usage", {"prompt_tokens": 12, "completion_tokens": 3})
    return Answer({"choices": [{"message": message, "finish_reason": finish}], "usage": usage})


class Served:
    """A running server; `calls` are the requests so far: path, headers, body."""

    def __init__(self, replies: Script, pages: dict[str, Any]) -> None:
        self.calls: list[tuple[str, dict[str, str], Body]] = []
        self.url = ""
        self._replies = replies
        self._pages = {"/v1/models": {"data": [{"id": "tiny"}]}, **pages}
        self._turn = threading.Lock()

    @property
    def chats(self) -> list[Body]:
        """The bodies of the chat requests so far."""
        return [body for path, _, body in self.calls if path == "/v1/chat/completions"]

    def answer(self, path: str, headers: dict[str, str], body: Body) -> Answer:
        """What to answer, in the order of the calls."""
        with self._turn:
            self.calls.append((path, headers, body))
            if path == "/v1/chat/completions":
                if callable(self._replies):
                    return self._replies(body)
                return self._replies.pop(0)
            page = self._pages.get(path, Answer({"error": "not found"}, status=404))
            page = page(body) if callable(page) else page
            return page if isinstance(page, Answer) else Answer(page)


@contextmanager
def serve(replies: Script, **pages: Any) -> Iterator[Served]:
    """A server that gives these replies to chat requests; a page of another path is a JSON body
    or a function of the request's, its path written with `__` for `/` and without the first.
    """
    served = Served(replies, {f"/{path.replace('__', '/')}": page for path, page in pages.items()})

    class Handler(BaseHTTPRequestHandler):
        def _respond(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else {}
            answer = served.answer(self.path, dict(self.headers), body)
            time.sleep(answer.hang)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.data) + answer.cut))
            self.end_headers()
            self.wfile.write(answer.data)

        do_GET = do_POST = _respond  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Keep the terminal clean."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: Any) -> None:
            """A client that went away is part of the tests."""

    with Server(("127.0.0.1", 0), Handler) as server:
        served.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
