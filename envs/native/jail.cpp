// The last trusted code before a candidate's: it gives up every right, then runs one thing.
//
//   jail exec LIMITS -- COMMAND...   becomes COMMAND (a compiler reading untrusted source)
//   jail run  LIMITS                 loads /kernel.so and answers the referee on descriptor 3
//
// LIMITS are words such as as=4294967296 fsize=… nproc=… cpu=… nofile=…; uid=… drops
// root's, channel=… says which descriptor becomes number 3.
// Nothing that this process says is believed: it shares its memory with the candidate. The referee
// owns inputs, clock, outputs and comparison (envs/referee.py).

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <new>
#include <vector>

namespace {

constexpr int kChannel = 3;
constexpr size_t kNonceBytes = 16;
constexpr size_t kMessageBytes = 1 << 16;
enum ExitCode { kBadUse = 64, kNoKernel = 65, kNoSandbox = 66, kOutOfMemory = 67, kMapFailed = 68 };

[[noreturn]] void die(ExitCode code, const char* what) {
  dprintf(2, "jail: %s: %s\n", what, strerror(errno));
  _exit(code);
}

#if defined(__x86_64__)
constexpr uint32_t kArch = AUDIT_ARCH_X86_64;
constexpr uint32_t kForeignBit = 0x40000000;  // x32 system calls
#elif defined(__aarch64__)
constexpr uint32_t kArch = AUDIT_ARCH_AARCH64;
constexpr uint32_t kForeignBit = 0xffffffff;
#else
#error "the sandbox knows x86-64 and aarch64"
#endif

// System calls that a kernel never needs and that reach past the namespaces.
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
    SYS_fsmount,       SYS_fspick,           SYS_mount_setattr,
};
constexpr uint32_t kNewNamespaces = 0x7e020080;  // CLONE_NEW{USER,NS,PID,NET,IPC,UTS,CGROUP,TIME}
constexpr uint32_t kThread = 0x00010000;         // CLONE_THREAD
#if defined(__x86_64__)
constexpr uint32_t kForks[] = {SYS_fork, SYS_vfork};
#else
constexpr uint32_t kForks[] = {SYS_clone3};  // it has no others
#endif

// A compiler starts processes; a kernel only threads, so that its memory limit is one limit.
void filter_system_calls(bool may_fork) {
  const auto deny = [](uint32_t error) { return SECCOMP_RET_ERRNO | error; };
  std::vector<sock_filter> code;
  const auto load = [&](uint32_t offset) { code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); };
  const auto give = [&](uint32_t action) { code.push_back(BPF_STMT(BPF_RET | BPF_K, action)); };
  const auto unless_equal_skip = [&](uint32_t value, uint8_t skip) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip));
  };
  load(offsetof(seccomp_data, arch));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArch, 1, 0));
  give(SECCOMP_RET_KILL_PROCESS);
  load(offsetof(seccomp_data, nr));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kForeignBit, 0, 1));
  give(SECCOMP_RET_KILL_PROCESS);
  for (uint32_t number : kDenied) {
    unless_equal_skip(number, 1);
    give(deny(EPERM));
  }
  unless_equal_skip(SYS_clone3, 1);
  give(deny(ENOSYS));  // its flags are behind a pointer; the C library falls back to clone
  for (uint32_t number : kForks) {
    if (may_fork) break;
    unless_equal_skip(number, 1);
    give(deny(EPERM));
  }
  unless_equal_skip(SYS_clone, 5);
  load(offsetof(seccomp_data, args[0]));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNewNamespaces, 1, 0));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, may_fork ? ~0U : kThread, 1, 0));
  give(deny(EPERM));
  give(SECCOMP_RET_ALLOW);
  unless_equal_skip(SYS_socket, 1);
  give(deny(EAFNOSUPPORT));
  give(SECCOMP_RET_ALLOW);
  sock_fprog program = {static_cast<unsigned short>(code.size()), code.data()};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) die(kNoSandbox, "seccomp");
}

