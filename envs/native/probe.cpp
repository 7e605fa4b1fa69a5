// What this core can do at best, for envs/workers/peaks.py: one line for each measurement.
//
//   read BYTES BYTES_PER_SECOND   summing a buffer of so many bytes again and again
//   flops FLOPS_PER_SECOND        float32 multiply-adds, counted as two each; not on a core that has
//                                 a matrix unit, which is faster than that
//
// The best of many short runs: a run that something interrupted is no peak.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>

typedef float Lanes __attribute__((vector_size(64)));

constexpr int kRuns = 12, kChains = 16;
constexpr double kRunSeconds = 0.008;
constexpr size_t kSmallestBytes = 16 << 10, kLargestBytes = 256 << 20;

static double now_s() {
  timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec + 1e-9 * at.tv_nsec;
}

// The compiler has to believe that these values are used.
static void keep(Lanes* values) { asm volatile("" : : "r"(values) : "memory"); }

static void read_once(const Lanes* data, size_t count, Lanes* sums) {
  Lanes chains[8] = {};
  for (size_t i = 0; i < count; i += 8)
    for (int k = 0; k < 8; ++k) chains[k] += data[i + k];
  for (int k = 0; k < 8; ++k) sums[k] = chains[k];
  keep(sums);
}

static void multiply_add(long rounds, Lanes* values) {
  Lanes chains[kChains], factor = values[0], term = values[1];
  for (int k = 0; k < kChains; ++k) chains[k] = values[k];
  for (long i = 0; i < rounds; ++i)
    for (int k = 0; k < kChains; ++k) chains[k] = chains[k] * factor + term;
  for (int k = 0; k < kChains; ++k) values[k] = chains[k];
  keep(values);
}

// The most units per second of any run, where `work(n)` does n rounds of `units` each.
template <class Work>
static double best_rate(double units, Work work) {
  long rounds = 1;
  double took_s = 0;
  for (;; rounds *= 2) {
    const double started = now_s();
    work(rounds);
    took_s = now_s() - started;
    if (took_s > kRunSeconds) break;
  }
  double best_s = took_s;
  for (int run = 0; run < kRuns; ++run) {
    const double started = now_s();
    work(rounds);
    best_s = std::min(best_s, now_s() - started);
  }
  return units * rounds / best_s;
}

int main() {
  void* at = mmap(nullptr, kLargestBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return 1;
  madvise(at, kLargestBytes, MADV_HUGEPAGE);
  // Written once: pages that never were are all one page of zeros, which stays in the cache.
  memset(at, 0, kLargestBytes);
  const Lanes* data = static_cast<const Lanes*>(at);
  Lanes values[kChains];
  for (size_t bytes = kSmallestBytes; bytes <= kLargestBytes; bytes *= 4) {
    const double rate = best_rate(bytes, [&](long rounds) {
      for (long i = 0; i < rounds; ++i) read_once(data, bytes / sizeof(Lanes), values);
    });
    printf("read %zu %.6g\n", bytes, rate);
  }
#ifndef __AMX_TILE__
  for (Lanes& one : values) one = Lanes{} + 0.5f;
  const double lanes = sizeof(Lanes) / sizeof(float);
  printf("flops %.6g\n", best_rate(2 * lanes * kChains, [&](long n) { multiply_add(n, values); }));
#endif
}
