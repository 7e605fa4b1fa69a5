"""Runs the code on a published run's card, and compares what it prints with the run's own answers.

python -m scripts.check_card runs/quickstart [--problems 8]
"""

from __future__ import annotations

import argparse
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from rich.progress import track

from kernelwright.data.runs.records import read_records
from kernelwright.envs.policy import Sampling
from kernelwright.evals.hub.card import read_recipe
from kernelwright.evals.hub.publish import write_trees
from kernelwright.evals.hub.upload import Target
from kernelwright.rl.models.adapter_folder import find_adapter
from kernelwright.rl.models.weights import EMBEDDED, ensure
from kernelwright.rl.policies.hf import load_policy

REPO = "name/of-the-repository"
BASE = re.compile(r'(?<=AutoModelForCausalLM\.from_pretrained\(\n    )"[^"]+"')


def printed(card: str, tree: Path, base: Path, prompts: Sequence[str]) -> Iterator[str]:
    """What the card's code prints for each prompt, its repository and base model taken from here.

    The code is run as it stands, by transformers and PEFT alone; only the names of the two and the
    task are replaced.
    """
    found = re.search(r"^~~~~python\n(.*?)^~~~~$", card, re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError("no Python on this card")
    code = BASE.sub(lambda _: repr(str(base)), found[1]).replace(f'"{REPO}"', repr(str(tree)))
    load, ask = re.split(r"^(?=inputs = )", code, flags=re.MULTILINE)
    names: dict[str, Any] = {}
    exec(load, names)
    for prompt in prompts:
        names["task"] = prompt
        with redirect_stdout(io.StringIO()) as output:
            exec(ask, names)
        yield output.getvalue().removesuffix("\n")


def compare(run: Path, base: Path, problems: int) -> tuple[int, int]:
    """Of how many held-out prompts the card's code gives the run's own completion; of how many."""
    tree = write_trees(run, Target(repo=REPO))[0].folder
    card = (tree / "README.md").read_text(encoding="utf-8")
    rows = [one for one in read_records(run) if one.stage == "eval_after"][:problems]
    prompts = [one.prompt for one in rows]
    theirs = list(track(printed(card, tree, base, prompts), "by the card", total=len(prompts)))
    limit = int(re.findall(r"max_new_tokens=(\d+)", card)[0])
    dtype = read_recipe(run).model.dtype
    policy = load_policy(str(run), dtype=dtype, batch_size=1)
    ours = policy.complete(prompts, Sampling(max_new_tokens=limit, temperature=0))
    return sum(map(str.__eq__, theirs, (one.text for one in ours))), len(prompts)


def base_of(run: Path) -> Path:
    """The folder of the model that a run began from."""
    adapter = find_adapter(str(run))
    if adapter is None:
        raise SystemExit(f"{run} is no finished run")
    return ensure(adapter.base) if adapter.base in EMBEDDED else Path(adapter.base)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--problems", type=int, default=8)
    asked = parser.parse_args()
    same, prompts = compare(asked.run, base_of(asked.run), asked.problems)
    print(f"the card's code gave the run's own completion for {same} of {prompts} prompts")


if __name__ == "__main__":
    main()