void limit(const char* word) {
  const char* equals = strchr(word, '=');
  if (!equals) die(kBadUse, word);
  const rlim_t value = strtoull(equals + 1, nullptr, 10);
  const size_t length = equals - word;
  const auto is = [&](const char* name) { return strlen(name) == length && !strncmp(word, name, length); };
  if (is("channel")) {
    const int from = static_cast<int>(value);
    if (from != kChannel && dup2(from, kChannel) != kChannel) die(kBadUse, "channel");
    return;
  }
  if (is("uid")) {
    const uid_t id = static_cast<uid_t>(value);
    if (setgroups(0, nullptr) || setresgid(id, id, id) || setresuid(id, id, id)) die(kNoSandbox, "setuid");
    return;
  }
  const auto kind = is("as")      ? RLIMIT_AS
                    : is("fsize") ? RLIMIT_FSIZE
                    : is("nproc") ? RLIMIT_NPROC
                    : is("cpu")   ? RLIMIT_CPU
                                  : RLIMIT_NOFILE;
  const rlimit both = {value, value};
  if (setrlimit(kind, &both)) die(kNoSandbox, word);
}

// What the referee says before the clock starts: where each tensor lies, all sizes, all scalars.
struct Layout {
  std::vector<int64_t> input_offsets, output_offsets, sizes;
  std::vector<double> scalars;
};

Layout read_layout(const char* bytes) {
  const int64_t* words = reinterpret_cast<const int64_t*>(bytes);
  const int64_t inputs = *words++, outputs = *words++, sizes = *words++, scalars = *words++;
  const auto take = [&](int64_t count) {
    std::vector<int64_t> part(words, words + count);
    words += count;
    return part;
  };
  Layout layout = {take(inputs), take(outputs), take(sizes), {}};
  const double* values = reinterpret_cast<const double*>(words);
  layout.scalars.assign(values, values + scalars);
  return layout;
}

struct Mapping {
  char* base;
  size_t bytes;
  Mapping(int descriptor, int protection) : bytes(lseek(descriptor, 0, SEEK_END)) {
    void* at = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (at == MAP_FAILED) die(kMapFailed, "mmap");
    base = static_cast<char*>(at);
    close(descriptor);
  }
  ~Mapping() { munmap(base, bytes); }
};

using Call = void (*)(void* const*, const int64_t*, const double*);

void run_once(Call call, const Layout& layout, int input, int output) {
  Mapping in(input, PROT_READ), out(output, PROT_READ | PROT_WRITE);
  std::vector<void*> pointers;
  for (int64_t offset : layout.input_offsets) pointers.push_back(in.base + offset);
  for (int64_t offset : layout.output_offsets) pointers.push_back(out.base + offset);
  call(pointers.data(), layout.sizes.data(), layout.scalars.data());
}

void serve(Call call) {
  alignas(16) static char message[kMessageBytes];
  Layout layout;
  for (;;) {
    char control[CMSG_SPACE(2 * sizeof(int))] = {};
    iovec part = {message, sizeof message};
    msghdr header = {nullptr, 0, &part, 1, control, sizeof control, 0};
    if (recvmsg(kChannel, &header, MSG_CMSG_CLOEXEC) <= 0) _exit(0);
    if (message[0] == 'P') layout = read_layout(message + 8);
    if (message[0] == 'G') {
      int files[2];
      memcpy(files, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof files);
      run_once(call, layout, files[0], files[1]);
      message[0] = 'D';
    }
    if (send(kChannel, message, 1 + kNonceBytes, 0) < 0) _exit(0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) die(kBadUse, "usage");
  const bool exec = !strcmp(argv[1], "exec");
  int next = 2;
  for (; next < argc && strcmp(argv[next], "--"); ++next) limit(argv[next]);
  const rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) die(kNoSandbox, "prctl");
  syscall(SYS_close_range, kChannel + 1, ~0U, 0);
  filter_system_calls(exec);
  if (exec) {
    if (next + 1 >= argc) die(kBadUse, "usage");
    execvp(argv[next + 1], argv + next + 1);
    die(kBadUse, argv[next + 1]);
  }
  std::set_new_handler([] { _exit(kOutOfMemory); });
  void* library = dlopen("/kernel.so", RTLD_NOW | RTLD_LOCAL);
  const auto call = library ? reinterpret_cast<Call>(dlsym(library, "kernelwright_call")) : nullptr;
  if (!call) {
    dprintf(2, "jail: %s\n", dlerror());
    _exit(kNoKernel);
  }
  char ready[1 + kNonceBytes] = {'R'};
  if (send(kChannel, ready, sizeof ready, 0) < 0) _exit(0);
  serve(call);
}
