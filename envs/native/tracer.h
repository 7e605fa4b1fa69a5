// Runs the host code of a CUDA answer three times, without a device, to learn what it launches (envs/plan/calls.py).
#pragma once

#include <fstream>

#include "player.h"
#include "recorder.h"

using DeviceCall = void (*)(void* const*, const int64_t*, const double*, void* stream);

inline std::string content(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  if (!file) die(kBadUse, path);
  return all.str();
}

// Tensors lie at addresses a GiB apart or more, in the order of the layout, where nothing is mapped; in the second
// call and the third elsewhere, but for the parameters, which are the last inputs: as many as the layout's end says.
[[noreturn]] inline void trace(const char* library, const char* layout_file, const char* kernels) {
  const std::string words = content(layout_file);
  recorder::read_kernels(content(kernels));
  void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  const auto call = opened ? reinterpret_cast<DeviceCall>(dlsym(opened, "kernelwright_call")) : nullptr;
  if (!call) {
    dprintf(2, "jail: %s\n", dlerror());
    _exit(kNoKernel);
  }
  const Layout layout = read_layout(words.data());
  const size_t inputs = layout.input_offsets.size(), count = inputs + layout.output_offsets.size();
  int64_t states;
  memcpy(&states, words.data() + words.size() - sizeof states, sizeof states);
  for (uint64_t later : {0, 1, 1}) {
    std::vector<void*> pointers;
    for (size_t i = 0; i < count; ++i) {
      const bool moves = i >= inputs || i < inputs - states;
      pointers.push_back(reinterpret_cast<void*>(recorder::kFirstTensor + ((i + moves * later * count) << 36)));
    }
    call(pointers.data(), layout.sizes.data(), layout.scalars.data(), nullptr);
    dprintf(recorder::kChannel, "{\"called\":true}\n");
  }
  dprintf(recorder::kChannel, "{\"done\":true}\n");
  _exit(0);
}
