// Global memory, reached through checks: bounds, alignment, and who touched it when in this launch (order.h).
//
// Each unit of memory that a launch may write has two stamps: the segment that wrote it last, the one that read it
// last. Who reads what another wrote, or writes something else where another read or wrote, and does not come after
// it, races. Stamps of earlier launches mean nothing, so nothing is reset.
#pragma once
#include <sys/mman.h>

#include "counts.h"
#include "order.h"

// How memory is reached: strong is what other blocks may count on (volatile, relaxed, acquire, release); `kReadOnly`
// goes by a cache that sees nothing of what the launch writes (ld.global.nc).
enum Reached { kWeak, kStrong, kReadOnly };
// A stamp is segment << kFlags, with what else is known: an atomic or a strong write, more warps, more blocks did so,
// and all that did compared and swapped, so that it does no harm to have read it before.
const u32 kFlags = 4, kUpdated = 1, kWarps = 2, kBlocks = 4, kSwapped = 8, kAllFlags = 15;

template <u32 BYTES> CALL bool find_region(Warp& w, u32 id, const u64* a, u32 mask, bool writes) {
  Launch& launch = *w.block->launch;
  Site& site = launch.found[id];
  EACH(mask) {
    if (a[l] >= site.low && a[l] + BYTES <= site.high && (!writes || site.writable)) continue;
    bool found = false;
    for (u32 i = 0; i < launch.region_count && !found; ++i) {
      Region& one = launch.regions[i];
      if (a[l] < one.low || a[l] > one.high || a[l] + BYTES > one.high) continue;
      if (writes && !one.writable) fail(kInputWritten, *w.block, id, l, w.number, a[l]);
      site.low = one.low, site.high = one.high, site.writable = one.writable, site.region = &one;
      found = true;
    }
    if (!found) fail(kIllegalAddress, *w.block, id, l, w.number, a[l]);
  }
  bool all = true;
  EACH(mask) all &= a[l] >= site.low && a[l] + BYTES <= site.high;
  return all;
}
template <u32 BYTES> INLINE bool in_row(const u64* a, u32 mask) {
  u64 odd = 0;
  const u64 first = a[0];
  LANES odd |= a[l] ^ (first + (u64)(l * BYTES));
  return mask == ~0u && !odd;
}
// Whether all lanes read or write side by side, and whether all do so in the region of the site; does not return
// where one may not.
struct Global { bool row, one_region; };
template <u32 BYTES> INLINE Global reach(Warp& w, u32 id, const u64* a, u32 mask, bool writes) {
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
  const bool one_region = !outside || find_region<BYTES>(w, id, a, mask, writes);
  return {in_row<BYTES>(a, mask), one_region};
}

// ---- stamps ----------------------------------------------------------------------------------
struct Stamps { u32* at; u64 count; };
static Stamps stamps;
static u64 stamps_used;

