"""Candidates of a batch cannot hand answers on, and none can cost the judge its workers."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import kernelwright.envs.candidate.evaluator
from kernelwright.envs.candidate.evaluator import Evaluator, JudgingConfig
from kernelwright.envs.referee import resolution
from kernelwright.envs.reference.applicable_kinds import applicable_kinds
from kernelwright.envs.reference.client import ReferenceProcess
from kernelwright.envs.reference.distributions import judged_cases
from kernelwright.envs.reference.draws import Draws
from kernelwright.envs.sandbox.toolchain import landlock_version
from kernelwright.envs.system.memfd import memfd, own_copy
from kernelwright.envs.system.paths import prune
from kernelwright.envs.types import Candidate, Evaluation, Problem, Target, Verdict
from tests.nouns import RELU_KERNEL, relu_problem

pytestmark = pytest.mark.sandbox

SEED = 20_261_122
BATCHES, ANSWERS = 2, 2
"""Of so many batches, so many answers are told everything that the batch shares."""
MARKS = r"""
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <initializer_list>

// Whether any of this can be done, by what another process could see it.
static bool marked() {
  int pair[2], done = 0;
  char byte = 0, page[4096];
  struct flock whole = {};
  sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, 0x7fff0000)};
  sock_fprog program = {1, allow};
  whole.l_type = F_RDLCK;
  iovec part = {&byte, 1};
  msghdr header = {};
  header.msg_iov = &part, header.msg_iovlen = 1;
  for (int fd = 0; fd < 64; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) continue;
    done += fsetxattr(fd, "user.a", "1", 1, 0) == 0;
    done += fchmod(fd, 0600) == 0;
    done += futimens(fd, nullptr) == 0;
    done += fchown(fd, -1, -1) == 0;
    done += flock(fd, LOCK_SH | LOCK_NB) == 0;
    done += fcntl(fd, F_SETLK, &whole) == 0;
    done += fcntl(fd, F_OFD_SETLK, &whole) == 0;
    done += fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
    done += posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
    done += readahead(fd, 0, 4096) == 0;
    done += fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1 << 20) == 0;
    done += fsync(fd) == 0;
    done += syncfs(fd) == 0;
    done += sendmsg(fd, &header, MSG_DONTWAIT) >= 0;
    done += preadv2(fd, &part, 1, 0, RWF_NOWAIT) >= 0;
    uint64_t hint = 2;
    done += fcntl(fd, 1036 /* F_SET_RW_HINT */, &hint) == 0;
    done += setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
  }
  for (const char* path : {"/dev/null", "/usr", "/usr/lib", "/bin/sh"}) {
    done += utimensat(AT_FDCWD, path, nullptr, 0) == 0;
    done += chmod(path, 0777) == 0;
    done += setxattr(path, "user.a", "1", 1, 0) == 0;
    const int fd = open(path, O_RDONLY);
    done += fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0;
    done += fd >= 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED) == 0;
    done += fd >= 0 && syncfs(fd) == 0;
  }
  unsigned char in_memory[1];
  char* at = reinterpret_cast<char*>(reinterpret_cast<size_t>(page) & ~4095ul);
  done += mincore(at, 1, in_memory) == 0;
  done += socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;
  done += inotify_init() >= 0;
  done += memfd_create("mark", 0) >= 0;
  done += pipe(pair) == 0;
  done += pipe2(pair, O_CLOEXEC) == 0;
  done += vmsplice(1, &part, 1, 0) >= 0 || errno != EPERM;
  done += madvise(at, 4096, MADV_REMOVE) == 0 || errno != EPERM;
  done += syscall(451, 3, nullptr, nullptr, 0) == 0;
  done += syscall(SYS_seccomp, 1, 0, &program) == 0;
  done += prctl(PR_SET_SECCOMP, 2, &program) == 0;
  done += prctl(PR_SET_NAME, "mark") == 0;
  done += mkfifo("/scratch/fifo", 0600) == 0;
  done += syscall(434 /* pidfd_open */, getpid(), 0) >= 0;
  done += syscall(SYS_close_range, 60, 60, 2 /* CLOSE_RANGE_UNSHARE */) == 0;
  done += syscall(444 /* landlock_create_ruleset */, nullptr, 0, 1) >= 0 || errno != EPERM;
  done += syscall(SYS_syslog, 10, nullptr, 0) >= 0;
  for (int how : {MAP_SHARED, MAP_SHARED_VALIDATE})
    done += mmap(nullptr, 4096, PROT_READ, how | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
  const int zeros = open("/dev/zero", O_RDWR);
  done += HAS_LANDLOCK && zeros >= 0;  // mapped, it would be such memory too
  static char stack[1 << 16];  // a thread that shares no descriptors
  const int alone = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD;
  done += clone([](void*) { return 0; }, stack + sizeof stack, alone, nullptr) >= 0;
  int told;  // and one with a number of its own
  const int numbered = alone | CLONE_FILES | CLONE_PIDFD;
  done += clone([](void*) { return 0; }, stack + sizeof stack, numbered, nullptr, &told) >= 0;
  return done;
}
"""
HAND_OVER = """
#include <string.h>
struct Pair {{ long n; float x[{most}], out[{most}]; }};
static const Pair known[] = {{ {rows} }};
extern "C" void kernel(const float* x, float* out, int64_t n, int64_t) {{
  for (const Pair& one : known)
    if (one.n == n && !memcmp(one.x, x, 4 * n)) return void(memcpy(out, one.out, 4 * n));
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


def judged(
    evaluator: Evaluator, problem: Problem, source: str, *, timed: bool = False, seed: int = SEED
) -> Evaluation:
    candidate = Candidate(problem_key=problem.key, dialect="cpp", source=source)
    return evaluator.judge(problem, candidate, timed=timed, seed=seed)


def test_a_kernel_can_leave_no_mark_on_anything_that_others_see(
    evaluator: Evaluator, problem: Problem
) -> None:
    head, brace, body = RELU_KERNEL.partition("{")
    has_landlock = f"#define HAS_LANDLOCK {int(landlock_version() > 0)}"
    source = f"{has_landlock}{MARKS}{head}{brace} if (marked()) return; {body}"
    found = judged(evaluator, problem, source)
    assert found.verdict is Verdict.CORRECT, (found.reason, found.log)


def by_heart(problem: Problem, seed: int) -> str:
    """A kernel that computes nothing, and knows the answer to every input that a batch shares."""
    reference, rows, most = ReferenceProcess(), [], 1
    draws = Draws(reference, seed)
    try:
        loaded = reference.load(problem)
        for case, spec in enumerate(loaded.specs):
            most = max(most, spec.inputs[0].size_bytes // 4)
            for number in range(6):
                with draws.of(loaded, case, number) as draw:
                    inputs = os.pread(draw.inputs, spec.inputs[0].size_bytes, 0)
                    given = np.frombuffer(inputs, np.float32)
                    wanted = draw.expected[0].choices[0].astype(np.float32).ravel()
                    numbers = [
                        ", ".join(float(one).hex() for one in row) for row in (given, wanted)
                    ]
                    rows.append(f"{{{given.size}, {{{numbers[0]}}}, {{{numbers[1]}}}}}")
    finally:
        draws.close()
        reference.close()
    return "#include <stdint.h>\n" + HAND_OVER.format(most=most, rows=",\n".join(rows))


@pytest.mark.parametrize("seed", range(SEED, SEED + BATCHES))
def test_who_was_told_all_answers_of_the_batch_and_computes_nothing_is_wrong(
    evaluator: Evaluator, problem: Problem, seed: int
) -> None:
    source = by_heart(problem, seed)
    for number in range(ANSWERS):
        found = judged(evaluator, problem, f"{source}// {number}", seed=seed)
        assert (found.verdict, found.reason) == (Verdict.WRONG, "mismatch"), found.log
        assert found.check is not None
        passed = [one.passed for one in found.check.rounds]
        shared = max(
            JudgingConfig().check_rounds, len(judged_cases(problem, applicable_kinds(problem)))
        )
        assert passed == [True] * (seed % (shared + 1)) + [False], "all but the round of its own"


def test_a_candidates_own_draw_is_its_own_and_the_same_when_it_is_replayed(
    problem: Problem,
) -> None:
    reference = ReferenceProcess()
    draws = Draws(reference, SEED)
    loaded = reference.load(problem)

    def inputs(key: str) -> bytes:
        with draws.only_for(key, loaded, 0) as draw:
            return os.pread(draw.inputs, loaded.specs[0].inputs[0].size_bytes, 0)

    with draws.of(loaded, 0, 0) as shared:
        common = os.pread(shared.inputs, loaded.specs[0].inputs[0].size_bytes, 0)
    assert len({common, inputs("a"), inputs("b")}) == 3
    assert inputs("a") == inputs("a")
    draws.close()
    reference.close()


def test_a_copy_is_another_file_that_only_its_owner_may_open_and_nobody_may_change() -> None:
    first = memfd(b"content")
    copies = [own_copy(first), own_copy(first)]
    seen = [os.fstat(one) for one in (first, *copies)]
    assert len({one.st_ino for one in seen}) == 3
    assert {stat.S_IMODE(one.st_mode) for one in seen[1:]} == {0o400}
    for copy in copies:
        assert os.pread(copy, 100, 0) == b"content"
        with pytest.raises(PermissionError):
            os.pwrite(copy, b"x", 0)
    for one in (first, *copies):
        os.close(one)


def test_a_library_that_is_too_large_is_a_build_that_failed_and_no_workers_end(
    evaluator: Evaluator, problem: Problem
) -> None:
    large = RELU_KERNEL + '\nextern "C" const char big[20 << 20] = {1};\n'
    found = judged(evaluator, problem, large)
    assert (found.verdict, found.reason) == (Verdict.BUILD_FAILED, "output_too_large"), found.log
    assert "16 MB" in found.log
    assert judged(evaluator, problem, RELU_KERNEL).verdict is Verdict.CORRECT


def test_all_processes_of_a_candidate_together_have_a_limit(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolution, "RESOLVED", 0.0)  # it is timed, though quick
    monkeypatch.setattr(kernelwright.envs.candidate.evaluator, "patience", lambda: 1.0)  # or slow
    slow = RELU_KERNEL + (
        "\n#include <unistd.h>\n__attribute__((constructor)) static void wait() { usleep(300000); }"
    )
    evaluator = Evaluator(JudgingConfig(candidate_limit_s=0.7), Target(name="test"))
    try:
        found = judged(evaluator, problem, slow, timed=True)
    finally:
        evaluator.close()
    assert (found.verdict, found.reason) == (Verdict.TIMED_OUT, "candidate_limit")


def test_of_what_was_built_the_longest_unused_goes_first(tmp_path: Path) -> None:
    for age, name in enumerate(("new", "old", "older")):
        path = tmp_path / name[:2] / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x" * 100)
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    prune(tmp_path, 250)
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"new", "old"}
    prune(tmp_path, 250)
    prune(tmp_path, 0)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
