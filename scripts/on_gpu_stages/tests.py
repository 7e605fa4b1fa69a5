"""Stage `tests`: the tests that only a GPU can run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from scripts.on_gpu_stages.context import StageContext
from scripts.on_gpu_stages.stand_in import prepare

ROOT = Path(__file__).resolve().parents[2]
MARK = "pytest.mark.gpu"
PROCESSES = 3
FIRST_LETTERS = 200


def run(context: StageContext) -> None:
    prepare(context)
    files = [one for one in sorted((ROOT / "tests").glob("test_*.py")) if MARK in one.read_text()]
    if not files:
        raise RuntimeError("no test is marked `gpu`")
    report = context.rows.with_suffix(".xml")
    words = [sys.executable, "-m", "pytest", "-n", str(context.share(PROCESSES)), "-m", "gpu"]
    words += ["-q", "-p", "xdist", "-p", "no:cacheprovider", f"--junit-xml={report}"]
    words += ["-p", "scripts.on_gpu_stages.stand_in_tests"] if context.rehearsal else []
    # The image's other plugins stay out: a warning of theirs would be an error of ours.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([*words, *map(str, files)], cwd=ROOT, env=environment, check=False)
    cases = ElementTree.parse(report).getroot().findall(".//testcase")
    failed = [one for one in cases if _told(context, one)]
    skipped = sum(one.find("skipped") is not None for one in cases)
    passed = len(cases) - len(failed) - skipped
    seconds = sum(float(one.get("time", 0)) for one in cases)
    context.row("all", passed=passed, failed=len(failed), skipped=skipped, seconds=seconds)
    if done.returncode != 0 or skipped or not passed:
        raise RuntimeError(f"pytest ended with {done.returncode}")


def _told(context: StageContext, case: ElementTree.Element) -> bool:
    """Whether a test failed; then there is a row with what it said first."""
    found = [one for kind in ("failure", "error") for one in case.findall(kind)]
    for one in found:
        said = (one.get("message") or one.text or "")[:FIRST_LETTERS]
        context.row("failed", test=case.get("name"), said=said)
    return bool(found)
