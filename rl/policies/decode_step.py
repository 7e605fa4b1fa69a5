"""One decoding step of a batch: eagerly, or as a CUDA graph that is replayed.

A step of a small model is some thousand launches, each of which waits for Python: an H200 wrote 500
tokens a second with 48 rows. A graph is launched once. Its shapes have to stay, so it takes every
slot, whether there is an answer in it or not, and is recorded again where keys need more room.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from kernelwright.envs.device.memory import says_full
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.policies.kv_slots import Slots, as_cache

if TYPE_CHECKING:
    import torch

Step = Callable[[], "torch.Tensor"]
Record = Callable[[Step], Step]
"""Of a step, makes one that does the same with the same tensors, and gives the same tensor."""

OFF = 1e-3
"""How far a replayed step's logits may be from the step's own, as a share of the largest."""
WARM_UPS = 2
"""Eager steps before one is recorded: libraries ask for their memory in the first."""
SURVIVES = "2.13"
"""From this torch on a process goes on after a recording that failed: in some before, the allocator
stays in the middle of it."""
NO_GRAPHS = "KERNELWRIGHT_NO_CUDA_GRAPHS"
"""Set to anything, it keeps steps eager."""
REFUSED = WeakSet[Any]()
"""Models of which no step could be recorded: it is not tried again."""
log = logging.getLogger(__name__)


class EagerStep:
    """The rows in work, and no others."""

    def __init__(self, model: Any, kept: Slots) -> None:
        self.model, self.kept, self.cache = model, kept, as_cache(kept)

    def __call__(self, tokens: Sequence[int], positions: Sequence[int]) -> torch.Tensor:
        """Logits of the next token of each row, (rows, vocabulary) in float32, where `tokens` are
        its last ones, which enter the cache at these positions."""
        import torch

        device = self.model.device
        places = torch.tensor(positions, device=device)
        mask = self.kept.begin_step(places, max(positions) + 1)
        asked = torch.tensor(tokens, device=device)[:, None]
        return self.forward(asked, places[:, None], mask.to(self.model.dtype))

    def forward(self, tokens: Any, positions: Any, mask: Any) -> torch.Tensor:
        found = self.model(
            input_ids=tokens,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=self.cache,
            use_cache=True,
        )
        logits: torch.Tensor = found.logits[:, -1].float()
        return logits


class GraphedStep:
    """The same for every slot at once, recorded and replayed.

    A recording knows addresses alone. What it reads and writes stays here and in `kept`, whose rows
    and positions change only before the next recording.

    What is recorded is tried at once beside the step itself; where it fails or gives other logits,
    steps of this model are eager from then on, and a line in the log says so. Where only memory was
    short the next decoder of the model tries again.
    """

    def __init__(self, model: Any, kept: Slots, record: Record) -> None:
        import torch

        self.eager, self.kept, self.record = EagerStep(model, kept), kept, record
        options: Any = {"dtype": torch.long, "device": model.device}
        self.tokens = torch.zeros(kept.count, 1, **options)
        self.positions = torch.zeros(kept.count, **options)
        self.mask: torch.Tensor | None = None
        self.replay: Step | None = None
        self.off = model in REFUSED
        """Whether all steps are eager from here on."""
        self.room = 0
        """Of the keys that the step was recorded with: more of it means other tensors."""

    def __call__(self, tokens: Sequence[int], positions: Sequence[int]) -> torch.Tensor:
        """As of `EagerStep`."""
        import torch

        if self.off:
            return self.eager(tokens, positions)
        count = len(tokens)
        self.tokens[:count, 0] = torch.tensor(tokens)
        self.positions.zero_()
        self.positions[:count] = torch.tensor(positions)
        mask = self.kept.mask(self.positions, max(positions) + 1).to(self.eager.model.dtype)
        if self.replay is None or self.mask is None or self.kept.room != self.room:
            self.mask, self.replay, self.room = mask, None, self.kept.room
            found = self.eager(tokens, positions)
            self._record()
            return found
        self.mask.copy_(mask)
        return self.replay()[:count]

    def _record(self) -> None:
        """This step, for the next ones. Taken again it changes nothing: it writes the same keys to
        the same places."""
        import torch

        self.kept.aim(self.positions)
        try:
            for _ in range(WARM_UPS):
                expected = self._step()
            replay = self.record(self._step)
            replay().fill_(torch.nan)  # what is not written again would be as it was
            off = (replay() - expected).abs().max()
            if not off <= OFF * expected.abs().max():
                raise RuntimeError("its logits differ")
        except RuntimeError as error:
            self.off = True  # where memory was short there may be more next time
            if not says_full(error):
                REFUSED.add(self.eager.model)
            line = str(error).partition("\n")[0]
            log.warning("decoding without CUDA graphs: %s", line)
        else:
            self.replay = replay

    def _step(self) -> torch.Tensor:
        return self.eager.forward(self.tokens, self.positions[:, None], self.mask)


def step_of(model: Any, kept: Slots) -> EagerStep | GraphedStep:
    """The faster one on the model's device."""
    if model.device.type == "cuda" and not os.environ.get(NO_GRAPHS):
        return GraphedStep(model, kept, recorded_by_cuda)
    return EagerStep(model, kept)


def recorded_by_cuda(step: Step) -> Step:
    """A CUDA graph of the step.

    Raises RuntimeError for one that waits for the GPU, of which no recording is begun, and for one
    that cannot be recorded; ModelError where this process cannot go on after that.
    """
    import torch

    torch.cuda.synchronize()
    with _without_waiting():
        step()
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
    try:
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            found = step()
    except RuntimeError as error:
        if torch.__version__ >= SURVIVES:
            raise
        line = str(error).partition("\n")[0]
        raise ModelError(
            f"no CUDA graph could be made of a decoding step ({line}), and torch "
            f"{torch.__version__} cannot go on after that: set {NO_GRAPHS}=1, and --resume"
        ) from error
    finally:
        torch.cuda.set_stream(stream)

    def replay() -> torch.Tensor:
        graph.replay()
        return found

    return replay


@contextmanager
def _without_waiting() -> Iterator[None]:
    """An operator that waits for the GPU raises RuntimeError while the block runs."""
    import torch

    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it does not see all of them
        torch.cuda.set_sync_debug_mode("error")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode(before)
