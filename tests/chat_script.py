"""An endpoint of OpenAI's kind on the loopback address that says given answers: in order, or what a
function makes of a request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def chat_script(
    answers: Sequence[str] | Callable[[dict[str, Any]], str | bytes],
) -> Iterator[tuple[str, list[list[dict[str, Any]]]]]:
    """(its address, the messages of each request so far); bytes are the whole body of an answer."""
    asked: list[list[dict[str, Any]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            content = answers(body) if callable(answers) else answers[len(asked)]
            message = {"role": "assistant", "content": str(content)}
            asked.append(body["messages"])
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            told = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
            told["usage"] = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            whole = json.dumps({**told, "choices": [choice]}).encode()
            data = content if isinstance(content, bytes) else whole
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
