// What a profiler would count of a launch: facts for whoever writes kernels, and no part of a verdict.
#pragma once
#include <stdio.h>

#include "numbers.h"

// Kinds of instructions, in the order of envs/plan/device_code.py's INSTRUCTIONS.
const int kKinds = 10;
struct Counts {
  u64 instructions, lanes;  // of warps; of their lanes that were on
  u64 global_requests, sectors, global_bytes;  // sectors of 32 bytes, as caches move them
  u64 shared_requests, wavefronts, conflict_free;  // passes over shared memory, and what they would be without conflicts
  u64 kinds[kKinds];
};
static Counts counted;

// Sectors of 32 bytes that lanes touch which are not side by side; an access is aligned, so it lies in one.
CALL void count_scattered(const u64* a, u32 mask) {
  u64 seen[32], near = 0, last = ~0ull;
  u32 count = 0;
  const u64 first = mask ? a[__builtin_ctz(mask)] / 32 - 32 : 0;
  EACH(mask) {
    const u64 sector = a[l] / 32, at = sector - first;
    if (at < 64) { near |= 1ull << at; continue; }
    if (sector == last) continue;
    last = sector;
    u32 i = count;
    while (i && seen[i - 1] != sector) --i;
    if (!i) seen[count++] = sector;
  }
  counted.sectors += count + __builtin_popcountll(near);
}
template <u32 BYTES> INLINE void count_global(const u64* a, u32 mask, bool row) {
  ++counted.global_requests;
  counted.global_bytes += BYTES * __builtin_popcount(mask);
  if (row) counted.sectors += (a[0] % 32 + 32 * BYTES + 31) / 32;
  else count_scattered(a, mask);
}

// Whether the words of these lanes lie in one row of banks, so that no bank is asked for two.
template <u32 BYTES> INLINE bool in_one_row(const u32* a, u32 lanes) {
  u32 low = ~0u, high = 0;
  _Pragma("omp simd") for (u32 l = 0; l < lanes; ++l) low = a[l] < low ? a[l] : low, high = a[l] > high ? a[l] : high;
  return (high + BYTES - 1) / 4 - low / 4 < 32;
}
// 32 banks of 4 bytes; accesses of 8 and 16 bytes go in halves and quarters of a warp (CUDA guide, 16.4.3). Lanes
// that are off point where another does.
template <u32 BYTES> CALL void count_banks(const u32* a, u32 mask) {
  static_assert(BYTES <= 32, "a word of each bank for every lane, at most");
  const u32 group = BYTES >= 16 ? 8 : BYTES == 8 ? 16 : 32;
  for (u32 first = 0; first < 32; first += group) {
    const u32 on = mask >> first & (u32)((1ull << group) - 1);
    if (!on) continue;
    ++counted.conflict_free;
    if (in_one_row<BYTES>(a + first, group)) { ++counted.wavefronts; continue; }
    u32 words[32][32], in_bank[32] = {}, most = 1;
    EACH(on) for (u32 word = a[first + l] / 4; word <= (a[first + l] + BYTES - 1) / 4; ++word) {
      u32& count = in_bank[word % 32];
      u32* const known = words[word % 32];
      if (count && known[0] == word) continue;
      u32 i = count;
      while (i && known[i - 1] != word) --i;
      if (!i) known[count++] = word;
      most = count > most ? count : most;
    }
    counted.wavefronts += most;
  }
}
template <u32 BYTES> INLINE void count_shared(const u32* a, u32 mask, bool one, bool row) {
  const u32 passes = BYTES >= 16 ? 4 : BYTES == 8 ? 2 : 1;
  ++counted.shared_requests;
  if (one) ++counted.wavefronts, ++counted.conflict_free;
  else if (row) counted.wavefronts += passes, counted.conflict_free += passes;
  else count_banks<BYTES>(a, mask);
}

// One line a call: envs/plan/counters.py reads it.
CALL void tell_counts() {
  static int calls = 0;
  if (++calls > 16) return;
  const u64* all = reinterpret_cast<const u64*>(&counted);
  dprintf(2, "counters:");
  for (size_t i = 0; i < sizeof counted / sizeof *all; ++i) dprintf(2, " %llu", (unsigned long long)all[i]);
  dprintf(2, "\n");
  counted = {};
}
