// One step of a plan (native/plan/plan.h): a launch of translated device code.
//
// Regions of variables are the program's: `globals`, `global_count` (envs/ptx/program.py).
#pragma once
#include "fragments.h"

struct Parameter { u32 offset, bytes; const u8* content; Place place; };  // without content: an address
struct Run {
  const Kernel* kernel;
  u32 grid[3], block[3], shared_bytes, parameter_bytes, argument_count;
  const Parameter* arguments;
};
const u32 kBlockCosts = 8;  // instructions: what it takes to begin and end one
const u32 kParameterBytes = 4096 + 256, kMostShared = 163 << 10;  // of an A100

alignas(64) static u8 parameters[kParameterBytes];
extern const Region globals[];
extern const u32 global_count;

CALL Region* regions_of(const Play& play, u32& count) {
  const u32 tensors = play.one.tensor_count;
  Region* all = static_cast<Region*>(room((tensors + global_count + 1) * sizeof(Region)));
  for (u32 i = 0; i < tensors; ++i) {
    const Tensor& it = play.one.tensors[i];
    const u64 at = (u64)play.tensors[i];  // nowhere: what a call will give back
    all[i] = {at, at ? at + it.bytes : 0, it.name, it.writable, nullptr, nullptr, false, false};
  }
  memcpy(all + tensors, globals, global_count * sizeof(Region));
  count = tensors + global_count + 1;
  all[count - 1] = {(u64)parameters, (u64)parameters + sizeof parameters, "the parameters", false, nullptr, nullptr, false, false};
  return all;
}

CALL void play_run(const void* what, Play& play, u64 seed) {
  const Run& one = *static_cast<const Run*>(what);
  memset(parameters, 0, sizeof parameters);
  for (u32 i = 0; i < one.argument_count; ++i) {
    const Parameter& it = one.arguments[i];
    const u64 pointer = it.content ? 0 : (u64)play.at(it.place);
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
  const u64 blocks = (u64)one.grid[0] * one.grid[1] * one.grid[2];
  const u64 warps = (one.block[0] * one.block[1] * one.block[2] + 31) / 32;
  if (blocks > kMostInstructions / (kBlockCosts + warps)) {
    dprintf(2, "instruction_limit: kernel %s is launched with %llu blocks\n", kernel.name, (unsigned long long)blocks);
    _exit(kTooLong);
  }
  launch.parameters = parameters, launch.parameter_bytes = one.parameter_bytes;
  launch.regions = regions_of(play, launch.region_count);
  launch.found = static_cast<Site*>(room(kernel.site_count * sizeof(Site)));
  for (u32 i = 0; i < kernel.site_count; ++i) launch.found[i] = Site();
  launch.seed = seed, launch.spent = play.spent + blocks * kBlockCosts;
  launch.width = (one.block[0] * one.block[1] * one.block[2] + 31) / 32, launch.unit_shift = __builtin_ctz(kernel.global_unit);
  begin_stamps(launch);
  run_launch(launch);
  play.spent = launch.spent;
  free(launch.found), free(launch.regions);
}
