// Gives up every right that untrusted code could use. Called once, in the process that will run it.
//
// Order matters: mounts need root of the namespace, the uid drop ends that; Landlock and seccomp come
// last because they also bind this code. Nothing here can be undone by the process itself.
//
// Holds: the system calls of kDenied and, of answers, of kMarks; new namespaces, sockets, filters of
// its own, shared memory without a name; starting programs (unless it is a compiler, or Python that
// calls one); files outside the system's folders and /scratch; rlimits; capabilities; the user where
// we are root.
// Does not hold: system calls that are not listed (a deny-list: it bounds what can be reached, the
// namespaces bound what it reaches; answers that run alone have an allow-list instead, closed.h); reading the system's folders; without Landlock in this kernel,
// paths are bound by the empty root alone, and envs/sandbox/levels.py says so.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "filter.h"

enum ExitCode { kBadUse = 64, kNoKernel = 65, kNoSandbox = 66, kOutOfMemory = 67, kMapFailed = 68 };

[[noreturn]] inline void die(ExitCode code, const char* what) {
  dprintf(2, "jail: %s: %s\n", what, strerror(errno));
  _exit(code);
}

enum class Starts { kThreads = 1, kProcesses };

struct Limits {
  uint64_t memory_bytes = 0, file_bytes = 0, processes = 0, cpu_seconds = 0, scratch_bytes = 0, room_bytes = 0;
  uint32_t uid = 0;       // 0: stay who we are
  Starts starts = Starts::kThreads;
  bool closed = false;    // nothing can be opened by a path: closed.h
  std::vector<std::string> readable;  // folders that may be opened, besides the system's
  // Where no namespaces can be had (envs/sandbox/process_level.py): the job's folder, the user that
  // ends its processes, and folders of which only the names may be read. `readable` is then all.
  std::string folder;
  uint32_t killer = 0;
  std::vector<std::string> listed;
};

#if defined(__x86_64__)
constexpr uint32_t kStarts[] = {SYS_fork, SYS_vfork, SYS_execve, SYS_execveat};
constexpr uint32_t kOldMarks[] = {SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes,
                                  SYS_futimesat, SYS_inotify_init, SYS_pipe, SYS_mknod};
#elif defined(__aarch64__)
constexpr uint32_t kStarts[] = {SYS_execve, SYS_execveat};
constexpr uint32_t kOldMarks[] = {SYS_fchmod};
#endif

// Landlock by number: the headers of a machine are often older than its kernel.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;

// What loads filters of the caller's own, with SYS_seccomp and SYS_bpf below: a thousand that are
// freed at once stop Linux 6.18, for everybody and for good.
constexpr uint32_t kFiltersOfPrctl[] = {PR_SET_SECCOMP};
// Of a socket's options: SO_ATTACH_FILTER, SO_ATTACH_BPF, and the two of SO_ATTACH_REUSEPORT_….
constexpr uint32_t kFiltersOfSockets[] = {26, 50, 51, 52};
// System calls that neither a kernel nor a compiler needs and that reach past the namespaces.
constexpr uint32_t kDenied[] = {
    SYS_ptrace,        SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
    SYS_mount,         SYS_umount2,          SYS_pivot_root,        SYS_chroot,
    SYS_unshare,       SYS_setns,            SYS_keyctl,            SYS_add_key,
    SYS_request_key,   SYS_bpf,              SYS_perf_event_open,   SYS_userfaultfd,
    SYS_io_uring_setup, SYS_io_uring_enter,  SYS_io_uring_register, SYS_open_by_handle_at,
    SYS_name_to_handle_at, SYS_kexec_load,   SYS_init_module,       SYS_finit_module,
    SYS_delete_module, SYS_reboot,           SYS_swapon,            SYS_swapoff,
    SYS_quotactl,      SYS_acct,             SYS_settimeofday,      SYS_clock_settime,
    SYS_adjtimex,      SYS_clock_adjtime,    SYS_sethostname,       SYS_setdomainname,
    SYS_personality,   SYS_fanotify_init,    SYS_sched_setaffinity, SYS_pidfd_getfd,
    SYS_open_tree,     SYS_move_mount,       SYS_fsopen,            SYS_fsconfig,
    SYS_fsmount,       SYS_fspick,           SYS_mount_setattr,     SYS_memfd_secret,
    SYS_setpriority,   SYS_sched_setscheduler, SYS_sched_setattr,
    SYS_shmget,        SYS_msgget,           SYS_semget,            SYS_seccomp,
    SYS_syslog,        kCreateRuleset,       kAddRule,              kRestrictSelf,
};
// What an ipc namespace of its own would make harmless: queues and shared memory of the System's and
// POSIX's kind that others have made. And what Landlock does not know before its third version.
constexpr uint32_t kDeniedWithoutNamespaces[] = {
    SYS_shmat, SYS_shmctl, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_semop, SYS_semtimedop, SYS_semctl,
    SYS_mq_open, SYS_mq_unlink, SYS_truncate,
};
// System calls by which an answer beside Python or PyTorch could leave a mark that the process of another candidate sees, or
// that outlives it: attributes, times, modes and locks of files that are shown to both, what of them
// is in memory, descriptors in flight, the numbers of unnamed files and pipes, the host's disks; and
// what keeps memory that no limit of a process counts (pages in a pipe, the tables of descriptors that
// threads may have for themselves). By the kernel's numbers for them pidfds tell something, too; of prctl
// no answer needs anything. Compilers use some, and so may an answer in Triton while it is compiled: what
// it is given then are invented tensors, and no other answer's.
// By number: extended attributes by folder, attributes, residency and modes of newer kernels.
constexpr uint32_t kMarks[] = {
    SYS_setxattr,      SYS_lsetxattr,        SYS_fsetxattr,         SYS_removexattr,
    SYS_lremovexattr,  SYS_fremovexattr,     SYS_utimensat,         SYS_fchmod,
    SYS_fchmodat,      SYS_fchown,           SYS_fchownat,          SYS_flock,
    SYS_fallocate,     SYS_sync,             SYS_syncfs,            SYS_fsync,
    SYS_fdatasync,     SYS_sync_file_range,  SYS_fadvise64,         SYS_readahead,
    SYS_mincore,       SYS_preadv2,          SYS_pwritev2,          SYS_inotify_init1,
    SYS_inotify_add_watch, SYS_socketpair,   SYS_sendmsg,           SYS_sendmmsg,
    SYS_memfd_create,  SYS_pipe2,            SYS_vmsplice,          SYS_splice,
    SYS_tee,           SYS_io_setup,         SYS_io_submit,         SYS_mknodat,
    SYS_prctl,         434 /* pidfd_open */,
    440 /* process_madvise */, 451 /* cachestat */, 452 /* fchmodat2 */, 463 /* setxattrat */,
    466 /* removexattrat */, 469 /* file_setattr */,
};
// Of fcntl: locks of all kinds, leases, watching a folder, and hints that stay with a file. Of madvise:
// taking pages out of a file, which would be filled with zeros once the clock has stopped.
constexpr uint32_t kMarksOfFcntl[] = {F_SETLK, F_SETLKW, 37, 38, 1024, 1026,
                                      1036 /* F_SET_RW_HINT */, 1038 /* F_SET_FILE_RW_HINT */};
