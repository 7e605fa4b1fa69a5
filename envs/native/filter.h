// A filter of system calls as it is written down: from top to bottom, each rule with its answer.
#pragma once

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <iterator>
#include <vector>

#if defined(__x86_64__)
constexpr uint32_t kArch = AUDIT_ARCH_X86_64;
constexpr uint32_t kForeignBit = 0x40000000;  // x32 system calls
#elif defined(__aarch64__)
constexpr uint32_t kArch = AUDIT_ARCH_AARCH64;
constexpr uint32_t kForeignBit = 0xffffffff;
#else
#error "the sandbox knows x86-64 and aarch64"
#endif

constexpr uint32_t kNewNamespaces = 0x7e020080;  // CLONE_NEW{USER,NS,PID,NET,IPC,UTS,CGROUP,TIME}

// Distances of jumps are counted in instructions: `skip` is the length of what answers a match.
class Filter {
 public:
  // Calls of another processor's kind end the process.
  Filter() {
    load(offsetof(seccomp_data, arch));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArch, 1, 0));
    give(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kForeignBit, 0, 1));
    give(SECCOMP_RET_KILL_PROCESS);
  }

  void give(uint32_t action) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, action)); }
  void allow() { give(SECCOMP_RET_ALLOW); }
  void refuse(uint32_t error) { give(SECCOMP_RET_ERRNO | error); }
  void unless_equal_skip(uint32_t value, uint8_t skip) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip));
  }
  void unless_any_skip(uint32_t bits, uint8_t skip) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, skip));
  }
  // Of an argument the low half: all that the kernel reads of clone's flags and of ioctl's command.
  void load_argument(int argument) { load(offsetof(seccomp_data, args) + argument * sizeof(uint64_t)); }

  template <class Numbers>
  void give_each(const Numbers& numbers, uint32_t action) {
    for (uint32_t number : numbers) {
      unless_equal_skip(number, 1);
      give(action);
    }
  }

  // This call is answered with `action` where that argument is one of these values, else with `otherwise`.
  template <class Values>
  void by_argument(uint32_t number, int argument, const Values& values, uint32_t action, uint32_t otherwise) {
    unless_equal_skip(number, 2 + 2 * std::size(values));
    load_argument(argument);
    give_each(values, action);
    give(otherwise);
  }

  // Shared memory without a name is refused. Once its owner has let its pages go (MADV_DONTNEED) they count to
  // no process, and where they are too much the kernel ends others: the zygote.
  void refuse_shared_memory() {
    unless_equal_skip(SYS_mmap, 5);
    load_argument(3);
    unless_any_skip(MAP_ANONYMOUS, 2);
    unless_any_skip(MAP_SHARED, 1);
    refuse(EPERM);
    allow();
  }

  // A filter sees registers only: the flags of clone3 are behind a pointer, so the C library falls back to clone.
  void bound_clone(uint32_t needed, uint32_t never) {
    unless_equal_skip(SYS_clone3, 1);
    refuse(ENOSYS);
    unless_equal_skip(SYS_clone, 7);
    load_argument(0);
    unless_any_skip(never, 1);
    refuse(EPERM);
    code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, needed));
    unless_equal_skip(needed, 1);
    allow();
    refuse(EPERM);
  }

  // From now on it holds for this thread and all that it starts. False where the kernel takes no filter.
  bool install() {
    sock_fprog program = {static_cast<unsigned short>(code_.size()), code_.data()};
    return !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
  }

 private:
  void load(uint32_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }  // 32 bits

  std::vector<sock_filter> code_;
};
