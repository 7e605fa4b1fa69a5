"""Rehearses both calls of scripts/on_gpu.py on a CPU, as they would run on a bare machine.

    .venv/bin/python -m scripts.on_gpu_rehearse [--image FOLDER] [--python python3.12]

As root: without a network, on a tree unpacked from what is sent, in an environment that has only
what scripts/on_gpu_image.txt lists (made once, about 5 GB), with a stand-in for the driver and its
tool. Exits 1 where a stage does not end well, or a limit of what is sent or printed is passed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts import on_gpu
from scripts.on_gpu_pack import (
    FOLDER,
    IMAGE,
    MOST_BYTES,
    ROOT,
    carries,
    image,
    plain,
    tree,
    upload,
)

SECONDS = {"a": 325, "b": 480}
COMMAND = 'umask 022; python3 scripts/on_gpu.py --out "$OUT" --call {call} --seconds {seconds}'
COMMAND_LETTERS, REPLY_LETTERS = 2_000, 12_000
ALONE = """
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/overlay" "$1" || exit
ip link set lo up 2>/dev/null
cd "$2/tree" && exec /bin/sh -c "$3"
"""
"""In own namespaces for mounts and for the network: what is installed lies over the image."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--image", type=Path, default=Path.home() / ".cache" / "on_gpu_image")
    parser.add_argument("--python", default="python3.12", help="makes the image")
    parser.add_argument("--out", type=Path, help="where files that come back are copied to")
    parser.add_argument("--stages", help="only these")
    given = parser.parse_args()
    make_image(given.image.absolute(), given.python)
    troubles = [
        f"call {call} carries {size / 1e6:.1f} MB"
        for call, carried in carries(FOLDER).items()
        if (size := sum(upload(carried).values())) > MOST_BYTES
    ]
    with tempfile.TemporaryDirectory(prefix="on-gpu-") as folder:
        work = Path(folder)
        for name in ("tree", "upper", "overlay", "home", "out", "tmp"):
            (work / name).mkdir()
        environment = stand_ins(work / "stand-ins", work, given.image.absolute())
        unpack(tree(), ROOT, work / "tree")
        for call in SECONDS:
            troubles += rehearse(call, work, given.image.absolute(), environment, given.stages)
            if given.out:
                shutil.copytree(work / "out", given.out / call, dirs_exist_ok=True)
        rows = on_gpu.read_rows(work / "out" / "on_gpu.jsonl")
    ends = {row["stage"]: row["end"] for row in rows if "end" in row}
    troubles += [f"{name}: {end}" for name, end in ends.items() if end != "ok"]
    troubles += (
        []
        if given.stages
        else [f"{one.name}: never" for one in on_gpu.STAGES if one.name not in ends]
    )
    print(*troubles or ["rehearsed: every stage is ok"], sep="\n")
    sys.exit(bool(troubles))


def make_image(folder: Path, python: str) -> None:
    """An environment of what a bare machine has, and of nothing else."""
    if (folder / IMAGE.name).exists():
        return
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "install", "--upgrade", "pip"], check=True)
    subprocess.run([*pip, "install", "--no-cache-dir", "-r", str(IMAGE)], check=True)
    listed = subprocess.run([*pip, "list", "--format=json"], stdout=subprocess.PIPE, check=True)
    names = {plain(one["name"]) for one in json.loads(listed.stdout)}
    if names - image().keys():
        subprocess.run([*pip, "uninstall", "-y", *sorted(names - image().keys())], check=True)
    shutil.copy(IMAGE, folder)  # also says to the stage `setup` that it may install here


def stand_ins(folder: Path, work: Path, image_folder: Path) -> dict[str, str]:
    """What the machine's processes find in their environment: a driver and a tool of ours."""
    from scripts.on_gpu_stages import stand_in

    folder.mkdir()
    stand_in._fill(folder)
    system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {
        "PATH": f"{image_folder / 'bin'}:{folder}:{system}",
        "LD_LIBRARY_PATH": str(folder),
        stand_in.READY: str(folder),
        "HOME": str(work / "home"),
        "OUT": str(work / "out"),
        "TMPDIR": str(work / "tmp"),
        "LANG": "C.UTF-8",
    }


def unpack(files: Sequence[Path], root: Path, to: Path) -> None:
    """A copy of these files below another folder; links stay links."""
    for path in files:
        place = to / path.relative_to(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place, follow_symlinks=False)


def rehearse(
    call: str, work: Path, image_folder: Path, environment: Mapping[str, str], stages: str | None
) -> list[str]:
    """One call on the machine; what was not as it should be."""
    brought = work / "tree" / FOLDER.name
    shutil.rmtree(brought, ignore_errors=True)
    for source in carries(FOLDER)[call]:
        files = [one for one in source.rglob("*") if one.is_file()] if source.is_dir() else [source]
        unpack(files, FOLDER, brought)
    before = _ended(work)
    shutil.rmtree(work / "out")
    (work / "out").mkdir()
    command = COMMAND.format(call=call, seconds=SECONDS[call])
    rehearsed = f"{command} --rehearse" + (f" --stages {stages}" if stages else "")
    words = ["unshare", "--net", "--mount", "/bin/sh", "-c", ALONE, "sh"]
    words += [str(image_folder), str(work), rehearsed]
    print(f"call {call}: {command}", flush=True)
    printed = ""
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", flush=True)
            printed += line
    text = (work / "out" / "table.txt").read_text() if (work / "out" / "table.txt").exists() else ""
    again = before & {row.partition(":")[0] for row in printed.splitlines() if ": begins" in row}
    files = [one for one in (work / "out").rglob("*") if one.is_file()]
    return [
        *([f"call {call} has no table"] if not text else []),
        *([f"call {call} prints {len(text)} letters"] if len(text) >= REPLY_LETTERS else []),
        *([f"call {call} has a command too long"] if len(command) >= COMMAND_LETTERS else []),
        *([f"call {call} did again: {', '.join(sorted(again))}"] if again else []),
        *(
            [f"call {call} brings back {len(files)} files"]
            if len(files) > on_gpu.MOST_FILES
            else []
        ),
    ]


def _ended(work: Path) -> set[str]:
    """The stages that ended well so far."""
    rows = on_gpu.read_rows(work / "home" / ".on_gpu" / "on_gpu.jsonl")
    return {row["stage"] for row in rows if row.get("end") == "ok"}


if __name__ == "__main__":
    main()