// Stamps of a launch: of zeros at first, or of launches before. Nothing is checked where there is no room for them.
CALL void begin_stamps(Launch& launch) {
  u64 units = 0;
  for (u32 i = 0; i < launch.region_count; ++i) {
    Region& one = launch.regions[i];
    one.written = one.read = nullptr, one.is_written = one.is_read = false;
    if (one.writable && one.high > one.low) units += 2 * ((one.high - one.low >> launch.unit_shift) + 80);
  }
  stamps_used = 0;
  if (units > stamps.count || segments > kLastSegment / 2) {
    if (stamps.at) munmap(stamps.at, stamps.count * sizeof(u32));
    void* const made = mmap(nullptr, (units + 1) * sizeof(u32), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    stamps.at = made == MAP_FAILED ? nullptr : static_cast<u32*>(made);
    stamps.count = stamps.at ? units + 1 : 0;
    segments = 1;
  }
  order_begins(launch);
  if (!stamps.at) unchecked(launch);
}
// The written ones of all regions come first: few are read.
INLINE bool stamped(const Launch& launch, Region& one) {
  if (one.written) return true;
  if (!one.writable || launch.first_segment == ~0u) return false;
  const u64 units = (one.high - one.low >> launch.unit_shift) + 80;
  one.written = stamps.at + stamps_used, one.read = one.written + units;
  stamps_used += 2 * units;
  return true;
}
INLINE u64 unit_of(const Launch& launch, const Region& one, u64 a) { return (a >> launch.unit_shift) - (one.low >> launch.unit_shift); }
CALL Region& region_of(Launch& launch, u64 a) {
  for (u32 i = 0; i < launch.region_count; ++i)
    if (a >= launch.regions[i].low && a < launch.regions[i].high) return launch.regions[i];
  return launch.regions[0];
}

// What a warp's stamps are compared with.
struct Now { u32 first, run, span, me; };
INLINE Now now_of(const Warp& w) {
  const Block& b = *w.block;
  return {b.launch->first_segment << kFlags, b.run << kFlags, b.base > b.run ? b.base - b.run << kFlags : 0, w.segment << kFlags};
}
// Whether a stamp needs a closer look: it is of this launch, not of this segment, and not before the block's barrier.
INLINE u32 is_odd(const Now& now, u32 stamp) {
  return (stamp >= now.first) & (stamp != now.me) & ((stamp - now.run >= now.span) | ((stamp & kAllFlags) != 0));
}
// A read's stamp, over another's.
INLINE u32 read_by(const Now& now, u32 base, u32 stamp) {
  const u32 live = stamp >= now.first, other_block = live & (stamp < now.run);
  const u32 other_warp = live & (stamp >= base) & ((stamp ^ now.me) > kAllFlags);
  return now.me | (other_block ? kBlocks : 0) | (other_warp ? kWarps : 0) | (live ? stamp & kBlocks : 0) |
         (live & (stamp >= base) ? stamp & kWarps : 0);
}

enum Conflict { kNone, kOfWarps, kOfBlocks };
// Whose access a stamp is of, where nothing puts it before what this warp does now.
CALL Conflict conflict(Warp& w, u32 stamp) {
  Block& b = *w.block;
  const Launch& launch = *b.launch;
  const u32 segment = stamp >> kFlags;
  if (segment < launch.first_segment || launch.first_segment == ~0u) return kNone;
  if (!is_own(b, segment)) return comes_after(b, segment, stamp & kUpdated) ? kNone : kOfBlocks;
  if (stamp & kBlocks) return b.taken ? kNone : kOfBlocks;
  if (segment < b.base) return kNone;
  if (warp_of(launch, segment) == w.number) return stamp & kWarps ? kOfWarps : kNone;
  return comes_after(b, segment, stamp & kUpdated) ? kNone : kOfWarps;
}
CALL void race(Warp& w, u32 id, u32 lane, u64 a, Conflict with, bool is_read) {
  const Kernel& kernel = *w.block->launch->kernel;
  // Triton's warps read together what one of them needs; what a fence or a spinning warp orders is not seen here.
  const bool doubtful = with == kOfWarps && (kernel.weak_global || (is_read && kernel.replicates));
  if (doubtful) return warn(kMaybeRace, *w.block, id, lane, w.number, a);
  fail(kRace, *w.block, id, lane, w.number, a);
}
template <Reached HOW> INLINE void touch_load(Warp& w, u32 id, u32 lane, Region& one, u64 a, u32 bytes) {
  Launch& launch = *w.block->launch;
  if (!stamped(launch, one)) return;
  const u64 last = unit_of(launch, one, a + bytes - 1);
  for (u64 i = unit_of(launch, one, a); i <= last; ++i) {
    const u32 written = one.written[i];
    if (HOW == kReadOnly && written >> kFlags >= launch.first_segment) race(w, id, lane, a, kOfBlocks, false);
    if (HOW == kStrong ? written & kUpdated : HOW == kWeak && written & kSwapped) continue;
    if (const Conflict with = conflict(w, written)) {
      // A flag that is set behind a fence, in no special way, and looked at in one.
      const bool flagged = HOW == kStrong && launch.kernel->publishes && order.states[state_of(written >> kFlags)].base;
      if (!flagged) race(w, id, lane, a, with, true);
    }
    if (HOW == kStrong) continue;
    u32& seen = one.read[i];
    Now now = now_of(w);
    if (is_own(*w.block, seen >> kFlags)) now.run = 0;
    seen = read_by(now, w.block->base << kFlags, seen);
    one.is_read = true;
  }
}
template <Reached HOW> INLINE void touch_store(Warp& w, u32 id, u32 lane, Region& one, u64 a, u32 bytes, bool changes) {
  Launch& launch = *w.block->launch;
  if (!stamped(launch, one)) return;
  const u64 last = unit_of(launch, one, a + bytes - 1);
  one.is_written = true;
  for (u64 i = unit_of(launch, one, a); i <= last; ++i) {
    u32& written = one.written[i];
    if (changes) {
      if (const Conflict with = conflict(w, written)) race(w, id, lane, a, with, false);
      if (const Conflict with = one.is_read ? conflict(w, one.read[i]) : kNone) race(w, id, lane, a, with, true);
    }
    written = w.segment << kFlags | (HOW == kStrong ? kUpdated : 0);
  }
}
// The same for 32 lanes at once, all in one region; false where one needs a closer look, and then nothing is stamped.
template <u32 BYTES, bool ROW> INLINE bool touch_loads(Warp& w, Region& one, const u64* a, u32 mask) {
  const Block& b = *w.block;
  const Launch& launch = *b.launch;
  if (b.old_count) return false;
  const Now now = now_of(w);
  const u32 base = b.base << kFlags, per_lane = BYTES >> launch.unit_shift;
  const u64 first = unit_of(launch, one, a[__builtin_ctz(mask)]);
  alignas(64) u64 at[32];
  if (!ROW) LANES at[l] = mask >> l & 1 ? unit_of(launch, one, a[l]) : first;
  u32 odd = 0;
  for (u32 i = 0; i < per_lane; ++i) {
    const u32* const last = one.written + (ROW ? first + 32 * i : i);
    if (one.is_written) LANES odd |= is_odd(now, last[ROW ? l : at[l]]);
  }
  if (odd) return false;
  for (u32 i = 0; i < per_lane; ++i) {
    u32* const seen = one.read + (ROW ? first + 32 * i : i);
    if (ROW) LANES seen[l] = read_by(now, base, seen[l]);
    else for (u32 l = 0; l < 32; ++l) seen[at[l]] = read_by(now, base, seen[at[l]]);
  }
  one.is_read = true;
  return true;
}
template <u32 BYTES, bool ROW> INLINE bool touch_stores(Warp& w, Region& one, const u64* a, u32 mask) {
  const Launch& launch = *w.block->launch;
  const Now now = now_of(w);
  const u32 per_lane = BYTES >> launch.unit_shift;
  const u64 first = unit_of(launch, one, a[__builtin_ctz(mask)]);
  alignas(64) u64 at[32];
  if (!ROW) LANES at[l] = mask >> l & 1 ? unit_of(launch, one, a[l]) : first;
  u32 odd = 0;
  for (u32 i = 0; i < per_lane; ++i) {
    const u64 from = ROW ? first + 32 * i : i;
    const u32 *const last = one.written + from, *const seen = one.read + from;
    if (one.is_written) LANES odd |= is_odd(now, last[ROW ? l : at[l]]);
    if (one.is_read) LANES odd |= is_odd(now, seen[ROW ? l : at[l]]);
  }
  if (odd) return false;
  for (u32 i = 0; i < per_lane; ++i) {
    u32* const last = one.written + (ROW ? first + 32 * i : i);
    if (ROW) LANES last[l] = now.me;
    else for (u32 l = 0; l < 32; ++l) last[at[l]] = now.me;
  }
  one.is_written = true;
  return true;
}
// What the strong writes that lanes see hand over.
CALL void take_all(Warp& w, u32 id, const u64* a, u32 mask, bool one_region) {
  Launch& launch = *w.block->launch;
  if (!launch.kernel->publishes) return;
  bool any = false;
  EACH(mask) {
    Region& one = one_region ? *launch.found[id].region : region_of(launch, a[l]);
    if (stamped(launch, one)) any |= take(w, one.written[unit_of(launch, one, a[l])] >> kFlags);
  }
  if (any) taken(w);
}
template <Reached HOW, u32 BYTES> INLINE void note_loads(Warp& w, u32 id, const u64* a, u32 mask, Global to) {
  Launch& launch = *w.block->launch;
  Region& one = *launch.found[id].region;
  if (to.one_region && !stamped(launch, one)) return;
  if (HOW == kStrong) take_all(w, id, a, mask, to.one_region);
  const bool plain = to.one_region && (HOW == kWeak || (HOW == kReadOnly && !one.is_written));
  if (plain && (to.row ? touch_loads<BYTES, true>(w, one, a, mask) : touch_loads<BYTES, false>(w, one, a, mask))) return;
  EACH(mask) touch_load<HOW>(w, id, l, to.one_region ? one : region_of(launch, a[l]), a[l], BYTES);
}
template <u32 BYTES> INLINE bool note_stores(Warp& w, u32 id, const u64* a, u32 mask, Global to) {
  Region& one = *w.block->launch->found[id].region;
  if (!to.one_region) return false;
  if (!stamped(*w.block->launch, one)) return true;
  return to.row ? touch_stores<BYTES, true>(w, one, a, mask) : touch_stores<BYTES, false>(w, one, a, mask);
}

// ---- what kernels do ---------------------------------------------------------------------------
template <class T, int N, Reached HOW = kWeak> CALL void load_global(Warp& w, u32 id, u32 mask, const u64* a, Lanes<T>* to) {
  if (!mask) return;
  const Global at = reach<sizeof(T) * N>(w, id, a, mask, false);
  count_global<sizeof(T) * N>(a, mask, at.row);
  note_loads<HOW, sizeof(T) * N>(w, id, a, mask, at);
  if (at.row && N == 1) { memcpy(to[0], (const void*)a[0], 32 * sizeof(T)); return; }
  EACH(mask) for (int i = 0; i < N; ++i) memcpy(&to[i][l], (const u8*)a[l] + i * sizeof(T), sizeof(T));
}
template <class T, int N, Reached HOW = kWeak> CALL void store_global(Warp& w, u32 id, u32 mask, const u64* a, const Lanes<T>* from) {
  if (!mask) return;
  constexpr u32 bytes = sizeof(T) * N;
  const Global at = reach<bytes>(w, id, a, mask, true);
  count_global<bytes>(a, mask, at.row);
  const bool known = HOW == kWeak && note_stores<bytes>(w, id, a, mask, at);
  u8 before[32][bytes];
  if (!known) EACH(mask) memcpy(before[l], (const u8*)a[l], bytes);
  if (at.row && N == 1) memcpy((void*)a[0], from[0], 32 * sizeof(T));
  else EACH(mask) for (int i = 0; i < N; ++i) memcpy((u8*)a[l] + i * sizeof(T), &from[i][l], sizeof(T));
  // Lanes that write one place write one value; nobody knows whose is left.
  if (!at.row) EACH(mask) for (int i = 0; i < N; ++i)
    if (memcmp((const u8*)a[l] + i * sizeof(T), &from[i][l], sizeof(T))) fail(kRace, *w.block, id, l, w.number, a[l]);
  if (known) return;
  Launch& launch = *w.block->launch;
  EACH(mask) {
    Region& one = at.one_region ? *launch.found[id].region : region_of(launch, a[l]);
    touch_store<HOW>(w, id, l, one, a[l], bytes, memcmp(before[l], (const u8*)a[l], bytes) != 0);
  }
}

// ---- read, change, write ------------------------------------------------------------------------
template <class T, class F> INLINE bool update(u8* at, T b, T c, T* old, F next) {
  T now;
  memcpy(&now, at, sizeof(T));
  const T then = next(now, b, c);
  memcpy(at, &then, sizeof(T));
  *old = now;
  return then != now;
}
// One that leaves what was there is a strong read.
template <bool SWAPS> CALL void touch_update(Warp& w, u32 id, u32 lane, Region& one, u64 a, u32 bytes, bool changes) {
  if (!changes) return touch_load<kStrong>(w, id, lane, one, a, bytes);
  const Block& b = *w.block;
  const Launch& launch = *b.launch;
  const u64 last = unit_of(launch, one, a + bytes - 1);
  one.is_written = true;
  for (u64 i = unit_of(launch, one, a); i <= last; ++i) {
    u32& written = one.written[i];
    const u32 segment = written >> kFlags;
    const bool live = segment >= launch.first_segment, own = live && is_own(b, segment), now = own && segment >= b.base;
    const bool plain = live && !(written & kUpdated);
    if (const Conflict with = plain ? conflict(w, written) : kNone) race(w, id, lane, a, with, false);
    if (const Conflict with = one.is_read && !SWAPS ? conflict(w, one.read[i]) : kNone) race(w, id, lane, a, with, true);
    u32 flags = plain && now ? 0 : kUpdated | (SWAPS && (!live || written & kSwapped) ? kSwapped : 0);
    if (live && !plain) flags |= own ? written & kBlocks : kBlocks;
    if (now && !plain) flags |= warp_of(launch, segment) == w.number ? written & kWarps : kWarps;
    written = w.segment << kFlags | flags;
  }
}
template <class T, bool SWAPS, class F> CALL void atomic_global(Warp& w, u32 id, u32 mask, const u64* a, const T* b, const T* c, T* old, F next) {
  if (!mask) return;
  const Global at = reach<sizeof(T)>(w, id, a, mask, true);
  count_global<sizeof(T)>(a, mask, at.row);
  take_all(w, id, a, mask, at.one_region);
  Launch& launch = *w.block->launch;
  EACH(mask) {
    const bool changes = update((u8*)a[l], b[l], c[l], &old[l], next);
    Region& one = at.one_region ? *launch.found[id].region : region_of(launch, a[l]);
    if (stamped(launch, one)) touch_update<SWAPS>(w, id, l, one, a[l], sizeof(T), changes);
  }
}
