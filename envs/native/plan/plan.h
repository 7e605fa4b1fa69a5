// Plays the plan of the case that it is asked for, step by step, on the tensors of a call.
//
// Tables that envs/plan/tables.py writes; a place is a tensor of the case's and a number of bytes into it.
#pragma once
#include <fcntl.h>
#include <kernelwright/move.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

constexpr int kNotLoadable = 65, kOutOfMemory = 67, kResultReused = 78;  // envs/referee/exit_codes.py

struct Place { uint32_t tensor; uint64_t offset; };
// Where the memory of a tensor comes from: who calls gives it, it is made for the call, or it is a result of a
// function (native/plan/call.h), or the answer has kept it since it was made, or since the first call, which made it
// or got it from a function; kOnce: it is made for the first call alone. From 0 on, it is another tensor's.
enum From { kGiven = -1, kNew = -2, kResult = -3, kConstant = -4, kKept = -5, kKeptResult = -6, kOnce = -7 };
// What is in it before the first call: bytes of the file of constants, one byte everywhere (-1), or what is there (-2).
// Once: a call finds what the one before has left there.
struct Constant { int64_t at; uint8_t fill; uint8_t* memory; };
struct Tensor { const char* name; uint64_t bytes; bool writable; int from; Constant* constant; };

struct Play;
struct Step { void (*play)(const void* what, Play& play, uint64_t number); const void* what; };
// A result of the first call, and its copy: no call may change it, as who called still has it.
struct Watched { Place at, copied; uint64_t bytes; };
// What is played in place of a case's steps when it is called for the first time.
struct First {
  uint32_t step_count;
  const Step* steps;
  const Place* results;
  bool called;
};
struct Case {
  uint32_t size_count, scalar_count, tensor_count, step_count, output_count;
  const int64_t* sizes;
  const double* scalars;
  const Tensor* tensors;
  const Step* steps;
  const Place *outputs, *results;  // where they belong, and where the plan leaves them
  const uint64_t* output_bytes;
  bool odd_memory;  // new memory has in it what the inputs decide
  First* first;
  uint32_t watched_count;
  const Watched* watched;
};
struct Play {
  const Case& one;
  uint8_t** tensors;
  uint64_t seed, spent;  // spent: instructions so far
  uint8_t* at(Place place) const { return tensors[place.tensor] + place.offset; }
};

struct Fill { Place at; uint64_t bytes; const uint8_t* pattern; uint32_t width; };
struct Copy { Place to, from; uint64_t bytes; };
struct Side { Place at; int64_t type; const int64_t* strides; };
struct Move { Side to, from; int64_t dim; const int64_t* sizes; };

static inline uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

// What memory that nobody set has in it, as it may have on a device: no number, a large one, a small one.
static inline int leftover(uint64_t seed) { return "\xff\x7f\xc7"[mixed(seed) % 3]; }

static inline void* room(size_t bytes) {
  void* made = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (!made) dprintf(2, "out of memory\n"), _exit(kOutOfMemory);
  return made;
}

static const uint8_t* constants() {
  static const uint8_t* found = nullptr;
  if (found) return found;
  const int file = open("/scratch/constants", O_RDONLY | O_CLOEXEC);
  const off_t bytes = lseek(file, 0, SEEK_END);
  void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (mapped == MAP_FAILED) dprintf(2, "no constants\n"), abort();
  close(file);
  return found = static_cast<const uint8_t*>(mapped);
}

static uint8_t* memory_of(Constant& one, uint64_t bytes) {
  if (one.memory) return one.memory;
  one.memory = static_cast<uint8_t*>(room(bytes));
  if (one.at < 0) memset(one.memory, one.fill, bytes);
  else memcpy(one.memory, constants() + one.at, bytes);
  return one.memory;
}

static void play_fill(const void* what, Play& play, uint64_t) {
  const Fill& one = *static_cast<const Fill*>(what);
  uint8_t* to = play.at(one.at);
  if (one.width == 1) return (void)memset(to, *one.pattern, one.bytes);
  for (uint64_t i = 0; i < one.bytes; ++i) to[i] = one.pattern[i % one.width];
}

static void play_copy(const void* what, Play& play, uint64_t) {
  const Copy& one = *static_cast<const Copy*>(what);
  memmove(play.at(one.to), play.at(one.from), one.bytes);
}

static void play_move(const void* what, Play& play, uint64_t) {
  const Move& one = *static_cast<const Move*>(what);
  kernelwright::move(one.dim, one.sizes, reinterpret_cast<char*>(play.at(one.to.at)), one.to.type, one.to.strides,
                     reinterpret_cast<const char*>(play.at(one.from.at)), one.from.type, one.from.strides);
}

