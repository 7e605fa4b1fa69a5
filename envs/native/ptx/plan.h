// Plays the plan of the case that it is asked for: launches, fills and copies, on tensors of the call.
//
// Tables that envs/ptx/program.py writes; a place is a tensor of the case's and a number of bytes into it.
#pragma once
#include "lanes.h"

struct Place { u32 tensor; u64 offset; };
struct Argument { u32 offset, bytes; const u8* content; Place place; };  // without content: an address
enum What { kRun, kFill, kCopy };
struct Step {
  What what;
  const Kernel* kernel;
  u32 grid[3], block[3], shared_bytes, parameter_bytes, argument_count;
  const Argument* arguments;
  Place to, from;
  u64 bytes;
  const u8* pattern;
  u32 width;
};
struct Tensor { const char* name; u64 bytes; bool writable, given; };  // given: by the caller; else made anew
struct Case {
  u32 size_count, scalar_count, tensor_count, step_count, result_count;
  const s64* sizes;
  const double* scalars;
  const Tensor* tensors;
  const Step* steps;
  const Place *results_to, *results_from;
  const u64* result_bytes;
};
const u64 kAlign = 512;
const u32 kParameterBytes = 4096 + 256, kMostShared = 163 << 10;  // of an A100

alignas(64) static u8 parameters[kParameterBytes];

INLINE u64 address(u8* const* tensors, Place one) { return (u64)tensors[one.tensor] + one.offset; }

CALL void play_step(const Step& one, u8* const* tensors, const Region* regions, u32 region_count, u64 seed, u64& spent) {
  u8* to = (u8*)address(tensors, one.to);
  if (one.what == kFill) {
    for (u64 i = 0; i < one.bytes; ++i) to[i] = one.pattern[i % one.width];
    return;
  }
  if (one.what == kCopy) return (void)memmove(to, (const void*)address(tensors, one.from), one.bytes);
  memset(parameters, 0, sizeof parameters);
  for (u32 i = 0; i < one.argument_count; ++i) {
    const Argument& it = one.arguments[i];
    const u64 pointer = it.content ? 0 : address(tensors, it.place);
    memcpy(parameters + it.offset, it.content ? it.content : (const u8*)&pointer, it.bytes);
  }
  Launch launch = {};
  const Kernel& kernel = *(launch.kernel = one.kernel);
  for (int i = 0; i < 3; ++i) launch.grid[i] = one.grid[i], launch.block[i] = one.block[i];
  launch.shared_bytes = one.shared_bytes;
  if (kernel.shared_bytes + (u64)one.shared_bytes > kMostShared) {
    dprintf(2, "launch_failed: kernel %s wants %u bytes of shared memory, a block may have %u\n", kernel.name, kernel.shared_bytes + one.shared_bytes, kMostShared);
    _exit(kLaunchFailed);
  }
  launch.parameters = parameters, launch.parameter_bytes = one.parameter_bytes;
  launch.regions = regions, launch.region_count = region_count;
  launch.found = static_cast<Site*>(room(kernel.site_count * sizeof(Site)));
  for (u32 i = 0; i < kernel.site_count; ++i) launch.found[i] = Site();
  launch.seed = seed, launch.spent = spent;
  run_launch(launch);
  spent = launch.spent;
  free(launch.found);
}

// The order of blocks and warps follows from the inputs, which follow from the round's secret seed:
// a round that is played again is the same, and nobody can choose it.
CALL u64 seed_of(const Case& one, u8* const* tensors) {
  u64 seed = 1;
  for (u32 i = 0; i < one.tensor_count; ++i) {
    if (one.tensors[i].writable || !one.tensors[i].given) continue;
    for (u64 at = 0; at + 8 <= one.tensors[i].bytes && at < 256; at += 8) seed = mixed(seed ^ as<u64>(*(const u64*)(tensors[i] + at)));
  }
  return seed;
}

CALL void play(const Case& one, void* const* pointers, const Region* globals, u32 global_count) {
  u8** tensors = static_cast<u8**>(room((one.tensor_count + 1) * sizeof(u8*)));
  void** made = static_cast<void**>(room((one.tensor_count + 1) * sizeof(void*)));
  Region* regions = static_cast<Region*>(room((one.tensor_count + global_count + 1) * sizeof(Region)));
  u32 given = 0, made_count = 0;
  for (u32 i = 0; i < one.tensor_count; ++i) {
    const Tensor& it = one.tensors[i];
    if (it.given) tensors[i] = static_cast<u8*>(pointers[given++]);
    else {
      tensors[i] = static_cast<u8*>(made[made_count++] = room(it.bytes + 2 * kAlign));
      tensors[i] += kAlign - (u64)tensors[i] % kAlign;  // between two lie bytes of neither
    }
    regions[i] = {(u64)tensors[i], (u64)tensors[i] + it.bytes, it.name, it.writable};
  }
  memcpy(regions + one.tensor_count, globals, global_count * sizeof(Region));
  const u32 region_count = one.tensor_count + global_count + 1;
  regions[region_count - 1] = {(u64)parameters, (u64)parameters + sizeof parameters, "the parameters", false};
  u64 spent = 0;
  const u64 seed = seed_of(one, tensors);
  for (u32 i = 0; i < one.tensor_count; ++i)
    if (!one.tensors[i].given) memset(tensors[i], leftover(seed + i), one.tensors[i].bytes);
  for (u32 i = 0; i < one.step_count; ++i) play_step(one.steps[i], tensors, regions, region_count, mixed(seed + i), spent);
  for (u32 i = 0; i < one.result_count; ++i) {
    if (address(tensors, one.results_to[i]) != address(tensors, one.results_from[i]))
      memcpy((void*)address(tensors, one.results_to[i]), (const void*)address(tensors, one.results_from[i]), one.result_bytes[i]);
  }
  for (u32 i = 0; i < made_count; ++i) free(made[i]);
  free(made), free(tensors), free(regions);
}

CALL void play_case(const Case* cases, u32 count, void* const* pointers, const s64* sizes, const double* scalars, const Region* globals, u32 global_count) {
  for (u32 i = 0; i < count; ++i) {
    const Case& one = cases[i];
    if (!memcmp(one.sizes, sizes, one.size_count * sizeof(s64)) && !memcmp(one.scalars, scalars, one.scalar_count * sizeof(double)))
      return play(one, pointers, globals, global_count);
  }
  dprintf(2, "no plan for these sizes\n");
  abort();
}
