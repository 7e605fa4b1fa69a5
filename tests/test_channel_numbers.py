"""Channels are watched whatever the number of their descriptor."""

from __future__ import annotations

import fcntl
import resource
import socket

import pytest

from kernelwright.envs.system.memfd import readable

BEYOND = 1500
"""`select` watches none from 1024 on."""


@pytest.fixture
def many_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft <= BEYOND:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * BEYOND), hard))


@pytest.mark.usefixtures("many_files")
def test_a_channel_of_a_high_number_is_watched() -> None:
    mine, theirs = socket.socketpair()
    with mine, theirs, socket.socket(fileno=fcntl.fcntl(mine, fcntl.F_DUPFD, BEYOND)) as high:
        assert high.fileno() >= BEYOND
        assert not readable(high, 0.01)
        theirs.send(b"x")
        assert readable(high, 0.01)
        assert high.recv(1) == b"x"
        assert not readable(high, -1.0)
        theirs.close()
        assert readable(high, 0.01)
