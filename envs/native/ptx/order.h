// What comes before what in global memory, in one launch: what a device keeps to, whatever order blocks have here.
//
// A warp's accesses between two events (a barrier, a fence, an atomic that saw another's) are a segment, a number
// that counts up over all launches. In a block barriers order them. Between blocks only this does: a fence, then a
// strong write; and a strong read of that. What an event hands over is a state; a block keeps those that it has taken.
// Lanes of one warp are in order, as instructions are. Where doubt is too dear to settle, accesses are in order.
#pragma once
#include "warp.h"

// What strong writes of a segment hand over: the block's segments before `base`, the warp's up to `until`, and more.
struct Handed { u32 first, block, base, until, taken; };
struct Taken { u32 segment, state, next, visit; };
const u32 kMostStates = 1 << 20, kMostVisits = 1 << 26, kLastSegment = 1u << 27, kOrdered = 1024;
struct Order {
  Handed* states;
  Taken* taken;
  u32 *stack, state_count, taken_count, visits, visit;
  const Block* ran;  // last
  struct { u32 segment, taken; } known[kOrdered];  // that were found to be in order
};
static Order order;
static u32 segments = 1;  // the next one

CALL void unchecked(Launch& launch) { launch.first_segment = ~0u; }
INLINE u32 fresh(Launch& launch) {
  const u32 first = segments;
  if (segments < kLastSegment) segments += launch.width;
  else unchecked(launch);
  return first;
}
INLINE u32 warp_of(const Launch& launch, u32 segment) { return (segment - launch.first_segment) % launch.width; }
// An array of the same kind, at least twice as long where it is full.
template <class T> CALL void grow(T*& array, u32 count) {
  if (count & (count - 1) || (count && count < 64)) return;
  array = static_cast<T*>(realloc(static_cast<void*>(array), (count ? 2 * (u64)count : 64) * sizeof(T)));
  if (!array) _exit(kOutOfMemory);
}
CALL void put_state(Block& b, u32 first, u32 base, u32 until) {
  if (!b.launch->kernel->publishes) return;
  if (order.state_count >= kMostStates) return unchecked(*b.launch);
  grow(order.states, order.state_count);
  order.states[order.state_count++] = {first, (u32)b.number(), base, until, b.taken};
}
// The latest state that a segment has.
CALL u32 state_of(u32 segment) {
  u32 low = 0, high = order.state_count;
  while (high - low > 1) {
    const u32 middle = (low + high) / 2;
    if (order.states[middle].first <= segment) low = middle;
    else high = middle;
  }
  return low;
}

CALL void order_begins(Launch& launch) {
  launch.first_segment = segments;
  order.state_count = order.visits = 0;
  order.taken_count = 1;  // the first one is none
  grow(order.taken, 0);
  memset(order.known, 0, sizeof order.known);
}
CALL void order_begins(Block& b) {
  b.taken = b.published = b.old_count = b.fenced = b.changed = 0;
  b.run = b.base = fresh(*b.launch);
  for (u32 i = 0; i < b.warp_count; ++i) {
    Warp& w = b.warps[i];
    w.segment = b.base + i, w.base = w.until = 0;
  }
  put_state(b, b.base, 0, 0);
  order_stops(b);
}
CALL void order_stops(Block& b) { b.run_end = segments, order.ran = &b; }
CALL void order_resumes(Block& b) {
  if (order.ran == &b) return;  // no other block did in between
  grow(b.old, b.old_count);
  b.old[b.old_count++] = {b.run, b.run_end};
  b.run = segments;
  put_state(b, segments, b.published, 0);
}
CALL void order_barrier(Block& b) {
  b.base = fresh(*b.launch);
  if (b.fenced) b.published = b.base;
  for (u32 i = 0; i < b.warp_count; ++i) {
    Warp& w = b.warps[i];
    w.segment = b.base + i;
    if (b.fenced) w.base = b.published, w.until = 0;
  }
  if (b.fenced || b.changed) put_state(b, b.base, b.published, 0);
  b.fenced = b.changed = 0;
}
// A fence: what the warp did and knows is what its next strong writes hand over.
CALL void publish(Warp& w) {
  Block& b = *w.block;
  if (!b.launch->kernel->publishes) return;
  w.base = b.base, w.until = w.segment;
  const u32 first = fresh(*b.launch);
  w.segment = first + w.number;
  put_state(b, first, w.base, w.until);
  b.fenced = b.changed = 1;
}
// A strong read of what a segment wrote in a strong way; true if that hands anything over.
INLINE bool take(Warp& w, u32 segment) {
  Block& b = *w.block;
  if (segment < b.launch->first_segment || segment == w.segment) return false;
  if (b.taken && order.taken[b.taken].segment == segment) return false;
  const u32 number = state_of(segment);
  const Handed& state = order.states[number];
  if (!state.base && !state.until && !state.taken) return false;
  if (order.taken_count >= kMostStates) return unchecked(*b.launch), false;
  grow(order.taken, order.taken_count);
  order.taken[order.taken_count] = {segment, number, b.taken, 0};
  b.taken = order.taken_count++;
  return true;
}
// After a warp has taken something: its next segment knows.
CALL void taken(Warp& w) {
  Block& b = *w.block;
  const u32 first = fresh(*b.launch);
  w.segment = first + w.number;
  put_state(b, first, w.base, w.until);
  b.changed = 1;
}

INLINE bool is_own(const Block& b, u32 segment) {
  if (segment >= b.run) return true;
  for (u32 i = 0; i < b.old_count; ++i)
    if (segment >= b.old[i].first && segment < b.old[i].end) return true;
  return false;
}
// Whether all that the block does from now on comes after a segment of another warp.
CALL bool comes_after(Block& b, u32 segment, bool strong) {
  Launch& launch = *b.launch;
  if (!b.taken) return false;
  auto& known = order.known[(segment ^ segment >> 10) % kOrdered];
  if (known.segment == segment && known.taken == b.taken) return true;
  const u32 block = order.states[state_of(segment)].block, warp = warp_of(launch, segment), visit = ++order.visit;
  u32 depth = 0;
  grow(order.stack, 0);
  order.stack[depth++] = b.taken;
  while (depth) {
    for (u32 at = order.stack[--depth]; at && order.taken[at].visit != visit; at = order.taken[at].next) {
      Taken& one = order.taken[at];
      one.visit = visit;
      const Handed& state = order.states[one.state];
      const bool covered = state.block == block && (segment < state.base || (warp == warp_of(launch, one.segment) && segment <= state.until));
      if (covered || (strong && segment == one.segment) || ++order.visits > kMostVisits) {
        known = {segment, b.taken};
        return true;
      }
      if (!state.taken || order.taken[state.taken].visit == visit) continue;
      grow(order.stack, depth);
      order.stack[depth++] = state.taken;
    }
  }
  return false;
}
