// Memory of all kinds, reached through checks only; this is about shared and local memory, global.h about the rest.
#pragma once
#include "global.h"

enum How { kRead, kWrite, kUpdate };

// ---- shared memory: who touched it when ------------------------------------------------------
// Two warps that touch a unit between the same two barriers, one of them writing something else, race.
CALL void race_in_shared(Warp& w, u32 id, u32 lane, u32 at) {
  Block& b = *w.block;
  if (b.launch->kernel->weak_order) return warn(kMaybeRace, b, id, lane, w.number, kSharedWindow + at);
  fail(kRace, b, id, lane, w.number, kSharedWindow + at);
}
// Where lanes read or write, those that are off as the first that is on: all at one place, or side by side.
struct Reach { alignas(64) u32 a[32]; bool one, row; };
INLINE u32 mine(const Warp& w) { return w.block->epoch << kEpoch | w.number; }
// Whether a stamp is of another warp than `me`, and of no earlier epoch.
INLINE u32 others(u32 me, u32 stamp) { return ((stamp ^ me) & ~kAtomic) - 1 < (1u << kEpoch) - 1; }
// What an atomic leaves: one among atomics only, if nobody wrote or read in another way since the barrier.
INLINE u32 updated(u32 me, u32 stamp) {
  const bool plain = stamp >> kEpoch == me >> kEpoch && !(stamp & kAtomic);
  return me | (plain ? 0 : kAtomic) | (others(me, stamp) ? kMany : 0);
}
template <How HOW> INLINE void touch(Warp& w, u32 id, u32 lane, u32 at, u32 bytes, bool changes) {
  Block& b = *w.block;
  const u32 me = mine(w), fine = HOW == kUpdate ? kAtomic : 0;
  for (u32 i = at >> b.unit_shift; i <= (at + bytes - 1) >> b.unit_shift; ++i) {
    u32 &last = b.shadow.written[i], &seen = b.shadow.read[i];
    const bool written = others(me, last), read = others(me, seen);
    if (last == kPending) {
      if (HOW == kRead) fail(kMissingWait, b, id, lane, w.number, kSharedWindow + at);
    } else if (HOW != kWrite && last >> kEpoch < b.first_epoch) {
      warn(kUninitialised, b, id, lane, w.number, kSharedWindow + at);
    }
    if (written && !(last & fine) && (HOW == kRead || changes)) race_in_shared(w, id, lane, at);
    if (HOW != kRead && read && !(seen & fine) && changes) race_in_shared(w, id, lane, at);
    if (HOW == kRead) seen = read ? me | kMany : me;
    if (HOW == kWrite) last = me;
    if (HOW == kUpdate) last = updated(me, last), seen = updated(me, seen);
  }
}
// The same for 32 lanes at once, a unit each and side by side where ROW; false where one needs a closer look.
template <How HOW, bool ROW> INLINE bool touch_all(Warp& w, const u32* a, u32 bytes) {
  static_assert(HOW != kUpdate, "atomics go one by one");
  const Block& b = *w.block;
  const u32 shift = b.unit_shift, count = ROW ? 1 : bytes >> shift, epoch = b.epoch, since = b.first_epoch, me = mine(w);
  const u32 first = ROW ? a[0] >> shift : 0;
  alignas(64) u32 at[32], writer[32], reader[32];
  u32 odd = 0;
  LANES at[l] = a[l] >> shift;
  for (u32 i = 0; i < count; ++i) {
    u32 *const last = b.shadow.written + first + i, *const seen = b.shadow.read + first + i;
    LANES writer[l] = last[ROW ? l : at[l]], reader[l] = seen[ROW ? l : at[l]];
    LANES {
      const u32 unknown = (writer[l] >> kEpoch) - since > epoch - since;  // not of this block, or not arrived
      odd |= others(me, writer[l]) | (HOW == kRead ? unknown : others(me, reader[l]));
      reader[l] = others(me, reader[l]) ? me | kMany : me;
    }
    if (HOW == kRead) LANES seen[ROW ? l : at[l]] = reader[l];
  }
  if (odd) return false;
  for (u32 i = 0; HOW == kWrite && i < count; ++i) {
    u32* const last = b.shadow.written + first + i;
    LANES last[ROW ? l : at[l]] = me;
  }
  return true;
}
template <How HOW> INLINE bool touch_all(Warp& w, const Reach& to, u32 bytes) {
  const bool row = to.row && bytes == 1u << w.block->unit_shift;
  return row ? touch_all<HOW, true>(w, to.a, bytes) : touch_all<HOW, false>(w, to.a, bytes);
}
template <u32 BYTES> INLINE void reach_shared(Warp& w, u32 id, const u32* a, u32 mask, Reach& to) {
  Block& b = *w.block;
  const u32 first = a[__builtin_ctz(mask)], end = b.shared_bytes < BYTES ? 0 : b.shared_bytes - BYTES + 1;
  u32 outside = 0, odd = 0, same = 0, row = 0;
  LANES {
    const u32 at = to.a[l] = mask >> l & 1 ? a[l] : first;
    outside |= at >= end;
    odd |= at & (BYTES - 1);
    same |= at ^ first;
    row |= at ^ (first + (u32)l * BYTES);
  }
  if (outside) EACH(mask) if (a[l] >= end) fail(kSharedBounds, b, id, l, w.number, kSharedWindow + a[l]);
  if (odd) EACH(mask) if (a[l] & (BYTES - 1)) fail(kMisaligned, b, id, l, w.number, kSharedWindow + a[l]);
  to.one = !same, to.row = !row;
}
template <class T, int N> CALL void load_shared(Warp& w, u32 id, u32 mask, const u32* a, Lanes<T>* to) {
  if (!mask) return;
  constexpr u32 bytes = sizeof(T) * N;
  Reach at;
  reach_shared<bytes>(w, id, a, mask, at);
  count_shared<bytes>(at.a, mask, at.one, at.row);
  if (at.one) touch<kRead>(w, id, __builtin_ctz(mask), at.a[0], bytes, true);
  else if (!touch_all<kRead>(w, at, bytes)) EACH(mask) touch<kRead>(w, id, l, a[l], bytes, true);
  if (at.row && N == 1) return (void)memcpy(to[0], w.block->shared + at.a[0], 32 * bytes);
  for (u32 i = 0; i < N; ++i) {
    const u8* const from = w.block->shared + i * sizeof(T);
    LANES memcpy(&to[i][l], from + at.a[l], sizeof(T));
  }
}
template <class T, int N> CALL void store_shared(Warp& w, u32 id, u32 mask, const u32* a, const Lanes<T>* from) {
  if (!mask) return;
  constexpr u32 bytes = sizeof(T) * N;
  Reach at;
  reach_shared<bytes>(w, id, a, mask, at);
  count_shared<bytes>(at.a, mask, at.one, at.row);
  u8* to = w.block->shared;
  const bool known = touch_all<kWrite>(w, at, bytes);
  u8 before[32][bytes];
  if (!known) EACH(mask) memcpy(before[l], to + a[l], bytes);
  if (at.row && N == 1) memcpy(to + at.a[0], from[0], 32 * bytes);
  else EACH(mask) for (int i = 0; i < N; ++i) memcpy(to + a[l] + i * sizeof(T), &from[i][l], sizeof(T));
  // Judged by what the whole instruction leaves: Triton stores one value from several warps.
  if (!known) EACH(mask) touch<kWrite>(w, id, l, a[l], bytes, memcmp(before[l], to + a[l], bytes) != 0);
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
template <class T, int N, Reached HOW = kWeak> CALL void load_generic(Warp& w, u32 id, u32 mask, const u64* a, Lanes<T>* to) {
  const Parted by = parted(a, mask);
  load_global<T, N, HOW>(w, id, by.global, a, to), load_shared<T, N>(w, id, by.shared, by.in_shared, to), load_local<T, N>(w, id, by.local, by.in_local, to);
}
template <class T, int N, Reached HOW = kWeak> CALL void store_generic(Warp& w, u32 id, u32 mask, const u64* a, const Lanes<T>* from) {
  const Parted by = parted(a, mask);
  store_global<T, N, HOW>(w, id, by.global, a, from), store_shared<T, N>(w, id, by.shared, by.in_shared, from), store_local<T, N>(w, id, by.local, by.in_local, from);
}

// ---- read, change, write ----------------------------------------------------------------------
template <class T, bool SWAPS, class F> CALL void atomic_shared(Warp& w, u32 id, u32 mask, const u32* a, const T* b, const T* c, T* old, F next) {
  if (!mask) return;
  Reach at;
  reach_shared<sizeof(T)>(w, id, a, mask, at);
  count_shared<sizeof(T)>(at.a, mask, at.one, at.row);
  EACH(mask) touch<kUpdate>(w, id, l, a[l], sizeof(T), true);
  EACH(mask) update(w.block->shared + a[l], b[l], c[l], &old[l], next);
}
template <class T, bool SWAPS, class F> CALL void atomic_generic(Warp& w, u32 id, u32 mask, const u64* a, const T* b, const T* c, T* old, F next) {
  const Parted by = parted(a, mask);
  if (by.local) fail(kIllegalAddress, *w.block, id, __builtin_ctz(by.local), w.number, 0);
  atomic_global<T, SWAPS>(w, id, by.global, a, b, c, old, next), atomic_shared<T, SWAPS>(w, id, by.shared, by.in_shared, b, c, old, next);
}

// ---- copies that a wait ends: the bytes arrive then and not before, so that a missing wait shows ----
INLINE void stamp_units(Block& b, u32 at, u32 bytes, u32 stamp) {
  for (u32 i = at >> b.unit_shift; i <= (at + bytes - 1) >> b.unit_shift; ++i) b.shadow.written[i] = stamp;
}
template <u32 BYTES> INLINE void note_copies(Warp& w, u32 id, const u64* from, u32 mask) {
  const Global at = reach<BYTES>(w, id, from, mask, false);
  count_global<BYTES>(from, mask, at.row);
  note_loads<kWeak, BYTES>(w, id, from, mask, at);
}
CALL void copy_async(Warp& w, u32 id, u32 mask, const u32* to, const u64* from, u32 bytes, const u32* copied) {
  Block& b = *w.block;
  u32 reading = 0;
  EACH(mask) {
    if ((u64)to[l] + bytes > b.shared_bytes) fail(kSharedBounds, b, id, l, w.number, kSharedWindow + to[l]);
    if (to[l] % bytes) fail(kMisaligned, b, id, l, w.number, kSharedWindow + to[l]);
    touch<kWrite>(w, id, l, to[l], bytes, true);
    stamp_units(b, to[l], bytes, kPending);
    reading |= (copied[l] ? 1u : 0u) << l;
    if (w.copy_count == w.copy_room) {
      w.copy_room = w.copy_room ? 2 * w.copy_room : 64;
      w.copies = static_cast<Async*>(realloc(w.copies, w.copy_room * sizeof(Async)));
      if (!w.copies) _exit(67);
    }
    w.copies[w.copy_count++] = {from[l], to[l], bytes, copied[l] < bytes ? copied[l] : bytes, (u32)l, id, w.groups};
  }
  if (!reading) return;
  if (bytes == 16) note_copies<16>(w, id, from, reading);
  else if (bytes == 8) note_copies<8>(w, id, from, reading);
  else note_copies<4>(w, id, from, reading);
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
    stamp_units(b, one.to, one.bytes, mine(w));
  }
  w.copy_count = kept;
}
CALL void commit_async(Warp& w) { ++w.groups; }
CALL void wait_async(Warp& w, u32 left) { if (w.groups > left) arrive(w, w.groups - left); }
CALL void wait_all_async(Warp& w) { arrive(w, ++w.groups); }