constexpr uint32_t kMarksOfMadvise[] = {9 /* MADV_REMOVE */};
constexpr uint32_t kUnshares[] = {2, 6};         // CLOSE_RANGE_UNSHARE, alone or with CLOEXEC
constexpr uint32_t kTerminalInput[] = {0x5412};  // TIOCSTI

inline void filter_system_calls(const Limits& limits) {
  const bool processes = limits.starts == Starts::kProcesses;
  constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
  Filter filter;
  const auto refuse_by_argument = [&](uint32_t number, int argument, const auto& values) {
    filter.by_argument(number, argument, values, kRefuse, SECCOMP_RET_ALLOW);
  };
  filter.give_each(kDenied, kRefuse);
  if (!limits.folder.empty()) filter.give_each(kDeniedWithoutNamespaces, kRefuse);
  if (!processes) {
    filter.give_each(kStarts, kRefuse);
    filter.give_each(kMarks, kRefuse);
    filter.give_each(kOldMarks, kRefuse);
    refuse_by_argument(SYS_fcntl, 1, kMarksOfFcntl);
    refuse_by_argument(SYS_madvise, 2, kMarksOfMadvise);
    refuse_by_argument(SYS_close_range, 2, kUnshares);
  }
  filter.refuse_shared_memory();
  refuse_by_argument(SYS_prctl, 0, kFiltersOfPrctl);
  refuse_by_argument(SYS_setsockopt, 2, kFiltersOfSockets);
  // No new namespaces; of answers only threads that share their descriptors, and no pidfds of them.
  filter.bound_clone(processes ? 0 : CLONE_THREAD | CLONE_FILES, processes ? kNewNamespaces : kNewNamespaces | CLONE_PIDFD);
  refuse_by_argument(SYS_ioctl, 1, kTerminalInput);
  filter.unless_equal_skip(SYS_socket, 1);
  filter.refuse(EAFNOSUPPORT);
  filter.allow();
  if (!filter.install()) die(kNoSandbox, "seccomp");
}

constexpr uint64_t kExecute = 1, kWriteFile = 2, kReadFile = 4, kReadFolder = 8;
constexpr uint64_t kTruncate = 1 << 14, kDeviceControl = 1 << 15;
constexpr uint64_t kMakeDevices = (1 << 6) | (1 << 11);  // character and block devices

inline long landlock_version() { return syscall(kCreateRuleset, nullptr, 0, 1); }

