// A launch as warps of 32 lanes, side by side: what is known of them, faults, and who runs when.
//
// Holds: every access is inside what the launch may touch, an endless loop ends. Does not hold:
// that a warning means a fault on a device, or its absence none.
#pragma once
#include <initializer_list>

#include "numbers.h"
#include "plan.h"

// Stated again in envs/referee/exit_codes.py.
enum Fault {
  kIllegalAddress = 90, kMisaligned = 91, kSharedBounds = 92, kLocalBounds = 93, kRace = 94, kBarrierDivergence = 95,
  kTrap = 96, kTooLong = 97, kInputWritten = 98, kMissingWait = 99, kLaunchFailed = 100
};
const char* const kFaultNames[] = {
    "illegal_address", "misaligned_address", "shared_out_of_bounds", "local_out_of_bounds", "race", "barrier_divergence",
    "trap", "instruction_limit", "inputs_changed", "missing_wait", "launch_failed"};

// Addresses that any instruction understands: memory of other kinds lies in windows of its own.
const u64 kSharedWindow = 0x7ffe000000000000ull, kLocalWindow = 0x7ffd000000000000ull, kWindow = 1ull << 32;
INLINE bool in_shared(u64 a) { return a - kSharedWindow < kWindow; }
INLINE bool in_local(u64 a) { return a - kLocalWindow < kWindow; }
INLINE bool in_global(u64 a) { return !in_shared(a) && !in_local(a); }
INLINE bool in_const(u64) { return false; }
INLINE bool in_param(u64) { return false; }

// `written`, `read`: who touched a unit of it last (global.h), from when a launch first does.
struct Region { u64 low, high; const char* name; bool writable; u32 *written, *read; bool is_written, is_read; };
struct Site { u64 low = 1, high = 0; bool writable = false; Region* region = nullptr; };  // that answered last

struct Block;
struct Warp;
struct Kernel {
  const char* name;
  int (*run)(Warp&, Block&);
  const char* const* sites;
  u32 site_count, register_bytes, local_bytes, shared_bytes, shared_unit, global_unit;
  bool weak_order, weak_global;  // whether warps of a block may agree in ways that no barrier, or order.h, shows
  bool publishes, replicates;  // has fences between blocks; several warps compute what one of them stores
};

struct Launch {
  const Kernel* kernel;
  u32 grid[3], block[3], shared_bytes;
  const u8* parameters;
  u32 parameter_bytes;
  Region* regions;
  u32 region_count;
  Site* found;
  u64 seed;
  u64 spent;  // instructions of warps
  u32 warned;
  u32 first_segment, width, unit_shift;  // of global memory (order.h): width segments at a time
};

struct Async { u64 from; u32 to, bytes, copied, lane, site, group; };
struct Warp {
  Block* block;
  u32 number, alive, blocked, mask, local_bytes;
  u32 barrier, votes;  // which it waits at, and whether that counts predicates
  u32 segment, base, until;  // of global memory (order.h): now; what a strong write hands over
  u64 turns;
  alignas(64) u32 on[32];
  alignas(64) u32 at[32];  // the basic block that a lane is at
  alignas(64) u32 tid_x[32], tid_y[32], tid_z[32];
  u8 *registers, *local;
  Async* copies;
  u32 copy_count, copy_room, groups;  // groups: committed so far
  template <class T> T& as_registers() { return *reinterpret_cast<T*>(registers); }
  void choose(u32 now) {
    mask = now;
    LANES on[l] = now >> l & 1;
  }
};

// Who touched a unit of shared memory last, as epoch << kEpoch | warp, with what else is known of it: several warps
// did, or an atomic. A barrier starts an epoch.
struct Shadow { u32 *written, *read; };
const u32 kEpoch = 7, kMany = 32, kAtomic = 64, kPending = ~0u;

// Segments in which a block ran before others did.
struct Span { u32 first, end; };
// What `bar.red` counts, by the epoch that the barrier ends.
struct Vote { u32 epoch, yes, asked; };
struct Block {
  Launch* launch;
  u32 index[3];
  u8* shared;
  u64 shared_bytes;
  Shadow shadow;
  u32 unit_shift;  // a unit's bytes, as a power of two
  u32 epoch, first_epoch;
  u32 run, run_end, base, published, taken;  // of global memory (order.h)
  u32 fenced, changed, old_count;
  Span* old;
  u64 unset;  // what is in registers that nobody set
  u32 warp_count;
  Warp* warps;
  Vote votes[2];
  u64 number() const { return index[0] + (u64)launch->grid[0] * (index[1] + (u64)launch->grid[1] * index[2]); }
};

