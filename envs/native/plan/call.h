// One step of a plan (plan.h): a call of a function that an answer wrote in C++, in a library of its own.
//
// It is called as it was when the plan was written down, on other numbers: what it gives back has to
// lie where it lay then. Memory for an output is lent to it, so that nothing is copied.
#pragma once
#include <dlfcn.h>
#include <kernelwright/value.h>

#include "plan.h"

constexpr int kOtherResult = 77;  // envs/referee/exit_codes.py

struct View { Place at; kernelwright::Wire wire; };  // without its storage, which is where `at` is
struct Argument { int64_t kind, number; const View* views; const void* content; };
// `tensor`: whose memory the result brings with it, -1 where it lies in one that is there already.
struct Result { int64_t kind; View view; int32_t tensor; };
// An output's place, for the memory of a result. It is lent once a round has shown that the function makes this
// memory for each call, and keeps nothing: what it makes once and keeps would lie in an output.
struct Lent { int64_t made; Place output; int64_t bytes; uint32_t result; bool proven; };
struct Library { const char* path; kernelwright::Named named; kernelwright::Begin begin; kernelwright::Released released; };
struct Call {
  Library* library;
  const char* function;
  uint32_t argument_count, result_count, lent_count;
  const Argument* arguments;
  const Result* results;
  Lent* lent;
};

namespace calling {

constexpr uint32_t kMostArguments = 64, kMostViews = 256, kMostResults = 64, kMostLent = 64, kMostKept = 16384;
constexpr int kErrorBytes = 2048;

// Results live until the round ends, with the libraries that free them; the first `held` of them for good.
struct Kept { Library* library; kernelwright::Value value; Lent* lent; };
static Kept kept[kMostKept];
static uint32_t kept_count, held;

[[noreturn]] static void end(int code, const char* what, const char* function) {
  dprintf(2, "%s: %s\n", function, what);
  _exit(code);
}

static void open(Library& one) {
  if (one.named) return;
  void* opened = dlopen(one.path, RTLD_NOW | RTLD_LOCAL);
  if (!opened) end(kNotLoadable, dlerror(), one.path);
  one.named = reinterpret_cast<kernelwright::Named>(dlsym(opened, "kernelwright_named"));
  one.begin = reinterpret_cast<kernelwright::Begin>(dlsym(opened, "kernelwright_begin"));
  one.released = reinterpret_cast<kernelwright::Released>(dlsym(opened, "kernelwright_released"));
  if (!one.named || !one.begin || !one.released) end(kNotLoadable, "it does not say what Python may call", one.path);
}

static kernelwright::Wire placed(const View& one, const Play& play) {
  kernelwright::Wire wire = one.wire;
  if (wire.dim >= 0) wire.storage = play.at(one.at);
  return wire;
}

static bool as_before(const Result& one, const kernelwright::Value& found, Play& play) {
  if (found.kind != one.kind) return false;
  if (one.kind != kernelwright::kTensor) return true;
  const kernelwright::Wire &now = *static_cast<const kernelwright::Wire*>(found.pointer), &then = one.view.wire;
  const size_t dims = then.dim * sizeof(int64_t);
  const bool same = now.bytes == then.bytes && now.type == then.type && now.offset == then.offset && now.dim == then.dim &&
                    !memcmp(now.sizes, then.sizes, dims) && !memcmp(now.strides, then.strides, dims);
  if (same && one.tensor >= 0) play.tensors[one.tensor] = static_cast<uint8_t*>(now.storage);
  return same && now.storage == play.at(one.view.at);
}

}  // namespace calling

static void play_call(const void* what, Play& play, uint64_t) {
  using namespace calling;
  const Call& one = *static_cast<const Call*>(what);
  open(*one.library);
  kernelwright::Room rooms[kMostLent] = {};
  for (uint32_t i = 0; i < one.lent_count; ++i)
    if (one.lent[i].proven) rooms[one.lent[i].made] = {play.at(one.lent[i].output), one.lent[i].bytes};
  kernelwright::Wire views[kMostViews];
  kernelwright::Value values[kMostArguments], results[kMostResults];
  uint32_t used = 0;
  for (uint32_t i = 0; i < one.argument_count; ++i) {
    const Argument& it = one.arguments[i];
    values[i] = {it.kind, it.number, const_cast<void*>(it.content)};
    if (!it.views) continue;
    values[i].pointer = views + used;
    const int64_t count = it.kind == kernelwright::kTensors ? it.number : 1;
    for (int64_t j = 0; j < count; ++j) views[used++] = placed(it.views[j], play);
  }
  char error[kErrorBytes] = "";
  one.library->begin(rooms, one.lent_count ? kMostLent : 0);
  int64_t count = one.library->named(one.function, values, one.argument_count, results, kMostResults, error, sizeof error);
  one.library->begin(nullptr, 0);
  if (count == kernelwright::kNoMemory) end(kOutOfMemory, error, one.function);
  if (count < 0) end(1, error, one.function);
  count %= kernelwright::kSequence;
  if (kept_count + count > kMostKept) end(kOutOfMemory, "too many results", one.function);
  bool same = count == one.result_count;
  for (int64_t i = 0; i < count; ++i) {
    kept[kept_count++] = {one.library, results[i], nullptr};
    same = same && as_before(one.results[i], results[i], play);
  }
  for (uint32_t i = 0; i < one.lent_count && same; ++i) {
    Lent& it = one.lent[i];
    it.proven = static_cast<const kernelwright::Wire*>(results[it.result].pointer)->made == it.made;
    kept[kept_count - count + it.result].lent = &it;
  }
  if (!same) end(kOtherResult, "it gave back something else than it did for other inputs", one.function);
}

// After the last step of a round, whose outputs are nobody's to write to any more.
static void end_round(const Library* libraries, uint32_t count) {
  using namespace calling;
  if (holds_results) held = kept_count, holds_results = false;
  while (kept_count > held) {
    const Kept& one = kept[--kept_count];
    const bool survives = one.library->released(&one.value, 1) >= kernelwright::kSequence;
    if (one.lent && survives) one.lent->proven = false;
  }
  for (uint32_t i = 0; i < count; ++i)
    if (libraries[i].named && libraries[i].released(nullptr, 0)) end(kOtherResult, "it keeps a tensor that it gave back", libraries[i].path);
}
