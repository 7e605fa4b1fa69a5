// Runs the host code of a CUDA answer once, without a device, to learn what it launches.
#pragma once

#include "player.h"
#include "recorder.h"

using DeviceCall = void (*)(void* const*, const int64_t*, const double*, void* stream);

// Tensors lie at addresses a GiB apart or more, in the order of the layout, where nothing is mapped.
[[noreturn]] inline void trace(const char* library, const char* layout_file, const char* parameters) {
  static char words[kMessageBytes];
  FILE* file = fopen(layout_file, "rb");
  if (!file || fread(words, 1, sizeof words, file) == 0) die(kBadUse, "layout");
  fclose(file);
  recorder::read_parameters(parameters);
  void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  const auto call = opened ? reinterpret_cast<DeviceCall>(dlsym(opened, "kernelwright_call")) : nullptr;
  if (!call) {
    dprintf(2, "jail: %s\n", dlerror());
    _exit(kNoKernel);
  }
  const Layout layout = read_layout(words);
  std::vector<void*> pointers;
  for (size_t i = 0; i < layout.input_offsets.size() + layout.output_offsets.size(); ++i) {
    pointers.push_back(reinterpret_cast<void*>(recorder::kFirstTensor + (static_cast<uint64_t>(i) << 36)));
  }
  call(pointers.data(), layout.sizes.data(), layout.scalars.data(), nullptr);
  dprintf(recorder::kChannel, "{\"done\":true}\n");
  _exit(0);
}