CALL void describe(const char* what, const Block& b, u32 site, u32 lane, u32 warp, u64 address) {
  const Kernel& kernel = *b.launch->kernel;
  const u32 thread = warp * 32 + lane, *size = b.launch->block;
  dprintf(2, "%s: kernel %s, block (%u, %u, %u), thread (%u, %u, %u), lane %u of warp %u", what, kernel.name, b.index[0], b.index[1],
          b.index[2], thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1], lane, warp);
  if (site < kernel.site_count) dprintf(2, ", at `%s`", kernel.sites[site]);
  if (address && in_shared(address)) dprintf(2, ", byte %llu of %llu shared ones", (unsigned long long)(address - kSharedWindow), (unsigned long long)b.shared_bytes);
  const Region* near = nullptr;
  for (u32 i = 0; address && in_global(address) && i < b.launch->region_count; ++i) {
    const Region& one = b.launch->regions[i];
    const u64 reach = 1 << 20;
    const bool close = address + reach >= one.low && address < one.high + reach;
    const auto away = [&](const Region& it) { return address < it.low ? it.low - address : address < it.high ? 0 : address - it.high; };
    if (close && (!near || away(one) < away(*near))) near = &one;
  }
  if (near) dprintf(2, ", byte %lld of %s, which has %llu", (long long)(address - near->low), near->name, (unsigned long long)(near->high - near->low));
  else if (address && in_global(address)) dprintf(2, ", address %#llx", (unsigned long long)address);
  dprintf(2, "\n");
}
[[noreturn]] CALL void fail(Fault why, const Block& b, u32 site, u32 lane, u32 warp, u64 address) {
  describe(kFaultNames[why - kIllegalAddress], b, site, lane, warp, address);
  _exit(why);
}
// What need not be wrong, told once a launch; the referee reads it when something is (envs/referee/reasons.py).
enum Warning { kUninitialised = 1, kMaybeRace = 2, kIdleLane = 4, kDiverged = 8, kTwoBarriers = 16 };
const char* const kWarningNames[] = {
    "warning: uninitialised_shared", "warning: possible_race", "warning: shuffle_from_an_idle_lane",
    "warning: diverged_warp_operation", "warning: warps_at_two_barriers"};
CALL void warn(Warning what, Block& b, u32 site, u32 lane, u32 warp, u64 address) {
  if (b.launch->warned & what) return;
  b.launch->warned |= what;
  describe(kWarningNames[__builtin_ctz(what)], b, site, lane, warp, address);
}

INLINE u32 taken(const u32* p) {
  u32 found = 0;
  for (int l = 0; l < 32; ++l) found |= (p[l] & 1) << l;
  return found;
}
template <class T> INLINE T parameter(const Block& b, u64 at) {
  T found = 0;
  const u64 offset = at - (u64)b.launch->parameters;
  if (offset < 1 << 16 && offset + sizeof(T) <= b.launch->parameter_bytes) memcpy(&found, b.launch->parameters + offset, sizeof(T));
  return found;
}

// ---- who runs when -------------------------------------------------------------------------
enum State { kDone, kAtBarrier, kYielded };
const u64 kTurns = 20'000;  // jumps back before a warp lets others go on
const u64 kMostInstructions = 150'000'000;  // of warps, in one call: some seconds

// The lanes that go on from the lowest basic block; those that wait for others in a warp come last.
INLINE u32 next_block(Warp& w, u32 ready, const u8* meets) {
  const u32 kLast = 1u << 20;
  u32 best = ~0u;
  // Now and then the highest, for a lane may spin for its neighbour; never one that others should reach first.
  const bool odd = (++w.turns & 4095) == 0;
  EACH(ready) {
    const u32 at = w.at[l], key = meets[at] ? at + kLast : odd ? kLast - 1 - at : at;
    best = key < best ? key : best;
  }
  best = best >= kLast ? best - kLast : odd ? kLast - 1 - best : best;
  u32 mask = 0;
  EACH(ready) mask |= (u32)(w.at[l] == best) << l;
  w.choose(mask);
  return best;
}

CALL void order_begins(Block& b);
CALL void order_resumes(Block& b);
CALL void order_stops(Block& b);
CALL void order_barrier(Block& b);

