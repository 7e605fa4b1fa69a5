"""Any endpoint that speaks OpenAI's chat completions, by a model's name: `openai:MODEL@ADDRESS`.

Without an address it is that of OPENAI_BASE_URL, else OpenAI's own. The key is OPENAI_API_KEY's.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelwright.envs.policy import (
    Completion,
    Finish,
    OnFinished,
    Policy,
    Prompt,
    Sampling,
    messages_of,
)
from kernelwright.envs.system.secrets import header_key
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.policies.endpoint import Endpoint, EndpointError, RefusedError, all_of
from kernelwright.rl.policies.providers import base

URL, KEY, PRICES = "OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_PRICES"
OPENAI = "https://api.openai.com/v1"
AT_ONCE = 16
"""Requests that wait for an answer at the same time."""
FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH}


@dataclass
class Usage:
    """Tokens that an endpoint has counted so far, and dollars where they are known."""

    prices: tuple[float, float] | None = None
    """Dollars for a million tokens that are read, and for a million that are written."""
    answers: int = 0
    read: int = 0
    written: int = 0
    dollars: float | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, told: Mapping[str, Any]) -> None:
        """Adds what an answer says of itself; some endpoints name the cost, too."""
        read, written = (_count(told.get(f"{one}_tokens")) for one in ("prompt", "completion"))
        cost = told.get("cost")
        cost = cost if isinstance(cost, int | float) else None
        if cost is None and self.prices:
            cost = (read * self.prices[0] + written * self.prices[1]) / 1e6
        with self.lock:
            self.answers += 1
            self.read += read
            self.written += written
            if cost is not None:
                self.dollars = (self.dollars or 0.0) + float(cost)

    def line(self) -> str:
        spent = (
            f"${self.dollars:.4f}"
            if self.dollars is not None
            else f"cost unknown ({PRICES}=READ,WRITTEN has the dollars for a million tokens)"
        )
        return f"{self.answers} answers, {self.read} tokens read, {self.written} written, {spent}"


class ChatPolicy:
    """A model behind an endpoint that tells the text, and why it ends."""

    def __init__(self, endpoint: Endpoint, model: str, usage: Usage) -> None:
        self.endpoint, self.model, self.usage = endpoint, model, usage
        self.limit = "max_tokens"

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        """Several requests at a time; then says how many tokens, and dollars, were spent so far.

        A prompt that the endpoint refuses has an empty answer, which `on_finished` hears of last,
        and a line says so. Raises RefusedError where it refuses all of them.
        """
        refused: dict[int, str] = {}

        def ask(number: int) -> Completion:
            try:
                return self._one(prompts[number], sampling, sampling.seed + sampling.number(number))
            except RefusedError as error:
                refused[number] = str(error)
                return Completion(text="", finish=Finish.OTHER)

        def answered(number: int, one: Completion) -> None:
            if on_finished and number not in refused:
                on_finished(number, one)

        found = all_of(len(prompts), ask, AT_ONCE, answered)
        why = next(iter(refused.values()), "")
        if refused and len(refused) == len(prompts):
            raise RefusedError(why)
        if refused:
            if on_finished:
                for number in refused:
                    on_finished(number, found[number])
            said = f"{len(refused)} of {len(prompts)} prompts were refused, and have no answer"
            print(f"{self.model}: {said}: {why}", file=sys.stderr)
        print(f"{self.model}: {self.usage.line()}", file=sys.stderr)
        return found

    def _one(self, prompt: Prompt, sampling: Sampling, seed: int) -> Completion:
        body = {
            "model": self.model,
            "messages": messages_of(prompt),
            "temperature": sampling.temperature,
            "seed": seed % 2**31,
        }
        told = self._limited(body, sampling.max_new_tokens)
        text, finish, usage = self._read(told)
        self.usage.add(usage)
        return Completion(text=text, finish=finish)

    def _read(self, told: Any) -> tuple[str, Finish, Mapping[str, Any]]:
        """(text, why it ends, what it says of tokens) of an answer. Raises EndpointError."""
        try:
            choice, usage = told["choices"][0], told.get("usage")
            text = _text(choice["message"].get("content"))
            finish = FINISHES.get(str(choice.get("finish_reason")), Finish.OTHER)
        except (LookupError, TypeError, AttributeError):
            said = " ".join(json.dumps(told).split())[:200]
            raise EndpointError(f"{self.endpoint.url}: no chat completion, but {said}") from None
        return text, finish, usage if isinstance(usage, dict) else {}

    def _limited(self, body: Mapping[str, Any], most: int) -> Any:
        """The answer; newer models of OpenAI's want the limit by another name."""
        path, other, sent = "/v1/chat/completions", "max_completion_tokens", self.limit
        try:
            return self.endpoint.post(path, {**body, sent: most})
        except EndpointError as error:
            if sent == other or other not in str(error):
                raise
            self.limit = other
            return self.endpoint.post(path, {**body, other: most})


def _text(content: Any) -> str:
    """What a message says: a text, or the texts of its parts; empty where it says nothing."""
    if isinstance(content, list):
        return "".join(one["text"] for one in content if one.get("type") == "text")
    if not isinstance(content, str | None):
        raise TypeError("a message is a text")
    return content or ""


def _count(told: Any) -> int:
    """A number of tokens; 0 where none is told."""
    return told if isinstance(told, int) else 0


class Provider(base.Provider):
    """For `eval` and `write`; such an endpoint tells no token ids, so nothing is trained on it."""

    def open(self, model: str) -> Policy:
        name, _, address = model.partition("@")
        if not name:
            raise ModelError("openai:MODEL or openai:MODEL@ADDRESS names a model")
        url = address or os.environ.get(URL) or OPENAI
        return ChatPolicy(Endpoint.at(url, _key()), name, Usage(_prices()))


def _key() -> str | None:
    try:
        return header_key(os.environ.get(KEY), KEY)
    except ValueError as error:
        raise ModelError(str(error)) from None


def _prices() -> tuple[float, float] | None:
    said = os.environ.get(PRICES)
    if not said:
        return None
    try:
        read, written = map(float, said.split(","))
    except ValueError:
        raise ModelError(f"{PRICES} is {said!r}: give dollars as READ,WRITTEN") from None
    return read, written
