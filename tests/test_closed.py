"""Where an answer runs alone there are the runtimes that it is linked with, and calls that are
listed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.sandbox.process_files import rules
from kernelwright.envs.sandbox.rootfs import alone
from kernelwright.envs.sandbox.runtimes import Runtime
from kernelwright.envs.sandbox.toolchain import runtime_files
from kernelwright.envs.types import Candidate, Evaluation, Problem, Target, Verdict
from tests.nouns import RELU_KERNEL, relu_problem

pytestmark = pytest.mark.sandbox

RUNTIMES = ("c", "m", "mvec", "stdc++", "gcc_s", "gomp", "pthread", "dl", "rt")
NAMES = re.compile(rf"(lib({'|'.join(map(re.escape, RUNTIMES))})|ld-[\w-]+)[-.\d]*\.so[.\d]*")
ALLOWED = """
SYS_recvmsg, SYS_sendto, SYS_munmap, SYS_futex, SYS_brk, SYS_mprotect, SYS_mremap, SYS_read,
SYS_readv, SYS_pread64, SYS_write, SYS_writev, SYS_pwrite64, SYS_lseek, SYS_close, SYS_dup,
SYS_dup3, SYS_recvfrom, SYS_ppoll, SYS_pselect6, SYS_rt_sigaction, SYS_rt_sigprocmask,
SYS_rt_sigreturn, SYS_sigaltstack, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday,
SYS_nanosleep, SYS_clock_nanosleep, SYS_restart_syscall, SYS_times, SYS_getrusage, SYS_sched_yield,
SYS_sched_getaffinity, SYS_getcpu, SYS_getrandom, SYS_getpid, SYS_gettid, SYS_set_tid_address,
SYS_set_robust_list, SYS_exit, SYS_exit_group, SYS_mmap,
#if defined(__x86_64__)
SYS_poll, SYS_select, SYS_time, SYS_dup2, SYS_getrlimit, SYS_arch_prctl, 334 /* rseq */
#else
293
#endif
"""
REFUSED = f"""
#include <errno.h>
#include <initializer_list>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <stdio.h>
static const long listed[] = {{{ALLOWED}}};
static bool is_listed(long number) {{
  for (long one : listed)
    if (one == number) return true;
  return false;
}}
// What is answered from what the process was given, or by its arguments.
static bool is_answered(long number) {{
#ifdef SYS_open
  if (number == SYS_open) return true;
#endif
#if defined(__x86_64__)
  if (number == 335 || number == 336) return true;  // uretprobe, uprobe: no filter is asked
#endif
  for (long one : {{SYS_openat, SYS_fstat, SYS_newfstatat, SYS_sysinfo, SYS_fcntl, SYS_prlimit64,
                    SYS_madvise, SYS_clone}})
    if (one == number) return true;
  return false;
}}
// Whether any call goes through that is not listed, whatever it is given.
static bool reached() {{
  static char path[] = "/usr", room[4096];
  const long at = reinterpret_cast<long>(path), to = reinterpret_cast<long>(room);
  const long given[][4] = {{
      {{at, to, 0, 0}}, {{-100, at, to, 0}}, {{1, to, 0, 0}}, {{-1, -1, -1, -1}}}};
  for (long number = 0; number < 600; ++number) {{
    if (is_listed(number) || is_answered(number)) continue;
    for (const auto& one : given) {{
      const long found = syscall(number, one[0], one[1], one[2], one[3], 0, 0);
      const bool refused = errno == EPERM || errno == ENOENT || errno == ENOSYS || errno == ENOTTY;
      if (found == -1 && refused) continue;
      dprintf(2, "%ld: %ld %d\\n", number, found, errno);
      return true;
    }}
  }}
  return false;
}}
"""


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    return relu_problem(tmp_path_factory.mktemp("problem"), size=96)


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    one = Evaluator(JudgingConfig(), Target(name="test"))
    yield one
    one.close()


def judged(evaluator: Evaluator, problem: Problem, heads: str, condition: str) -> Evaluation:
    """Of a kernel that computes only where that is true."""
    before, brace, body = RELU_KERNEL.partition("{")
    source = f"{heads}\n{before}{brace} if (!({condition})) return; {body}"
    candidate = Candidate(problem_key=problem.key, dialect="cpp", source=source)
    return evaluator.judge(problem, candidate, timed=False, seed=1)


def test_the_loader_names_the_runtimes_and_nothing_else() -> None:
    names = {os.path.basename(one) for one in runtime_files()}
    assert all(map(NAMES.fullmatch, names)), names
    assert {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1"} <= names


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees another process's root")
def test_the_root_that_answers_run_in_holds_the_runtimes_alone(evaluator: Evaluator) -> None:
    root = Path(f"/proc/{evaluator.sandboxes.of(Runtime.ALONE).jail}/root")
    files = [Path(at, one) for at, _, names in os.walk(root) for one in names]
    plain = [one for one in files if one.is_file() and not one.is_relative_to(root / "dev")]
    names = {one.name for one in plain} - {"jail"}
    assert (all(map(NAMES.fullmatch, names)), len(names)) == (True, len(runtime_files())), plain


def test_without_namespaces_the_same_files_may_be_opened() -> None:
    assert {one.removeprefix("readable=") for one in rules(alone())} == {
        str(Path(one).resolve()) for one in runtime_files()
    }


def test_a_call_that_is_not_listed_is_refused(evaluator: Evaluator, problem: Problem) -> None:
    found = judged(evaluator, problem, REFUSED, "!reached()")
    assert found.verdict is Verdict.CORRECT, (found.reason, found.log)


@pytest.mark.parametrize(
    ("heads", "condition"),
    [
        ("#include <unistd.h>", "!environ || !*environ"),
        ("#include <stdlib.h>", '!getenv("PWD") && !getenv("LD_LIBRARY_PATH")'),
        ("#include <dlfcn.h>", 'dlopen("libm.so.6", RTLD_NOW) && dlopen("libgomp.so.1", RTLD_NOW)'),
        ("#include <dlfcn.h>", '!dlopen("/scratch/kernel.so", RTLD_NOW | RTLD_NOLOAD) || true'),
        ("#include <fcntl.h>", 'open("/scratch/kernel.so", O_RDONLY) < 0'),
        ("#include <signal.h>\n#include <unistd.h>", "kill(getpid(), 0) && kill(1, 0)"),
    ],
)
def test_an_answer_has_no_environment_no_folder_and_the_runtimes(
    evaluator: Evaluator, problem: Problem, heads: str, condition: str
) -> None:
    found = judged(evaluator, problem, heads, condition)
    assert found.verdict is Verdict.CORRECT, (found.reason, found.log)
