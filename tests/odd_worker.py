"""A worker that does what its candidate says, judges nothing, and starts at once. For tests.

The candidate's source is words: what to do, and for `once` the file that says it was done already.
`ILLNESS` in its environment says how it fails its health check.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

from kernelwright.envs.codec import from_plain, to_plain
from kernelwright.envs.types import Candidate, Evaluation, Verdict
from kernelwright.envs.workers.health import known_jobs
from tests.nouns import correct

KNOWN = {candidate.key: verdict for candidate, verdict in known_jobs()}


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[2]))
    for line in channel.makefile("rb"):
        candidate = from_plain(Candidate, json.loads(line)["candidate"])
        answer(channel, candidate)


def answer(channel: socket.socket, candidate: Candidate) -> None:
    if candidate.key in KNOWN:
        if os.environ.get("ILLNESS") == "dies":
            sys.exit(1)
        lies = os.environ.get("ILLNESS") == "accepts everything"
        return say(channel, candidate, Verdict.CORRECT if lies else KNOWN[candidate.key])
    word, *rest = candidate.source.split()
    if word == "once":
        done = Path(rest.pop(0))
        word = "fine" if done.exists() else rest[0]
        done.touch()
    if word in SIGNALS:
        os.kill(os.getpid(), SIGNALS[word])
    for part in SAYINGS.get(word, ()):
        channel.sendall(part.replace(b"{key}", candidate.key.encode()))
        time.sleep(0.1)
    return say(channel, candidate, Verdict.CORRECT) if word not in SAYINGS else sys.exit()


def say(channel: socket.socket, candidate: Candidate, verdict: Verdict) -> None:
    found = correct() if verdict is Verdict.CORRECT else Evaluation(verdict=verdict, reason="said")
    channel.sendall(_line(candidate.key, to_plain(found)))


def _line(key: str, evaluation: object) -> bytes:
    return json.dumps({"candidate": key, "evaluation": evaluation}).encode() + b"\n"


SIGNALS = {"die": signal.SIGKILL, "stop": signal.SIGSTOP}
SAYINGS = {
    "nonsense": [b"all is well\n"],
    "half": [b'{"candidate"'],
    "flood": [b"x" * (32 << 20)],
    "impossible": [_line("{key}", to_plain(correct()) | {"check": None})],
    "another": [_line("0" * 16, to_plain(correct()))],
    "slow": [b"\n"] * 600,
}
"""What is said in place of an answer."""


if __name__ == "__main__":
    main()
