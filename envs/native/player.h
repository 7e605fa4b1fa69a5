// The candidate's side of a round: maps what the referee sent, calls the kernel, says so.
//
// Nothing that this process says is believed: it shares its memory with the candidate. The referee
// owns inputs, clock, outputs and comparison (envs/referee/rounds.py).
#pragma once

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <exception>
#include <new>
#include <optional>

#include "harden.h"

constexpr int kChannel = 3;
constexpr size_t kNonceBytes = 16, kLayoutAt = 8;  // envs/referee/layout.py
constexpr size_t kMessageBytes = 1 << 16, kGapBytes = 1 << 16;
constexpr uintptr_t kHugeBytes = 2 << 20;  // envs/system/memfd.py

// What the referee says before the clock starts: where each tensor lies, all sizes, all scalars.
struct Layout {
  std::vector<int64_t> input_offsets, output_offsets, sizes;
  std::vector<double> scalars;
};

inline Layout read_layout(const char* bytes) {
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

// A file between two gaps that nothing else can be mapped into: who runs over its ends crashes.
// In huge pages it is longer than its tensors; what lies behind outputs is looked at.
struct Mapping {
  char *whole, *base;
  size_t total;
  // Outputs are populated: a kernel fills them, so it pays for each of their pages either way, and
  // an empty round pays as much. Inputs are not: a kernel that needs few of them could do without
  // (by another mmap in this process), and what the empty round paid would be its gain.
  Mapping(int descriptor, int protection) {
    const size_t bytes = lseek(descriptor, 0, SEEK_END);
    total = (bytes + kGapBytes - 1) / kGapBytes * kGapBytes + 2 * kGapBytes + kHugeBytes;
    void* gap = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (gap == MAP_FAILED) die(kMapFailed, "mmap");
    whole = static_cast<char*>(gap);
    // The first gap ends where a huge page may begin.
    const auto first = reinterpret_cast<uintptr_t>(whole) + kGapBytes;
    base = whole + kGapBytes + (kHugeBytes - first % kHugeBytes) % kHugeBytes;
    const int how = MAP_SHARED | MAP_FIXED | (protection & PROT_WRITE ? MAP_POPULATE : 0);
    if (mmap(base, bytes, protection, how, descriptor, 0) == MAP_FAILED) die(kMapFailed, "mmap");
    close(descriptor);
  }
  Mapping(const Mapping&) = delete;
  ~Mapping() { munmap(whole, total); }
};

using Call = void (*)(void* const*, const int64_t*, const double*);

// Null: nothing is computed, and no input is touched. A kernel may need few of them.
inline void run_once(Call call, const Layout& layout, const Mapping& in, const Mapping& out) {
  std::vector<void*> pointers;
  for (int64_t offset : layout.input_offsets) pointers.push_back(in.base + offset);
  for (int64_t offset : layout.output_offsets) pointers.push_back(out.base + offset);
  if (call) call(pointers.data(), layout.sizes.data(), layout.scalars.data());
}

[[noreturn]] inline void serve_rounds(Call call) {
  alignas(16) static char message[kMessageBytes];
  Layout layout;
  for (;;) {
    char control[CMSG_SPACE(2 * sizeof(int))] = {};
    iovec part = {message, sizeof message};
    msghdr header = {nullptr, 0, &part, 1, control, sizeof control, 0};
    if (recvmsg(kChannel, &header, MSG_CMSG_CLOEXEC) <= 0) _exit(0);
    if (message[0] == 'P') layout = read_layout(message + kLayoutAt);
    std::optional<Mapping> in;
    if (message[0] == 'G') {
      int files[2];
      memcpy(files, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof files);
      // Both within the clock: outputs that lay ready could be filled, as far as no input decides
      // them, by a kernel that took this loop over. Unmapped before the answer: the referee takes
      // no outputs that somebody could still write to.
      in.emplace(files[0], PROT_READ);
      run_once(call, layout, *in, Mapping(files[1], PROT_READ | PROT_WRITE));
      message[0] = 'D';
    }
    if (send(kChannel, message, 1 + kNonceBytes, 0) < 0) _exit(0);
  }
}

// An exception that nobody caught; a kernel may ask for too much memory, be refused, and do without.
[[noreturn]] inline void end_of_exception() {
  try {
    if (std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    _exit(kOutOfMemory);
  } catch (...) {
  }
  abort();
}

inline Call loaded(const char* library) {
  std::set_terminate(end_of_exception);
  void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  const auto call = opened ? reinterpret_cast<Call>(dlsym(opened, "kernelwright_call")) : nullptr;
  if (!call) {
    dprintf(2, "jail: %s\n", dlerror());
    _exit(kNoKernel);
  }
  return call;
}

[[noreturn]] inline void play(Call call) {
  char ready[1 + kNonceBytes] = {'R'};
  if (send(kChannel, ready, sizeof ready, 0) < 0) _exit(0);
  serve_rounds(call);
}