// Files: the system's are readable, /scratch is writable, all else does not exist. Also no TCP, no
// signals and no abstract sockets to the outside, where this kernel knows those rules.
inline void restrict_files(const Limits& limits) {
  const long version = landlock_version();
  if (version < 1 && !limits.folder.empty()) die(kNoSandbox, "landlock");  // it is all there is
  if (version < 1) return;  // the sandbox level says so (envs/sandbox/levels.py)
  // Every right that this version knows: what a ruleset does not name stays allowed.
  const uint64_t known = version >= 5 ? 0xffff : version >= 3 ? 0x7fff : version == 2 ? 0x3fff : 0x1fff;
  // Bind and connect; abstract sockets and signals: named here, and allowed by no rule below.
  const struct { uint64_t files, net, scoped; } handled = {known, 3, 3};
  // As long as this version's struct: an older kernel refuses what it does not know (E2BIG).
  const size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const int rules = syscall(kCreateRuleset, &handled, size, 0);
  if (rules < 0) die(kNoSandbox, "landlock");
  const auto allow = [&](const char* path, uint64_t rights) {
    const int place = open(path, O_PATH | O_CLOEXEC);
    if (place < 0) return;
    // Packed as the kernel's struct is; rights that the ruleset does not name are refused (EINVAL).
    struct __attribute__((packed)) { uint64_t rights; int32_t place; } rule = {rights & known, place};
    if (syscall(kAddRule, rules, 1, &rule, 0)) die(kNoSandbox, path);
    close(place);
  };
  // Of a file the rights of folders are refused.
  const auto allow_reading = [&](const char* path) {
    struct stat what;
    const bool is_folder = !stat(path, &what) && S_ISDIR(what.st_mode);
    allow(path, kExecute | kReadFile | (is_folder ? kReadFolder : 0));
  };
  for (const char* path : {"/usr", "/lib", "/lib64", "/bin", "/opt"}) {
    if (limits.folder.empty()) allow_reading(path);
  }
  for (const std::string& path : limits.readable) allow_reading(path.c_str());
  for (const std::string& path : limits.listed) allow(path.c_str(), kReadFolder);
  allow("/etc/ld.so.cache", kReadFile);
  allow("/proc/cpuinfo", kReadFile);
  allow("/etc/alternatives", kReadFile | kReadFolder | kExecute);
  allow("/scratch", ~(kMakeDevices | kDeviceControl));
  // Not /dev/zero: mapped, it is shared memory without a name.
  for (const char* path : {"/dev/null", "/dev/urandom"}) allow(path, kReadFile | kWriteFile);
  if (syscall(kRestrictSelf, rules, 0)) die(kNoSandbox, "landlock_restrict_self");
  close(rules);
}

inline void mount_scratch(const Limits& limits) {
  if (!limits.folder.empty()) return;  // a folder that is there, its user's alone
  const uint32_t owner = limits.uid ? limits.uid : getuid();
  const std::string options = "size=" + std::to_string(limits.scratch_bytes) +
                              ",nr_inodes=4096,mode=0700,uid=" + std::to_string(owner) +
                              ",gid=" + std::to_string(owner);
  // Private, so that no other namespace is given the mount; not MS_NOEXEC, because libraries that
  // were built are loaded from it.
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
      mount("tmpfs", "/scratch", "tmpfs", MS_NOSUID | MS_NODEV, options.c_str())) {
    die(kNoSandbox, "scratch");
  }
}

inline void set_limits(const Limits& limits) {
  const auto set = [](int kind, uint64_t value) {
    const rlimit both = {value, value};
    if (value && setrlimit(static_cast<__rlimit_resource>(kind), &both)) die(kNoSandbox, "rlimit");
  };
  set(RLIMIT_AS, limits.memory_bytes ? limits.memory_bytes + limits.room_bytes : 0);
  if (limits.room_bytes) set(RLIMIT_DATA, limits.memory_bytes);  // what can be written to
  set(RLIMIT_FSIZE, limits.file_bytes);
  set(RLIMIT_NPROC, limits.processes);
  set(RLIMIT_CPU, limits.cpu_seconds);
  set(RLIMIT_NOFILE, 64);
  // Of a core 1: with 0 the kernel would still start the host's program for cores (core(5)). Where the
  // host allows none at all, 1 would be more.
  const rlimit none = {0, 0}, no_core = {1, 1};
  if (setrlimit(RLIMIT_CORE, &no_core) && setrlimit(RLIMIT_CORE, &none)) die(kNoSandbox, "rlimit");
  if (setrlimit(RLIMIT_MSGQUEUE, &none)) die(kNoSandbox, "rlimit");
}

inline void drop_rights(const Limits& limits) {
  // First, while CAP_SETPCAP is left; numbers that this kernel does not know fail, and may.
  for (int right = 0; right <= 63; ++right) prctl(PR_CAPBSET_DROP, right, 0, 0, 0);
  if (const uid_t id = limits.uid) {
    if (setgroups(0, nullptr) || setresgid(id, id, id) || setresuid(id, id, id)) die(kNoSandbox, "setuid");
  }
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct nothing[2] = {};
  // Without no_new_privs or CAP_SYS_ADMIN the kernel takes neither Landlock's rules nor seccomp's.
  if (syscall(SYS_capset, &header, nothing) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
    die(kNoSandbox, "capabilities");
  }
}