CALL Block* make_block(Launch& launch, u32 threads) {
  const Kernel& kernel = *launch.kernel;
  Block* b = static_cast<Block*>(room(sizeof(Block)));
  memset(static_cast<void*>(b), 0, sizeof *b);
  b->launch = &launch;
  b->shared_bytes = (u64)kernel.shared_bytes + launch.shared_bytes;
  b->shared = static_cast<u8*>(room(b->shared_bytes + 64));
  b->unit_shift = __builtin_ctz(kernel.shared_unit);
  const size_t units = (b->shared_bytes >> b->unit_shift) + 40;
  for (u32** part : {&b->shadow.written, &b->shadow.read}) {
    *part = static_cast<u32*>(room(units * 4));
    memset(*part, 0, units * 4);
  }
  b->warp_count = (threads + 31) / 32;
  b->warps = static_cast<Warp*>(room(b->warp_count * sizeof(Warp)));
  for (u32 i = 0; i < b->warp_count; ++i) {
    Warp& w = b->warps[i];
    memset(static_cast<void*>(&w), 0, sizeof w);
    w.block = b;
    w.number = i;
    w.local_bytes = kernel.local_bytes;
    w.registers = static_cast<u8*>(room(kernel.register_bytes));
    w.local = static_cast<u8*>(room((size_t)32 * kernel.local_bytes));
    for (u32 l = 0; l < 32; ++l) {
      const u32 t = i * 32 + l;
      w.tid_x[l] = t % launch.block[0];
      w.tid_y[l] = t / launch.block[0] % launch.block[1];
      w.tid_z[l] = t / launch.block[0] / launch.block[1];
    }
  }
  return b;
}
CALL void begin(Block& b, u64 number, u32 threads) {
  const u32* grid = b.launch->grid;
  b.index[0] = number % grid[0], b.index[1] = number / grid[0] % grid[1], b.index[2] = number / grid[0] / grid[1];
  b.first_epoch = ++b.epoch;
  if (b.epoch > 1u << 20) {  // stamps would run into each other
    const size_t units = (b.shared_bytes >> b.unit_shift) + 40;
    for (u32* part : {b.shadow.written, b.shadow.read}) memset(part, 0, units * 4);
    b.epoch = b.first_epoch = 1;
  }
  const int left = leftover(b.launch->seed + number);
  memset(b.shared, left, b.shared_bytes);
  memset(&b.unset, left, sizeof b.unset);
  for (u32 i = 0; i < b.warp_count; ++i) {
    Warp& w = b.warps[i];
    const u32 some = threads - i * 32 < 32 ? threads - i * 32 : 32;
    w.alive = some == 32 ? ~0u : (1u << some) - 1;
    w.blocked = w.copy_count = w.groups = 0;
    memset(w.at, 0, sizeof w.at);
  }
  order_begins(b);
}

// Runs a block until it is done, or until all that could go on have had a turn: true when it is done.
CALL bool run_block(Block& b) {
  const Kernel& kernel = *b.launch->kernel;
  for (;;) {
    bool any = false, yielded = false;
    const u64 chosen = mixed(b.launch->seed + b.number());
    const u32 first = (u32)(chosen % b.warp_count), step = chosen >> 63 ? 1 : b.warp_count - 1;  // on or back
    for (u32 i = 0; i < b.warp_count; ++i) {
      Warp& w = b.warps[(first + i * step) % b.warp_count];
      if (!w.alive || w.blocked == w.alive) continue;
      any = true;
      yielded |= kernel.run(w, b) == kYielded;
      if (b.launch->spent > kMostInstructions) fail(kTooLong, b, ~0u, 0, w.number, 0);
    }
    if (yielded) return false;
    if (any) continue;
    const Warp* before = nullptr;
    for (u32 i = 0; i < b.warp_count; ++i) {
      Warp& w = b.warps[i];
      if (!w.alive) continue;
      // A barrier is its number, wherever it stands, to a device; what counts predicates is another kind.
      if (before && w.votes != before->votes) fail(kBarrierDivergence, b, w.barrier, __builtin_ctz(w.alive), i, 0);
      if (before && w.barrier != before->barrier) warn(kTwoBarriers, b, w.barrier, __builtin_ctz(w.alive), i, 0);
      before = &w;
    }
    if (!before) return true;
    for (u32 i = 0; i < b.warp_count; ++i) b.warps[i].blocked = 0;
    ++b.epoch, order_barrier(b);
  }
}

// All blocks, in an order that the seed decides; one that waits for another lets it begin.
CALL void run_launch(Launch& launch) {
  const u32 threads = launch.block[0] * launch.block[1] * launch.block[2];
  const u64 total = (u64)launch.grid[0] * launch.grid[1] * launch.grid[2];
  const u32 kMost = 256;
  Block* resident[kMost];
  Block* idle[kMost];
  u32 count = 0, free_ones = 0;
  u64 step = total > 2 ? mixed(launch.seed) % total : 1, begun = 0;
  const auto divisor = [](u64 a, u64 b) { while (b) { const u64 c = a % b; a = b, b = c; } return a; };
  while (divisor(step ? step : total, total) != 1 && total > 1) step = (step + 1) % total;
  const u64 start = mixed(launch.seed + 1) % total;
  while (begun < total || count) {
    if (begun < total && count < kMost) {
      if (!free_ones) idle[free_ones++] = make_block(launch, threads);
      Block* b = idle[--free_ones];
      begin(*b, (start + (u128)begun++ * step) % total, threads);
      resident[count++] = b;
    }
    for (u32 i = 0; i < count;) {
      Block& b = *resident[i];
      order_resumes(b);
      const bool done = run_block(b);
      order_stops(b);
      if (done) {
        idle[free_ones++] = resident[i];
        resident[i] = resident[--count];
      } else ++i;
    }
  }
  for (u32 i = 0; i < free_ones; ++i) {
    Block* b = idle[i];
    for (u32 j = 0; j < b->warp_count; ++j) free(b->warps[j].registers), free(b->warps[j].local), free(b->warps[j].copies);
    free(b->old);
    for (void* part : {(void*)b->warps, (void*)b->shadow.written, (void*)b->shadow.read, (void*)b->shared, (void*)b}) free(part);
  }
}
