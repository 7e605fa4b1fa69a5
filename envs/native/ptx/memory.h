// Memory, reached through checks only: bounds, alignment, and for shared memory who touched it when.
#pragma once
#include "counts.h"
#include "warp.h"

// ---- global memory -------------------------------------------------------------------------
enum How { kRead, kWrite, kUpdate };

template <u32 BYTES> CALL void find_region(Warp& w, u32 id, const u64* a, u32 mask, bool writes) {
  Launch& launch = *w.block->launch;
  Site& site = launch.found[id];
  EACH(mask) {
    if (a[l] >= site.low && a[l] + BYTES <= site.high && (!writes || site.writable)) continue;
    bool found = false;
    for (u32 i = 0; i < launch.region_count && !found; ++i) {
      const Region& one = launch.regions[i];
      if (a[l] < one.low || a[l] > one.high || a[l] + BYTES > one.high) continue;
      if (writes && !one.writable) fail(kInputWritten, *w.block, id, l, w.number, a[l]);
      site.low = one.low, site.high = one.high, site.writable = one.writable;
      found = true;
    }
    if (!found) fail(kIllegalAddress, *w.block, id, l, w.number, a[l]);
  }
}
template <u32 BYTES> INLINE bool in_row(const u64* a, u32 mask) {
  u64 odd = 0;
  const u64 first = a[0];
  LANES odd |= a[l] ^ (first + (u64)(l * BYTES));
  return mask == ~0u && !odd;
}
// Whether all lanes read or write side by side; does not return where one may not.
template <u32 BYTES> INLINE bool reach(Warp& w, u32 id, const u64* a, u32 mask, bool writes) {
  Block& b = *w.block;
  const Site& site = b.launch->found[id];
  const u64 low = site.low, span = site.high - site.low - BYTES;
  u64 outside = site.high < site.low + BYTES || (writes && !site.writable), odd = 0;
  LANES {
    const u64 on = 0 - (u64)(mask >> l & 1);
    outside |= (a[l] - low > span ? 1 : 0) & on;
    odd |= (a[l] & (BYTES - 1)) & on;
  }
  if (odd) EACH(mask) if (a[l] & (BYTES - 1)) fail(kMisaligned, b, id, l, w.number, a[l]);
  if (outside) find_region<BYTES>(w, id, a, mask, writes);
  return in_row<BYTES>(a, mask);
}
template <class T, int N> CALL void load_global(Warp& w, u32 id, u32 mask, const u64* a, Lanes<T>* to) {
  if (!mask) return;
  const bool row = reach<sizeof(T) * N>(w, id, a, mask, false);
  count_global<sizeof(T) * N>(a, mask, row);
  if (row && N == 1) { memcpy(to[0], (const void*)a[0], 32 * sizeof(T)); return; }
  EACH(mask) for (int i = 0; i < N; ++i) memcpy(&to[i][l], (const u8*)a[l] + i * sizeof(T), sizeof(T));
}
template <class T, int N> CALL void store_global(Warp& w, u32 id, u32 mask, const u64* a, const Lanes<T>* from) {
  if (!mask) return;
  const bool row = reach<sizeof(T) * N>(w, id, a, mask, true);
  count_global<sizeof(T) * N>(a, mask, row);
  if (row && N == 1) { memcpy((void*)a[0], from[0], 32 * sizeof(T)); return; }
  EACH(mask) for (int i = 0; i < N; ++i) memcpy((u8*)a[l] + i * sizeof(T), &from[i][l], sizeof(T));
}

