"""The draws of a batch: inputs and expected outputs of each round, made once for all candidates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import chain

from kernelwright.envs.referee.rounds import RoundPeer
from kernelwright.envs.reference.client import Draw, Loaded, ReferenceProcess
from kernelwright.envs.system.hardware import memory_bytes

WARM_ROUNDS = 2
"""A process's second and third call still ask the system for memory and meet code that no cache
holds; the module, whose process goes on, did that long ago."""
KEPT_BYTES = 512 << 20
"""Bytes of a batch's draws that are kept at most; a larger problem's are drawn anew each time."""
KEPT_SHARE = 32
"""Part of the machine's memory that is kept beside a GPU, where that is more: the problems of four
workers are large, and take an eighth."""


class Draws:
    """The draws of one batch, by problem, case and round; the batch's seed decides them all."""

    def __init__(self, reference: ReferenceProcess, seed: int) -> None:
        self.reference, self.seed = reference, seed
        self._kept: dict[tuple[str, int, int | str], Draw] = {}
        self._kept_bytes = 0
        beside_gpu = memory_bytes() // KEPT_SHARE if reference.gpu else 0
        self.most_bytes = max(KEPT_BYTES, beside_gpu)
        self._full = set[tuple[str, int]]()
        """Problems and cases of which no more is kept."""

    @contextmanager
    def only_for(self, key: str, loaded: Loaded, case: int) -> Iterator[Draw]:
        """A draw that one candidate gets, and nobody else of its batch."""
        seed = self._seed_of((loaded.key, case, key))
        draw = self.reference.draw(loaded, case, seed)
        try:
            yield draw
        finally:
            draw.close()

    @contextmanager
    def of(self, loaded: Loaded, case: int, number: int | str) -> Iterator[Draw]:
        """The draw of a case's round of this number or name, for as long as the block runs."""
        place = (loaded.key, case, number)
        kept = self._kept.get(place)
        draw = kept or self.reference.draw(loaded, case, self._seed_of(place))
        if kept is None and self._kept_bytes + draw.size_bytes <= self.most_bytes:
            self._kept[place] = kept = draw
            self._kept_bytes += draw.size_bytes
        elif kept is None:
            self._full.add((loaded.key, case))
        try:
            yield draw
        finally:
            if kept is None:
                draw.close()

    @contextmanager
    def timed(
        self, loaded: Loaded, number: int, *, first: bool = False
    ) -> Iterator[list[tuple[int, Draw]]]:
        """(case, draw) for a timed round and the one or two that come right before it.

        Those have the timed sizes and a few other values, and are compared as well: nobody can tell
        which of them is timed, and leave out there what only the others would show. Before a
        process's `first` there are two more (`WARM_ROUNDS`).
        """
        with ExitStack() as ended:
            yield [
                (case, ended.enter_context(self.of(loaded, case, name)))
                for case, name in self._places(loaded, number, first)
            ]

    def _places(self, loaded: Loaded, number: int, first: bool) -> list[tuple[int, int | str]]:
        # By the batch's seed: a replay plays as many.
        more = self._seed_of((loaded.key, loaded.timed, f"before {number}")) % 2
        count = 1 + more + WARM_ROUNDS * first
        before = [(loaded.other, f"before {number}: {one}") for one in range(count)]
        return [*before, (loaded.timed, number)]

    def ahead(self, loaded: Loaded, numbers: Iterable[int], firsts: Sequence[int] = ()) -> None:
        """Makes what these timed rounds need; `firsts` of them begin a process."""
        places = (self._places(loaded, number, number in firsts) for number in numbers)
        self.keep(loaded, chain.from_iterable(places))

    def keep(self, loaded: Loaded, rounds: Iterable[tuple[int, int | str]]) -> None:
        """Makes the draws of these rounds (case, number or name), up to the first that is too large
        to be kept."""
        for case, number in rounds:
            if (loaded.key, case) in self._full:
                return
            with self.of(loaded, case, number):
                pass

    def baseline_ns(
        self,
        loaded: Loaded,
        numbers: Sequence[int],
        empty: AbstractContextManager[RoundPeer],
        *,
        huge: bool,
        warm: bool,
    ) -> list[tuple[int, int]]:
        """For each of these timed rounds (the module's time, what a round costs besides).

        A candidate's rounds are timed with all that belongs to a round, the module without. So that
        both sides carry the same, a round of `empty`, in which nothing is computed, goes with it.
        That begins when the module is done, with a process as new as a candidate's; `warm`: it is
        warmed as a candidate's.
        """
        module_ns = list(self.rounds_ns(self.reference, loaded, numbers, huge=huge))
        with empty as peer:
            empty_ns = list(self.rounds_ns(peer, loaded, numbers, huge=huge, new=warm))
        return list(zip(module_ns, empty_ns, strict=True))

    def rounds_ns(
        self,
        peer: RoundPeer,
        loaded: Loaded,
        numbers: Sequence[int],
        *,
        huge: bool = False,
        new: bool = False,
    ) -> Iterator[int]:
        """How long each of these timed rounds took a trusted process. `new`: the first is warmed as
        that of a process which has just been started."""
        for number in numbers:
            with self.timed(loaded, number, first=new and number == numbers[0]) as played:
                inputs = [draw.inputs for _, draw in played]
                yield peer.took_ns(inputs, loaded.specs[loaded.timed], huge=huge)

    def close(self) -> None:
        for draw in self._kept.values():
            draw.close()
        self._kept.clear()
        self._kept_bytes = 0
        self._full.clear()

    def _seed_of(self, place: tuple[str, int, int | str]) -> int:
        digest = hashlib.sha256(repr((self.seed, *place)).encode()).digest()
        return int.from_bytes(digest[:8], "little") >> 2