// The order of blocks and warps follows from the inputs, which follow from the round's secret seed:
// a round that is played again is the same, and nobody can choose it.
static uint64_t seed_of(const Case& one, uint8_t* const* tensors) {
  uint64_t seed = 1;
  for (uint32_t i = 0; i < one.tensor_count; ++i) {
    if (one.tensors[i].writable || one.tensors[i].from != kGiven) continue;
    for (uint64_t at = 0, word; at + 8 <= one.tensors[i].bytes && at < 256; at += 8) memcpy(&word, tensors[i] + at, 8), seed = mixed(seed ^ word);
  }
  return seed;
}

// Set by a first call: what functions gave back in it is kept for later ones (native/plan/call.h).
static bool holds_results;

static void look_again(const Play& play) {
  for (uint32_t i = 0; i < play.one.watched_count; ++i) {
    const Watched& it = play.one.watched[i];
    if (!memcmp(play.at(it.at), play.at(it.copied), it.bytes)) continue;
    dprintf(2, "a later call changed what the first gave back\n");
    _exit(kResultReused);
  }
}

constexpr uint64_t kAlign = 512;

static uint8_t* aligned(void* made) {  // between two lie bytes of neither
  return static_cast<uint8_t*>(made) + kAlign - reinterpret_cast<uintptr_t>(made) % kAlign;
}

static void play(const Case& one, void* const* pointers) {
  const First* const first = one.first && !one.first->called ? one.first : nullptr;
  uint8_t** tensors = static_cast<uint8_t**>(room(one.tensor_count * sizeof(uint8_t*)));
  void** made = static_cast<void**>(room(one.tensor_count * sizeof(void*)));
  uint32_t given = 0, made_count = 0;
  for (uint32_t i = 0; i < one.tensor_count; ++i) {
    const Tensor& it = one.tensors[i];
    tensors[i] = nullptr;
    if (it.from == kGiven) tensors[i] = static_cast<uint8_t*>(pointers[given++]);
    if (it.from == kConstant) tensors[i] = memory_of(*it.constant, it.bytes);
    if (it.from == kKept || it.from == kKeptResult) tensors[i] = it.constant->memory;
    if (it.from == kNew || (first && it.from == kOnce)) tensors[i] = aligned(made[made_count++] = room(it.bytes + 2 * kAlign));
    if (first && it.from == kKept) tensors[i] = aligned(room(it.bytes + 2 * kAlign));
  }
  for (uint32_t i = 0; i < one.tensor_count; ++i)
    if (one.tensors[i].from >= 0) tensors[i] = tensors[one.tensors[i].from];
  const uint64_t seed = one.odd_memory ? seed_of(one, tensors) : 0;
  for (uint32_t i = 0; i < one.tensor_count && one.odd_memory; ++i) {
    const int from = one.tensors[i].from;
    if (from == kNew || (first && (from == kKept || from == kOnce))) memset(tensors[i], leftover(seed + i), one.tensors[i].bytes);
  }
  Play now = {one, tensors, seed, 0};
  const Step* const steps = first ? first->steps : one.steps;
  const Place* const results = first ? first->results : one.results;
  for (uint32_t i = 0, count = first ? first->step_count : one.step_count; i < count; ++i) steps[i].play(steps[i].what, now, mixed(seed + i));
  for (uint32_t i = 0; i < one.output_count; ++i)
    if (now.at(one.outputs[i]) != now.at(results[i])) memcpy(now.at(one.outputs[i]), now.at(results[i]), one.output_bytes[i]);
  look_again(now);
  for (uint32_t i = 0; i < one.tensor_count && first; ++i)
    if (one.tensors[i].from == kKept || one.tensors[i].from == kKeptResult) one.tensors[i].constant->memory = tensors[i];
  if (first) holds_results = one.first->called = true;
  for (uint32_t i = 0; i < made_count; ++i) free(made[i]);
  free(made), free(tensors);
}

static void play_case(const Case* cases, uint32_t count, void* const* pointers, const int64_t* sizes, const double* scalars) {
  for (uint32_t i = 0; i < count; ++i) {
    const Case& one = cases[i];
    const bool known = !one.scalar_count || !memcmp(one.scalars, scalars, one.scalar_count * sizeof *scalars);
    if (known && !memcmp(one.sizes, sizes, one.size_count * sizeof *sizes)) return play(one, pointers);
  }
  dprintf(2, "no plan for these sizes\n");
  abort();
}
