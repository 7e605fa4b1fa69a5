"""One of two processes that make one training pass, each with its own rows: see
tests/test_fast_pass.py. Arguments: the model's folder, and where the first writes its gradient."""

from __future__ import annotations

import sys

import torch

from kernelwright.rl.train.trl_adapter import kernel_trainer_class
from tests.test_fast_pass import batch, learned, trainer_of, with_adapter


def main() -> None:
    folder, out = sys.argv[1:]
    trainer = trainer_of(kernel_trainer_class(), with_adapter(folder), folder)
    accelerator = trainer.accelerator
    assert accelerator.num_processes == 2
    wrapped = accelerator.prepare_model(trainer.model)
    assert wrapped is not trainer.model
    trainer.model_wrapped = wrapped
    # Only the first has credited rows: the second must take part all the same.
    inputs = batch(1)
    if accelerator.process_index:
        inputs["advantages"] = torch.zeros_like(inputs["advantages"])
    gradient, _ = learned(trainer, inputs)
    everywhere = accelerator.gather(gradient[None])
    assert torch.equal(everywhere[0], everywhere[1])
    if accelerator.process_index == 0:
        torch.save(gradient, out)


if __name__ == "__main__":
    main()
