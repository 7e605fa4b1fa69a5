"""What jobs at level `process` reach of each other and of the machine, as JSON; for a container.

Each job is a shell's line, in one of two sandboxes that live at the same time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from kernelwright.envs.sandbox import process_files, process_level
from kernelwright.envs.sandbox import zygote as zygotes
from kernelwright.envs.sandbox.limits import BUILD_LIMITS
from kernelwright.envs.sandbox.rootfs import native
from kernelwright.envs.sandbox.zygote import Job, SandboxLostError, Zygote

DEEP = (
    "mkdir -p $(printf 'a/%.0s' $(seq 1500)) && cd a/a && mkdir -p $(printf 'b/%.0s' $(seq 1500))"
)
RUNAWAY = "f() { (f) & sleep 0.01; }; trap '' TERM HUP; f; sleep 0.2"
LEFT_OVER = """
import os, signal, sys
from kernelwright.envs.sandbox.rootfs import native
from kernelwright.envs.sandbox.limits import BUILD_LIMITS
from kernelwright.envs.sandbox.zygote import Zygote
zygote = Zygote(native())
null = os.open("/dev/null", os.O_WRONLY)
words = ["/bin/sh", "-c", "setsid sleep 600 & sleep 600"]
zygote.start("exec", BUILD_LIMITS, log=null, channel=null, command=words)
print(zygote.place.uid, flush=True)
sys.stdin.read()
"""


def begin(zygote: Zygote, line: str) -> tuple[Job, int]:
    with tempfile.TemporaryFile() as log:
        words = ["/bin/sh", "-c", line]
        fd = log.fileno()
        job = zygote.start("exec", BUILD_LIMITS, log=fd, channel=fd, command=words)
        return job, os.dup(fd)


def run(zygote: Zygote, line: str) -> str:
    job, log = begin(zygote, line)
    status = job.wait(60)
    text = os.pread(log, 4000, 0).decode()
    os.close(log)
    return f"{status} {text}".strip()


def neighbours(first: Zygote, second: Zygote) -> dict[str, str]:
    assert first.place
    assert second.place
    job, log = begin(first, "echo secret > mine; sleep 600")
    while not (first.place.folder / "mine").exists():
        pass
    there = process_files.BASE / "scratch" / str(first.place.uid)
    victim = max(
        int(one) for one in os.listdir("/proc") if one.isdigit() and _uid(one) == first.place.uid
    )
    told = {
        "read": run(second, f"cat {there}/mine"),
        "list": run(second, f"ls {there}"),
        "list all": run(second, f"ls {there.parent}"),
        "write": run(second, f"echo x > {there}/mine"),
        "signal": run(second, f"kill -9 {victim}"),
        "signal the zygote": run(second, f"kill -STOP {second.process.pid}"),
        "signal the judge": run(second, f"kill -STOP {os.getpid()}"),
        "signal all": run(second, "kill -9 -1"),
        "memory": run(second, f"head -c 1 /proc/{victim}/environ"),
        "/etc/passwd": run(second, "head -c 1 /etc/passwd"),
        "/proc/self/environ": run(second, "head -c 1 /proc/self/environ"),
        "/tmp": run(second, f"echo x > /tmp/x-{os.getpid()}"),
        "/dev/shm": run(second, f"echo x > /dev/shm/x-{os.getpid()}"),
        "own": run(second, "echo x > /scratch/x; cat x; pwd -P; id -u"),
        "user": str(second.place.uid),
        "still there": (there / "mine").read_text().strip() if _uid(str(victim)) else "",
    }
    job.kill()
    os.close(log)
    return told


def leavings(zygote: Zygote) -> dict[str, str]:
    assert zygote.place
    told = {}
    for name, line in {
        "daemon": "setsid sleep 600 & setsid setsid sleep 600 & echo x > x; exit 0",
        "runaway": RUNAWAY,
        "deep": DEEP,
        "closed": "mkdir a; echo > a/b; chmod 0 a; chmod 0 .",
    }.items():
        run(zygote, line)
        names = os.listdir(zygote.place.folder)
        told[name] = f"{process_level._lives(zygote.place.uid)} {names}"
    return told


def marks(zygote: Zygote) -> str:
    """What the next job finds of what one did to its folder itself."""
    run(zygote, "touch -a -d @1 .; chmod 0 .")
    try:
        return run(zygote, "stat -c %a . && [ $(stat -c %X .) -gt 1 ] && echo x > x && cat x")
    except SandboxLostError as error:
        return str(error)


def many(zygote: Zygote) -> str:
    """What becomes of a job whose files take longer to remove than one is waited for."""
    assert zygote.place
    usual, zygotes.KILL_LIMIT_S = zygotes.KILL_LIMIT_S, 0.01
    try:
        said = run(zygote, "seq 60000 | xargs touch")
    except SandboxLostError as error:
        said = str(error)
        zygote.hear("X", usual)
    finally:
        zygotes.KILL_LIMIT_S = usual
    return f"{said} {os.listdir(zygote.place.folder)}"


def hidden() -> dict[str, str]:
    with tempfile.TemporaryDirectory(dir="/") as made:
        folder = Path(made).resolve()
        folder.chmod(0o755)
        for name in ("ours", "open"):
            (folder / "packages" / name).mkdir(parents=True)
            (folder / "packages" / name / "text").write_text(name)
        (folder / "packages" / "link").symlink_to("/etc")
        inside = replace(
            native(),
            readable=(*native().readable, str(folder)),
            hidden=(str(folder / "packages" / "ours"),),
        )
        zygote = Zygote(inside)
        told = {
            name: run(zygote, f"cat {folder}/packages/{name}")
            for name in ("ours/text", "open/text", "link/passwd")
        }
        zygote.close()
        return told


def killed() -> str:
    words = [sys.executable, "-c", LEFT_OVER]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as judge:
        assert judge.stdout
        uid = int(judge.stdout.readline())
        ends = time.monotonic() + 20
        while not (before := process_level._lives(uid)) and time.monotonic() < ends:
            time.sleep(0.01)  # it is the judge's own until it has become that user
        judge.kill()
    process_level.remove_places_of(judge.pid)
    folder = process_files.BASE / "scratch" / str(uid)
    return f"{before} {process_level._lives(uid)} {folder.exists()}"


def _uid(process_id: str) -> int | None:
    try:
        text = Path("/proc", process_id, "status").read_text()
    except OSError:
        return None
    return int(text.partition("\nUid:\t")[2].split()[0])


def main() -> None:
    first, second = Zygote(native()), Zygote(native())
    told = {"neighbours": neighbours(first, second), "leavings": leavings(first)}
    told["leavings"]["marks"] = marks(first)
    told["leavings"]["many"] = many(first)
    places = [one.place.folder for one in (first, second) if one.place]
    first.close()
    second.close()
    told |= {"hidden": hidden()}
    left = [str(one) for one in places if one.exists()]
    print(json.dumps(told | {"left": left, "killed": killed()}))


if __name__ == "__main__":
    main()
