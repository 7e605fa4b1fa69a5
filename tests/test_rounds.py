"""A round, as the referee plays it with whoever is at the other end of a socket."""

from __future__ import annotations

import mmap
import os
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread, Timer

import numpy as np
import pytest

from kernelwright.envs.abi import CaseSpec, TensorSpec
from kernelwright.envs.referee.layout import (
    GUARDS,
    NONCE_BYTES,
    NS_BYTES,
    POISON,
    output_file_bytes,
    read_outputs,
)
from kernelwright.envs.referee.rounds import CandidateFailedError, RoundPeer
from kernelwright.envs.system.memfd import HUGE_BYTES, KERNEL_WAITS_S, memfd, seal
from kernelwright.envs.types import Verdict

SPEC = CaseSpec(
    inputs=(TensorSpec(name="x", dtype="float32", shape=(3,)),),
    outputs=(TensorSpec(name="out", dtype="float32", shape=(3,)),),
    scalars=(),
)
INPUTS = np.array([1, 2, 3], np.float32).tobytes()
Answer = Callable[[socket.socket, bytes, list[int]], object]


class Peer(RoundPeer):
    def gone(self) -> Exception:
        return CandidateFailedError("gone")


class DevicePeer(Peer):
    reports_ns = True


class OurPeer(Peer):
    is_ours = True


@pytest.fixture
def inputs() -> Iterator[int]:
    descriptor = memfd(INPUTS)
    yield descriptor
    os.close(descriptor)


