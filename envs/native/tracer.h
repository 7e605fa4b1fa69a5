// Runs the host code of a CUDA answer once, without a device, to learn what it launches.
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

// Tensors lie at addresses a GiB apart or more, in the order of the layout, where nothing is mapped.
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
  std::vector<void*> pointers;
  for (size_t i = 0; i < layout.input_offsets.size() + layout.output_offsets.size(); ++i) {
    pointers.push_back(reinterpret_cast<void*>(recorder::kFirstTensor + (static_cast<uint64_t>(i) << 36)));
  }
  call(pointers.data(), layout.sizes.data(), layout.scalars.data(), nullptr);
  dprintf(recorder::kChannel, "{\"done\":true}\n");
  _exit(0);
}
