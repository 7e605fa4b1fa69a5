"""A server that speaks the part of vLLM's HTTP that is used here, on the loopback address: a real
model of transformers, adapters that are loaded while it runs, and chat completions."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kernelwright.rl.models.chat import chat_ids
from kernelwright.rl.policies.decode import sample
from tests.tiny_model import tiny_model, tiny_tokenizer

BASE = "tiny"


class Refusal(Exception):
    """(status, what is said)"""


@dataclass
class LoopbackVllm:
    """`url` answers while `serving` lasts. `asked` has every request, `failing` what to answer
    instead, in order; `offset` is added to each log-probability; `root` is where it says that its
    base lies."""

    port: int = 0
    updates: bool = True
    offset: float = 0.0
    failing: list[tuple[int, str]] = field(default_factory=list)
    breaks_off: int = 0
    root: str | None = None
    asked: list[tuple[str, dict[str, Any], str | None]] = field(default_factory=list)
    adapters: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.plain, self.model, self.tokenizer = tiny_model(), None, tiny_tokenizer()
        self.lock = threading.Lock()
        self.http = ThreadingHTTPServer(("127.0.0.1", self.port), handler(self))
        self.http.daemon_threads = True
        self.http.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def answer(self, path: str, body: dict[str, Any] | None) -> Any:
        if path == "/v1/models":
            names = [BASE, *self.adapters]
            roots = {BASE: self.root, **self.adapters}
            return {"data": [{"id": one, "root": roots[one]} for one in names]}
        if path.endswith("_lora_adapter"):
            return self.adapter(path, body)
        if body is None:
            raise Refusal(404, "Not Found")
        if body["model"] not in (BASE, *self.adapters):
            raise Refusal(404, f"The model `{body['model']}` does not exist.")
        return self.chat(body) if path == "/v1/chat/completions" else self.completion(body)

    def adapter(self, path: str, body: dict[str, Any] | None) -> str:
        if not self.updates:
            raise Refusal(404, "Not Found")
        if body is None:
            raise Refusal(405, "Method Not Allowed")
        name = body["lora_name"]
        if "unload" in path:
            del self.adapters[name]
            return f"Success: LoRA adapter '{name}' removed successfully."
        if name in self.adapters:
            raise Refusal(400, f"The lora adapter '{name}' has already been loaded.")
        self.load(name, body["lora_path"])
        self.adapters[name] = body["lora_path"]
        return f"Success: LoRA adapter '{name}' added successfully."

    def load(self, name: str, folder: str) -> None:
        from peft import PeftModel

        if self.model is None:
            self.model = PeftModel.from_pretrained(self.plain, folder, adapter_name=name)
        else:
            self.model.load_adapter(folder, adapter_name=name)

    def sampled(self, ids: list[int], body: dict[str, Any], most: int) -> Any:
        model: Any = self.plain if self.model is None else self.model
        ends = set(body.get("stop_token_ids", [])) | {self.tokenizer.eos_token_id}
        adapted = body["model"] != BASE
        if adapted:
            model.set_adapter(body["model"])
        with nullcontext() if adapted or self.model is None else model.disable_adapter():
            (one,) = sample(
                model,
                [ids],
                max_new_tokens=most,
                temperature=body["temperature"],
                end_token_ids=ends,
                seed=body["seed"],
            )
        return one

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        one = self.sampled(body["prompt"], body, body["max_tokens"])
        known = [value + self.offset for value in one.logprobs]
        choice = {
            "text": self.tokenizer.decode(one.token_ids, skip_special_tokens=True),
            "finish_reason": "stop" if one.ended else "length",
            "token_ids": list(one.token_ids) if body.get("return_token_ids") else None,
            "logprobs": {"token_logprobs": known} if "logprobs" in body else None,
        }
        return {"model": body["model"], "choices": [choice]}

    def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        ids = chat_ids(self.tokenizer, body["messages"][-1]["content"])
        one = self.sampled(ids, body, body.get("max_tokens") or body["max_completion_tokens"])
        text = self.tokenizer.decode(one.token_ids, skip_special_tokens=True)
        return {
            "model": body["model"],
            "choices": [
                {
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop" if one.ended else "length",
                }
            ],
            "usage": {"prompt_tokens": len(ids), "completion_tokens": len(one.token_ids)},
        }

    @contextmanager
    def serving(self) -> Iterator[LoopbackVllm]:
        thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.stop()
            thread.join()

    def dies_at(self, version: str) -> None:
        """It is gone once it has loaded an adapter whose name begins so."""
        load = self.load

        def last(name: str, folder: str) -> None:
            load(name, folder)
            if name.startswith(version):
                threading.Thread(target=self.stop).start()
                raise ConnectionAbortedError

        self.load = last  # type: ignore[method-assign]

    def stop(self) -> None:
        """As if it had been killed: the address refuses connections."""
        self.http.shutdown()
        self.http.server_close()


def handler(server: LoopbackVllm) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(None)

        def do_POST(self) -> None:
            if server.breaks_off:
                server.breaks_off -= 1
                self.close_connection = True
                return
            self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def reply(self, body: dict[str, Any] | None) -> None:
            with server.lock:
                server.asked.append((self.path, body or {}, self.headers["Authorization"]))
                status, told = self.outcome(body)
            text = told if isinstance(told, str) else json.dumps(told)
            self.send_response(status)
            if status == 429:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(text.encode())

        def outcome(self, body: dict[str, Any] | None) -> tuple[int, Any]:
            if server.failing and body is not None:
                status, said = server.failing.pop(0)
                return status, {"error": {"message": said}}
            try:
                return 200, server.answer(self.path, body)
            except Refusal as refusal:
                return refusal.args[0], {"error": {"message": refusal.args[1]}}

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