def played(
    answer: Answer, inputs: int, kind: type[Peer] = Peer, limit_s: float = 10.0
) -> tuple[int, bytes]:
    """One round with a peer that answers so, in a thread."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def serve() -> None:
        message, files, _, _ = socket.recv_fds(theirs, 64, 2)
        try:
            answer(theirs, message, files)
        finally:
            for file in files:
                os.close(file)
            theirs.close()

    with ours, ThreadPoolExecutor(1) as thread:
        done = thread.submit(serve)
        try:
            return kind(ours, limit_s).round(inputs, SPEC)
        finally:
            ours.close()
            done.result()


def says(head: bytes, more: bytes = b"") -> Answer:
    return lambda channel, message, _: channel.send(head + message[1:] + more) and None


def failure(answer: Answer, inputs: int, kind: type[Peer] = Peer, limit_s: float = 10.0) -> str:
    with pytest.raises(CandidateFailedError) as caught:
        played(answer, inputs, kind, limit_s)
    return f"{caught.value.verdict.value}: {caught.value.reason}"


def test_a_round_gives_the_inputs_read_only_and_poisoned_outputs_and_takes_what_was_written(
    inputs: int,
) -> None:
    def double(channel: socket.socket, message: bytes, files: list[int]) -> None:
        assert message[:1] == b"G"
        assert len(message) == 1 + NONCE_BYTES
        content = os.pread(files[1], 1 << 20, 0)
        assert set(content[: len(INPUTS)]) == {POISON}
        assert len(content) == output_file_bytes(SPEC)
        (guard,) = set(content[len(INPUTS) :])
        assert guard in GUARDS
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.pwrite(files[0], b"x", 0)
        given = np.frombuffer(os.pread(files[0], len(INPUTS), 0), np.float32)
        os.pwrite(files[1], (given * 2).tobytes(), 0)
        channel.send(b"D" + message[1:])

    duration_ns, copy = played(double, inputs)
    assert duration_ns > 0
    assert copy[: len(INPUTS)] == np.array([2, 4, 6], np.float32).tobytes()
    assert len(copy) == output_file_bytes(SPEC)


def test_a_process_of_ours_gets_the_draws_own_file_and_outputs_whose_pages_are_not_there_yet(
    inputs: int,
) -> None:
    seal(inputs)

    def double(channel: socket.socket, message: bytes, files: list[int]) -> None:
        assert os.path.samestat(os.fstat(files[0]), os.fstat(inputs))
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.pwrite(files[0], b"x", 0)
        content = os.pread(files[1], 1 << 20, 0)
        assert len(content) == output_file_bytes(SPEC)
        assert not any(content[: len(INPUTS)])
        (guard,) = set(content[len(INPUTS) :])
        assert guard in GUARDS
        os.pwrite(files[1], INPUTS, 0)
        channel.send(b"D" + message[1:])

    _, copy = played(double, inputs, OurPeer)
    outputs, spilled = read_outputs(copy, SPEC)
    assert outputs[0].tobytes() == INPUTS
    assert not spilled


def test_the_clock_runs_from_before_the_inputs_are_there_until_the_copy_is_taken(
    inputs: int,
) -> None:
    def slow(channel: socket.socket, message: bytes, _: list[int]) -> None:
        time.sleep(0.05)
        channel.send(b"D" + message[1:])

    assert played(slow, inputs)[0] >= 50_000_000


def test_who_could_still_write_to_its_outputs_has_not_answered(inputs: int) -> None:
    returned = Event()

    def late(channel: socket.socket, message: bytes, files: list[int]) -> None:
        with mmap.mmap(files[1], 0) as outputs:
            channel.send(b"D" + message[1:])
            returned.wait(10)
            outputs[:4] = b"late"

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs, ThreadPoolExecutor(1) as thread:
        done = thread.submit(lambda: late(theirs, *socket.recv_fds(theirs, 64, 2)[:2]))
        with pytest.raises(CandidateFailedError, match="protocol_violation"):
            Peer(ours, 10.0).round(inputs, SPEC)
        returned.set()
        done.result()


def test_a_file_of_which_a_page_is_held_for_a_moment_is_sealed_when_it_is_let_go() -> None:
    """As the kernel holds pages that it moves on a busy machine; here a pipe holds it."""
    descriptor, (out, into) = memfd(INPUTS), os.pipe()
    os.splice(descriptor, into, len(INPUTS), offset_src=0)
    release = Timer(1.5 * KERNEL_WAITS_S, os.read, (out, len(INPUTS)))
    release.start()
    seal(descriptor)
    release.join()
    with pytest.raises(PermissionError):
        os.write(descriptor, b"x")
    for one in (descriptor, out, into):
        os.close(one)


def test_a_file_that_is_mapped_to_write_to_it_is_refused_at_once() -> None:
    descriptor = memfd(INPUTS)
    with mmap.mmap(descriptor, 0), pytest.raises(OSError, match="busy"):
        seal(descriptor)
    os.close(descriptor)


def test_nobody_writes_to_outputs_that_were_taken(inputs: int) -> None:
    kept: list[int] = []

    def keeps_the_file(channel: socket.socket, message: bytes, files: list[int]) -> None:
        kept.append(os.dup(files[1]))
        channel.send(b"D" + message[1:])

    _, copy = played(keeps_the_file, inputs)
    assert copy[:4] == bytes([POISON]) * 4
    with pytest.raises(PermissionError):
        os.pwrite(kept[0], b"late", 0)
    with pytest.raises(PermissionError):
        mmap.mmap(kept[0], 0)
    os.close(kept[0])


def test_only_the_answer_to_this_nonce_ends_a_round(inputs: int) -> None:
    def another_nonce(channel: socket.socket, message: bytes, _: list[int]) -> None:
        channel.send(b"D" + bytes(byte ^ 1 for byte in message[1:]))

    violation = "crashed: protocol_violation"
    assert failure(another_nonce, inputs) == violation
    assert failure(says(b"E"), inputs) == violation
    assert failure(says(b"D", b"more"), inputs) == violation
    assert failure(says(b"D", bytes(64)), inputs) == violation


def test_silence_is_a_timeout_and_hanging_up_is_a_crash(inputs: int) -> None:
    ended = Event()
    silent: Answer = lambda *_: ended.wait(0.2) and None  # noqa: E731
    assert failure(silent, inputs, limit_s=0.02) == "timed_out: wall_limit"
    assert failure(lambda *_: None, inputs) == "crashed: gone"


def test_who_has_hung_up_before_the_round_is_gone(inputs: int) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.close()
    with ours, pytest.raises(CandidateFailedError, match="gone"):
        Peer(ours, 10.0).round(inputs, SPEC)


def test_whose_peer_leaves_messages_unread_and_closes_is_gone(inputs: int) -> None:
    """Linux then says that the connection was reset, not that it ended."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer = Peer(ours, 10.0)
    peer.send(b"unread", [])
    theirs.close()
    with ours, pytest.raises(CandidateFailedError, match="gone"):
        peer.expect(b"D")


