"""Locks of cores and GPUs: one holder at a time, which may ask again."""

from __future__ import annotations

import os
import threading

from kernelwright.envs.system.locks import exclusive

NAME = f"test-{os.getpid()}"
WAITS_S = 0.2


def others_get_it() -> bool:
    """Whether another thread can have the lock now."""
    got = threading.Event()

    def take() -> None:
        with exclusive(NAME):
            got.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    return got.wait(WAITS_S)


def test_who_holds_a_lock_may_ask_for_it_again_and_others_wait() -> None:
    with exclusive(NAME):
        with exclusive(NAME) as again:
            assert again.is_ours
            assert not others_get_it()
        assert not others_get_it()
    assert others_get_it()


def test_what_is_lent_is_taken_anew_by_who_asks_for_it_meanwhile() -> None:
    with exclusive(NAME) as held:
        with held.lent():
            assert others_get_it()
            with exclusive(NAME) as meanwhile:
                assert meanwhile is not held
                assert not others_get_it()
            assert not held.is_ours
        assert held.is_ours
        assert not others_get_it()
    assert others_get_it()