// ---- shared memory: who touched it when ------------------------------------------------------
// Two warps that touch a unit between the same two barriers, one of them writing something else, race.
CALL void race(Warp& w, u32 id, u32 lane, u32 at) {
  Block& b = *w.block;
  if (b.launch->kernel->weak_order) return warn(kMaybeRace, b, id, lane, w.number, kSharedWindow + at);
  fail(kRace, b, id, lane, w.number, kSharedWindow + at);
}
// `unit`: the kernel's, a constant where this is inlined.
template <How HOW> INLINE void touch(Warp& w, u32 id, u32 lane, u32 at, u32 bytes, bool changes, u32 unit) {
  Block& b = *w.block;
  const u32 who = w.number * 32 + lane, now = b.epoch << 11;
  for (u32 i = at / unit; i <= (at + bytes - 1) / unit; ++i) {
    u32 &last = b.shadow.written[i], &seen = b.shadow.read[i];
    const u32 writer = last & 0x7ff, reader = seen & 0x7ff, me = HOW == kUpdate ? kAtomic : who;
    const bool written = last >> 11 == b.epoch, read = seen >> 11 == b.epoch && reader >> 5 != w.number;
    if (last == kPending) {
      if (HOW == kRead) fail(kMissingWait, b, id, lane, w.number, kSharedWindow + at);
    } else if (HOW != kWrite && last >> 11 < b.first_epoch) {
      warn(kUninitialised, b, id, lane, w.number, kSharedWindow + at);
    }
    if (written && writer != me && writer >> 5 != w.number && (HOW == kRead || changes)) race(w, id, lane, at);
    if (HOW != kRead && read && changes && reader != me) race(w, id, lane, at);
    if (HOW == kRead) {
      seen = now | (read ? kMany : who);
    } else {
      last = now | me;
      if (HOW == kUpdate) seen = now | kAtomic;
    }
  }
}
// The same for 32 lanes side by side, a unit each; false where a lane needs a closer look.
template <How HOW> INLINE bool touch_row(Warp& w, u32 first_unit) {
  Block& b = *w.block;
  u32 *last = b.shadow.written + first_unit, *seen = b.shadow.read + first_unit;
  const u32 epoch = b.epoch, since = b.first_epoch, mine = w.number;
  u32 odd = 0;
  LANES {
    const u32 other = (last[l] >> 11 == epoch) & ((last[l] & 0x7ff) >> 5 != mine);
    const u32 unknown = (last[l] >> 11) - since > epoch - since;  // not of this block, or not arrived
    const u32 read = (seen[l] >> 11 == epoch) & ((seen[l] & 0x7ff) >> 5 != mine);
    odd |= HOW == kRead ? other | unknown : other | read | (last[l] == kPending);
  }
  if (odd) return false;
  LANES {
    const u32 who = epoch << 11 | (mine * 32 + l);
    const u32 others = (seen[l] >> 11 == epoch) & ((seen[l] & 0x7ff) >> 5 != mine);
    if (HOW == kRead) seen[l] = others ? epoch << 11 | kMany : who;
    else last[l] = who;
  }
  return true;
}
struct Shape { bool one, row; };  // all lanes at one place, or side by side
template <u32 BYTES> INLINE Shape reach_shared(Warp& w, u32 id, const u32* a, u32 mask) {
  Block& b = *w.block;
  const u64 size = b.shared_bytes;
  u64 outside = 0;
  u32 odd = 0, same = 0, row = 0;
  const u32 first = a[0];
  LANES {
    const u32 on = 0 - (mask >> l & 1);
    outside |= ((u64)a[l] + BYTES > size ? 1u : 0u) & on;
    odd |= (a[l] & (BYTES - 1)) & on;
    same |= a[l] ^ first;
    row |= a[l] ^ (first + (u32)l * BYTES);
  }
  if (outside) EACH(mask) if ((u64)a[l] + BYTES > size) fail(kSharedBounds, b, id, l, w.number, kSharedWindow + a[l]);
  if (odd) EACH(mask) if (a[l] & (BYTES - 1)) fail(kMisaligned, b, id, l, w.number, kSharedWindow + a[l]);
  return {mask == ~0u && !same, mask == ~0u && !row};
}
template <class T, int N> CALL void load_shared(Warp& w, u32 id, u32 mask, const u32* a, Lanes<T>* to) {
  if (!mask) return;
  const u32 bytes = sizeof(T) * N, unit = w.block->launch->kernel->shared_unit;
  const Shape shape = reach_shared<bytes>(w, id, a, mask);
  count_shared<bytes>(a, mask, shape.one, shape.row);
  const u8* from = w.block->shared;
  if (shape.one) {
    touch<kRead>(w, id, 0, a[0], bytes, true, unit);
  } else if (!shape.row || bytes != unit || !touch_row<kRead>(w, a[0] / unit)) {
    EACH(mask) touch<kRead>(w, id, l, a[l], bytes, true, unit);
  }
  if (shape.row && N == 1) { memcpy(to[0], from + a[0], 32 * sizeof(T)); return; }
  if (mask == ~0u) { for (int l = 0; l < 32; ++l) for (int i = 0; i < N; ++i) memcpy(&to[i][l], from + a[l] + i * sizeof(T), sizeof(T)); return; }
  EACH(mask) for (int i = 0; i < N; ++i) memcpy(&to[i][l], from + a[l] + i * sizeof(T), sizeof(T));
}
template <class T, int N> CALL void store_shared(Warp& w, u32 id, u32 mask, const u32* a, const Lanes<T>* from) {
  if (!mask) return;
  const u32 bytes = sizeof(T) * N, unit = w.block->launch->kernel->shared_unit;
  const Shape shape = reach_shared<bytes>(w, id, a, mask);
  count_shared<bytes>(a, mask, shape.one, shape.row);
  u8* to = w.block->shared;
  const bool known = shape.row && bytes == unit && touch_row<kWrite>(w, a[0] / unit);
  u8 before[32][sizeof(T) * N];
  if (!known) EACH(mask) memcpy(before[l], to + a[l], bytes);
  EACH(mask) for (int i = 0; i < N; ++i) memcpy(to + a[l] + i * sizeof(T), &from[i][l], sizeof(T));
  // Judged by what the whole instruction leaves: Triton stores one value from several warps.
  if (!known) EACH(mask) touch<kWrite>(w, id, l, a[l], bytes, memcmp(before[l], to + a[l], bytes) != 0, unit);
}