def test_who_reads_nothing_cannot_keep_the_referee_waiting() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer = Peer(ours, 10.0)

    said: list[str] = []

    def keep_on() -> None:
        try:
            while True:
                peer.send(bytes(1 << 12), [])
        except CandidateFailedError as failure:
            said.append(failure.reason)

    with ours, theirs:
        thread = Thread(target=keep_on, daemon=True)
        thread.start()
        thread.join(30)
    assert said == ["protocol_violation"]


def test_a_process_of_ours_that_fails_is_nobodys_failure_in_whatever_way_it_does(
    inputs: int,
) -> None:
    def mapped(channel: socket.socket, message: bytes, files: list[int]) -> None:
        with mmap.mmap(files[1], 0):
            channel.send(b"D" + message[1:] + (1).to_bytes(NS_BYTES, "little"))
            channel.recv(1)

    class Ours(DevicePeer):
        def failed(self, reason: str, verdict: Verdict = Verdict.CRASHED) -> Exception:
            return RuntimeError(reason)

    late = says(b"D", (1 << 62).to_bytes(NS_BYTES, "little"))
    for answer in (mapped, late, says(b"E")):
        with pytest.raises(RuntimeError, match=r"protocol_violation|clocks_disagree"):
            played(answer, inputs, Ours)


def test_a_devices_duration_counts_where_the_referees_clock_can_contain_it(inputs: int) -> None:
    for duration_ns in (1, 1234):
        told = duration_ns.to_bytes(NS_BYTES, "little")
        assert played(says(b"D", told), inputs, DevicePeer)[0] == duration_ns
    never = [0, 1 << 62]
    for duration_ns in never:
        answer = says(b"D", duration_ns.to_bytes(NS_BYTES, "little"))
        assert failure(answer, inputs, DevicePeer) == "unjudged: clocks_disagree"
    assert failure(says(b"D"), inputs, DevicePeer) == "crashed: protocol_violation"


def test_each_kind_of_peer_says_itself_what_its_hanging_up_means() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(NotImplementedError):
        RoundPeer(ours, 1.0).gone()


def test_a_failure_is_a_crash_unless_said_otherwise() -> None:
    assert CandidateFailedError("why").verdict is Verdict.CRASHED


@pytest.mark.parametrize("huge", [False, True])
def test_of_rounds_one_after_the_other_only_the_last_is_timed_and_all_outputs_are_there(
    inputs: int, *, huge: bool
) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    other = memfd(bytes(len(INPUTS)))
    seen: list[bytes] = []

    def serve() -> None:
        for pause_s in (1.0, 0):
            message, files, _, _ = socket.recv_fds(theirs, 64, 2)
            seen.append(os.pread(files[0], len(INPUTS), 0))
            os.pwrite(files[1], bytes([len(seen)]), 0)
            for file in files:
                os.close(file)
            time.sleep(pause_s)
            theirs.send(b"D" + message[1:])

    with ours, theirs, ThreadPoolExecutor(1) as thread:
        done = thread.submit(serve)
        took_ns, copies = Peer(ours, 10.0).rounds([other, inputs], SPEC, huge=huge)
        done.result()
        done = thread.submit(serve)
        trusted_ns = Peer(ours, 10.0).took_ns([other, inputs], SPEC, huge=huge)
        done.result()
    os.close(other)
    assert seen == [bytes(len(INPUTS)), INPUTS] * 2
    assert max(took_ns, trusted_ns) < 900_000_000
    assert [copy[:1] for copy in copies] == [b"\1", b"\2"]
    assert all(set(copy[1 : len(INPUTS)]) == {POISON} for copy in copies)
    assert all(set(copy[len(INPUTS) :]) < set(GUARDS) for copy in copies)


def test_who_writes_anywhere_beyond_its_outputs_is_wrong_on_huge_pages_too() -> None:
    copy = bytearray([POISON]) * HUGE_BYTES
    copy[: 3 * 4] = bytes(3 * 4)
    assert not read_outputs(bytes(copy), SPEC)[1]
    copy[-1] = 0
    assert read_outputs(bytes(copy), SPEC)[1]
