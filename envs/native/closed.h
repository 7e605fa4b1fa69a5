// What a process may ask of the kernel in which an answer runs alone, on the values that count: memory, threads,
// time, and what it was given. It can open nothing, and looks up no path.
//
// An allow-list, in place before any code of the answer's runs. The loader opens its library all the same: the
// kernel hands those calls back as a signal, and the handler answers them from the files that were given. It runs in
// the answer's own process and is no boundary; what it does not answer is refused.
//
// Holds: no call that takes a path reaches the file system, so there are no other libraries, no entries of names
// that do not exist, no page cache of other files; no numbers of files, no counts of the machine's memory, no
// merging of equal pages. Does not hold: what sharing a machine shows without any call, which is what processor
// caches still hold of the pages of the C library, and how busy memory is; where the machine has no namespaces,
// how many processes it starts.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <ucontext.h>

#include <string>
#include <vector>

#include "harden.h"

namespace closed {

constexpr int kMostGiven = 64;
struct Given { char path[128]; int descriptor; };
inline Given given[kMostGiven];
inline int given_count;

#if defined(__x86_64__)
constexpr uint32_t kOwnCalls[] = {SYS_poll, SYS_select, SYS_time, SYS_dup2, SYS_getrlimit, SYS_arch_prctl /* for AMX */};
constexpr uint32_t kOwnPaths[] = {SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_chdir};
constexpr uint32_t kOwnEmulated[] = {SYS_open};
#else
constexpr uint32_t kOwnCalls[] = {SYS_dup}, kOwnPaths[] = {SYS_chdir}, kOwnEmulated[] = {SYS_openat};
#endif
// By number: the headers of a machine are often older than its kernel.
#if defined(__x86_64__)
constexpr uint32_t kRseq = 334;
#else
constexpr uint32_t kRseq = 293;
#endif
constexpr uint32_t kAllowed[] = {
    SYS_recvmsg,       SYS_sendto,        SYS_munmap,         SYS_futex,
    SYS_brk,           SYS_mprotect,      SYS_mremap,         SYS_read,
    SYS_readv,         SYS_pread64,       SYS_write,          SYS_writev,
    SYS_pwrite64,      SYS_lseek,         SYS_close,          SYS_dup,
    SYS_dup3,          SYS_recvfrom,      SYS_ppoll,          SYS_pselect6,
    SYS_rt_sigaction,  SYS_rt_sigprocmask, SYS_rt_sigreturn,  SYS_sigaltstack,
    SYS_clock_gettime, SYS_clock_getres,  SYS_gettimeofday,   SYS_nanosleep,
    SYS_clock_nanosleep, SYS_restart_syscall, SYS_times,      SYS_getrusage,
    SYS_sched_yield,   SYS_sched_getaffinity, SYS_getcpu,     SYS_getrandom,
    SYS_getpid,        SYS_gettid,        SYS_set_tid_address, SYS_set_robust_list,
    SYS_exit,          SYS_exit_group,    kRseq,
};
// Of fcntl: duplicates and flags of a descriptor's own. Of madvise: what concerns this process's memory alone; not
// what merges equal pages of all processes, nor what moves pages of a file that others have mapped.
constexpr uint32_t kAllowedOfFcntl[] = {F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC};
constexpr uint32_t kAllowedOfMadvise[] = {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_DONTNEED, 8 /* FREE */,
                                          MADV_HUGEPAGE, MADV_NOHUGEPAGE, 22, 23 /* POPULATE_READ, POPULATE_WRITE */};
constexpr uint32_t kEmulated[] = {SYS_openat, SYS_fstat, SYS_newfstatat, SYS_sysinfo};
// Refused as what is not there: programs then do without. All others are refused as what may not be done.
constexpr uint32_t kPaths[] = {SYS_faccessat, SYS_readlinkat, SYS_statx, SYS_statfs, SYS_getcwd,
                               437 /* openat2 */, 439 /* faccessat2 */};

inline Given* find(const char* path) {
  for (int i = 0; i < given_count && *path; ++i)
    if (!strcmp(given[i].path, path)) return given + i;
  return nullptr;
}

// Once: whoever opens it gets the very descriptor that was given.
inline long opened(const char* path, long flags) {
  Given* const found = find(path);
  if (!found) return -ENOENT;
  if ((flags & O_ACCMODE) != O_RDONLY) return -EACCES;
  found->path[0] = 0;
  return lseek(found->descriptor, 0, SEEK_SET) ? -errno : found->descriptor;
}

// With numbers of our own, a new one for each look: the kernel counts the files of all processes together, and the
// loader takes two files of one number for the same library.
inline long described(int descriptor, struct stat* what) {
  static unsigned long last_number;
  if (fcntl(descriptor, F_GETFD) < 0) return -EBADF;
  *what = {};
  const off_t at = lseek(descriptor, 0, SEEK_CUR), end = at < 0 ? 0 : lseek(descriptor, 0, SEEK_END);
  if (at >= 0) lseek(descriptor, at, SEEK_SET);
  what->st_dev = 1;
  what->st_ino = ++last_number;
  what->st_mode = S_IFREG | 0500;
  what->st_nlink = 1;
  what->st_blksize = 4096;
  what->st_size = end;
  return 0;
}

inline long described(const char* path, struct stat* what, long flags, int descriptor) {
  if ((flags & AT_EMPTY_PATH) && !*path) return described(descriptor, what);
  const Given* const found = find(path);
  return found ? described(found->descriptor, what) : -ENOENT;
}

// As much as a process may have.
inline long counted(struct sysinfo* what) {
  *what = {};
  what->totalram = what->freeram = 2ul << 30;
  what->mem_unit = what->procs = 1;
  return 0;
}

inline long answer(long number, const unsigned long (&words)[4]) {
  const auto text = [&](int i) { return reinterpret_cast<const char*>(words[i]); };
  const auto status = [&](int i) { return reinterpret_cast<struct stat*>(words[i]); };
#if defined(__x86_64__)
  if (number == SYS_open) return opened(text(0), words[1]);
#endif
  if (number == SYS_openat) return opened(text(1), words[2]);
  if (number == SYS_fstat) return described(static_cast<int>(words[0]), status(1));
  if (number == SYS_newfstatat) return described(text(1), status(2), words[3], static_cast<int>(words[0]));
  if (number == SYS_sysinfo) return counted(reinterpret_cast<struct sysinfo*>(words[0]));
  return -EPERM;
}

inline void handle(int, siginfo_t* what, void* context) {
  const int kept = errno;
  mcontext_t& at = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const auto word = [&](int which) { return static_cast<unsigned long>(at.gregs[which]); };
  const unsigned long words[4] = {word(REG_RDI), word(REG_RSI), word(REG_RDX), word(REG_R10)};
  at.gregs[REG_RAX] = answer(what->si_syscall, words);
#else
  const unsigned long words[4] = {at.regs[0], at.regs[1], at.regs[2], at.regs[3]};
  at.regs[0] = answer(what->si_syscall, words);
#endif
  errno = kept;
}

// The files that it is given, at the paths where others find theirs, and no other descriptor from 4 on.
inline void keep(const std::vector<std::string>& names, std::vector<int> descriptors) {
  for (int& one : descriptors)
    if (one < 4 && (one = fcntl(one, F_DUPFD, 4)) < 0) die(kNoSandbox, "dup");
  for (size_t i = 0; i < names.size(); ++i) {
    Given& one = given[given_count++];
    if (snprintf(one.path, sizeof one.path, "/scratch/%s", names[i].c_str()) >= static_cast<int>(sizeof one.path)) die(kBadUse, "name");
    one.descriptor = descriptors[i];
  }
}

inline void close_others() {
  unsigned first = 4;
  for (bool again = true; again;) {  // from one that is given to the next
    unsigned next = ~0U;
    for (int i = 0; i < given_count; ++i) {
      const unsigned one = given[i].descriptor;
      if (one >= first && one < next) next = one;
    }
    again = next != ~0U;
    if (next > first) syscall(SYS_close_range, first, again ? next - 1 : ~0U, 0);
    first = next + 1;
  }
}

inline void filter_system_calls() {
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSYS, &action, nullptr)) die(kNoSandbox, "sigaction");
  constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM, kNone = SECCOMP_RET_ERRNO | ENOENT;
  Filter filter;
  filter.give_each(kAllowed, SECCOMP_RET_ALLOW);
  filter.give_each(kOwnCalls, SECCOMP_RET_ALLOW);
  filter.give_each(kEmulated, SECCOMP_RET_TRAP);
  filter.give_each(kOwnEmulated, SECCOMP_RET_TRAP);
  filter.give_each(kPaths, kNone);
  filter.give_each(kOwnPaths, kNone);
  filter.refuse_shared_memory();
  filter.by_argument(SYS_fcntl, 1, kAllowedOfFcntl, SECCOMP_RET_ALLOW, kRefuse);
  filter.by_argument(SYS_madvise, 2, kAllowedOfMadvise, SECCOMP_RET_ALLOW, kRefuse);
  const uint32_t self[] = {static_cast<uint32_t>(getpid())}, own[] = {0};
  filter.by_argument(SYS_tgkill, 0, self, SECCOMP_RET_ALLOW, kRefuse);
  filter.by_argument(SYS_prlimit64, 0, own, SECCOMP_RET_ALLOW, kRefuse);
  filter.bound_clone(CLONE_THREAD | CLONE_FILES, kNewNamespaces | CLONE_PIDFD);
  filter.unless_equal_skip(SYS_ioctl, 1);
  filter.refuse(ENOTTY);
  filter.refuse(EPERM);
  if (!filter.install()) die(kNoSandbox, "seccomp");
}

}  // namespace closed