// ---- a lane's own memory, and addresses of any kind -----------------------------------------
template <class T, int N> CALL void load_local(Warp& w, u32 id, u32 mask, const u64* a, Lanes<T>* to) {
  EACH(mask) {
    if (a[l] > w.local_bytes || a[l] + sizeof(T) * N > w.local_bytes) fail(kLocalBounds, *w.block, id, l, w.number, 0);
    for (int i = 0; i < N; ++i) memcpy(&to[i][l], w.local + (u64)l * w.local_bytes + a[l] + i * sizeof(T), sizeof(T));
  }
}
template <class T, int N> CALL void store_local(Warp& w, u32 id, u32 mask, const u64* a, const Lanes<T>* from) {
  EACH(mask) {
    if (a[l] > w.local_bytes || a[l] + sizeof(T) * N > w.local_bytes) fail(kLocalBounds, *w.block, id, l, w.number, 0);
    for (int i = 0; i < N; ++i) memcpy(w.local + (u64)l * w.local_bytes + a[l] + i * sizeof(T), &from[i][l], sizeof(T));
  }
}
struct Parted { u32 global, shared, local; alignas(64) u32 in_shared[32]; alignas(64) u64 in_local[32]; };
INLINE Parted parted(const u64* a, u32 mask) {
  Parted found = {};
  LANES found.in_shared[l] = (u32)a[l], found.in_local[l] = (u32)a[l];
  EACH(mask) {
    if (in_shared(a[l])) found.shared |= 1u << l;
    else if (in_local(a[l])) found.local |= 1u << l;
    else found.global |= 1u << l;
  }
  return found;
}
template <class T, int N> CALL void load_generic(Warp& w, u32 id, u32 mask, const u64* a, Lanes<T>* to) {
  const Parted by = parted(a, mask);
  load_global<T, N>(w, id, by.global, a, to), load_shared<T, N>(w, id, by.shared, by.in_shared, to), load_local<T, N>(w, id, by.local, by.in_local, to);
}
template <class T, int N> CALL void store_generic(Warp& w, u32 id, u32 mask, const u64* a, const Lanes<T>* from) {
  const Parted by = parted(a, mask);
  store_global<T, N>(w, id, by.global, a, from), store_shared<T, N>(w, id, by.shared, by.in_shared, from), store_local<T, N>(w, id, by.local, by.in_local, from);
}

