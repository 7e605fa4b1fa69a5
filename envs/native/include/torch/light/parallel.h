// What torch spreads over threads: a worker of the judge is one core.
#pragma once

#include <cstdint>

namespace torch {

template <class Function> void parallel_for(int64_t begin, int64_t end, int64_t, const Function& function) {
  if (begin < end) function(begin, end);
}
template <class T, class Function, class Joined>
T parallel_reduce(int64_t begin, int64_t end, int64_t, T start, const Function& function, const Joined& joined) {
  return begin < end ? joined(start, function(begin, end, start)) : start;
}
inline int get_num_threads() { return 1; }
inline int get_thread_num() { return 0; }
inline void set_num_threads(int) {}
inline bool in_parallel_region() { return false; }
constexpr int64_t divup(int64_t x, int64_t y) { return (x + y - 1) / y; }
namespace internal {
constexpr int64_t GRAIN_SIZE = 32768;
}

}  // namespace torch