// ---- read, change, write ----------------------------------------------------------------------
template <class T, class F> INLINE void update(u8* at, T b, T c, T* old, F next) {
  T now;
  memcpy(&now, at, sizeof(T));
  const T then = next(now, b, c);
  memcpy(at, &then, sizeof(T));
  *old = now;
}
template <class T, class F> CALL void atomic_global(Warp& w, u32 id, u32 mask, const u64* a, const T* b, const T* c, T* old, F next) {
  if (!mask) return;
  count_global<sizeof(T)>(a, mask, reach<sizeof(T)>(w, id, a, mask, true));
  EACH(mask) update((u8*)a[l], b[l], c[l], &old[l], next);
}
template <class T, class F> CALL void atomic_shared(Warp& w, u32 id, u32 mask, const u32* a, const T* b, const T* c, T* old, F next) {
  if (!mask) return;
  const Shape shape = reach_shared<sizeof(T)>(w, id, a, mask);
  count_shared<sizeof(T)>(a, mask, shape.one, shape.row);
  EACH(mask) touch<kUpdate>(w, id, l, a[l], sizeof(T), true, w.block->launch->kernel->shared_unit);
  EACH(mask) update(w.block->shared + a[l], b[l], c[l], &old[l], next);
}
template <class T, class F> CALL void atomic_generic(Warp& w, u32 id, u32 mask, const u64* a, const T* b, const T* c, T* old, F next) {
  const Parted by = parted(a, mask);
  if (by.local) fail(kIllegalAddress, *w.block, id, __builtin_ctz(by.local), w.number, 0);
  atomic_global(w, id, by.global, a, b, c, old, next), atomic_shared(w, id, by.shared, by.in_shared, b, c, old, next);
}

// ---- copies that a wait ends: the bytes arrive then and not before, so that a missing wait shows ----
CALL void copy_async(Warp& w, u32 id, u32 mask, const u32* to, const u64* from, u32 bytes, const u32* copied) {
  Block& b = *w.block;
  const u32 unit = b.launch->kernel->shared_unit;
  u32 reading = 0;
  EACH(mask) {
    if ((u64)to[l] + bytes > b.shared_bytes) fail(kSharedBounds, b, id, l, w.number, kSharedWindow + to[l]);
    if (to[l] % bytes) fail(kMisaligned, b, id, l, w.number, kSharedWindow + to[l]);
    touch<kWrite>(w, id, l, to[l], bytes, true, unit);
    for (u32 i = to[l] / unit; i <= (to[l] + bytes - 1) / unit; ++i) b.shadow.written[i] = kPending;
    reading |= (copied[l] ? 1u : 0u) << l;
    if (w.copy_count == w.copy_room) {
      w.copy_room = w.copy_room ? 2 * w.copy_room : 64;
      w.copies = static_cast<Async*>(realloc(w.copies, w.copy_room * sizeof(Async)));
      if (!w.copies) _exit(67);
    }
    w.copies[w.copy_count++] = {from[l], to[l], bytes, copied[l] < bytes ? copied[l] : bytes, (u32)l, id, w.groups};
  }
  if (!reading) return;
  if (bytes == 16) count_global<16>(from, reading, reach<16>(w, id, from, reading, false));
  else if (bytes == 8) count_global<8>(from, reading, reach<8>(w, id, from, reading, false));
  else count_global<4>(from, reading, reach<4>(w, id, from, reading, false));
}
// All of the groups before this one have arrived.
CALL void arrive(Warp& w, u32 group) {
  Block& b = *w.block;
  u32 kept = 0;
  for (u32 i = 0; i < w.copy_count; ++i) {
    const Async& one = w.copies[i];
    if (one.group >= group) { w.copies[kept++] = one; continue; }
    memcpy(b.shared + one.to, (const void*)one.from, one.copied);
    memset(b.shared + one.to + one.copied, 0, one.bytes - one.copied);
    const u32 unit = b.launch->kernel->shared_unit, stamp = b.epoch << 11 | (w.number * 32 + one.lane);
    for (u32 u = one.to / unit; u <= (one.to + one.bytes - 1) / unit; ++u) b.shadow.written[u] = stamp;
  }
  w.copy_count = kept;
}
CALL void commit_async(Warp& w) { ++w.groups; }
CALL void wait_async(Warp& w, u32 left) { if (w.groups > left) arrive(w, w.groups - left); }
CALL void wait_all_async(Warp& w) { arrive(w, ++w.groups); }
