// A CUDA runtime without a device: it writes down what a library launches, and computes nothing.
//
// Exported by the jail, so that a library built with `-cudart none` finds these functions there. Each
// event is a line of JSON on the channel. Device memory is addresses that nobody may touch.
// Source of the signatures: CUDA 13 crt/host_runtime.h and cuda_runtime_api.h.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <map>
#include <string>
#include <vector>

namespace recorder {

constexpr int kChannel = 3;
constexpr uint64_t kFirstTensor = 0x7f0000000000, kFirstNew = 0x7e0000000000, kPage = 4096;

struct Dim { unsigned x, y, z; };
struct Configuration { Dim grid, block; size_t shared; void* stream; };

inline std::map<const void*, std::string> names;                // host stub → kernel
inline std::map<std::string, std::vector<size_t>> parameters;   // kernel → sizes of its parameters
inline std::vector<Configuration> configurations;
inline uint64_t next_new = kFirstNew;

// Lines of `KERNEL SIZE SIZE …`, read off the PTX by envs/dialects/cuda.py.
inline void read_parameters(const char* path) {
  FILE* file = fopen(path, "r");
  char word[1024];
  std::vector<size_t>* sizes = nullptr;
  while (file && fscanf(file, "%1023s", word) == 1) {
    char* end;
    const size_t size = strtoul(word, &end, 10);
    if (*end) sizes = &parameters[word];
    else if (sizes) sizes->push_back(size);
  }
  if (file) fclose(file);
}

// Whether a device would take it: CUDA's limits are the same on all that code is built for.
inline bool possible(Dim grid, Dim block) {
  const bool some = grid.x && grid.y && grid.z && block.x && block.y && block.z;
  const bool fits = grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535 && block.x <= 1024 && block.y <= 1024 && block.z <= 64;
  return some && fits && block.x * block.y * block.z <= 1024;
}

inline int launch(const void* kernel, Dim grid, Dim block, void** arguments, size_t shared) {
  const auto found = names.find(kernel);
  if (found == names.end()) return 98;  // cudaErrorInvalidDeviceFunction
  if (!possible(grid, block)) return 9;  // cudaErrorInvalidConfiguration
  std::string given;
  const std::vector<size_t>& sizes = parameters[found->second];
  for (size_t i = 0; i < sizes.size(); ++i) {
    given += i ? ",\"" : "\"";
    for (size_t at = 0; at < sizes[i]; ++at) {
      char two[3];
      snprintf(two, sizeof two, "%02x", static_cast<unsigned char*>(arguments[i])[at]);
      given += two;
    }
    given += '"';
  }
  dprintf(kChannel, "{\"kernel\":\"%s\",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"shared_bytes\":%zu,\"arguments\":[%s]}\n",
          found->second.c_str(), grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, given.c_str());
  return 0;
}

inline int allocate(void** at, size_t bytes) {
  *at = reinterpret_cast<void*>(next_new);
  dprintf(kChannel, "{\"allocated\":%zu,\"at\":%llu}\n", bytes, static_cast<unsigned long long>(next_new));
  next_new += (bytes + kPage) / kPage * kPage + kPage;
  return 0;
}

}  // namespace recorder

#define RECORDED extern "C" __attribute__((visibility("default"), used))

RECORDED void** __cudaRegisterFatBinary(void*) { static void* handle; return &handle; }
RECORDED void __cudaRegisterFatBinaryEnd(void**) {}
RECORDED void __cudaUnregisterFatBinary(void**) {}
RECORDED char __cudaInitModule(void**) { return 1; }
RECORDED void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
RECORDED void __cudaRegisterFunction(void**, const char* stub, char*, const char* name, int, void*, void*, void*, void*, int*) {
  recorder::names[stub] = name;
}
RECORDED unsigned __cudaPushCallConfiguration(recorder::Dim grid, recorder::Dim block, size_t shared, void* stream) {
  recorder::configurations.push_back({grid, block, shared, stream});
  return 0;
}
RECORDED int __cudaPopCallConfiguration(recorder::Dim* grid, recorder::Dim* block, size_t* shared, void* stream) {
  if (recorder::configurations.empty()) return 9;  // cudaErrorInvalidConfiguration
  const recorder::Configuration last = recorder::configurations.back();
  recorder::configurations.pop_back();
  *grid = last.grid, *block = last.block, *shared = last.shared, *static_cast<void**>(stream) = last.stream;
  return 0;
}
RECORDED int __cudaGetKernel(const void** kernel, const void* stub) { *kernel = stub; return 0; }
RECORDED int __cudaLaunchKernel(const void* kernel, recorder::Dim grid, recorder::Dim block, void** arguments, size_t shared, void*) {
  return recorder::launch(kernel, grid, block, arguments, shared);
}
RECORDED int cudaLaunchKernel(const void* stub, recorder::Dim grid, recorder::Dim block, void** arguments, size_t shared, void*) {
  return recorder::launch(stub, grid, block, arguments, shared);
}
RECORDED int cudaLaunchCooperativeKernel(const void* stub, recorder::Dim grid, recorder::Dim block, void** arguments, size_t shared, void*) {
  dprintf(recorder::kChannel, "{\"left_out\":\"cudaLaunchCooperativeKernel\"}\n");
  return recorder::launch(stub, grid, block, arguments, shared);
}
RECORDED int cudaMalloc(void** at, size_t bytes) { return recorder::allocate(at, bytes); }
RECORDED int cudaMallocAsync(void** at, size_t bytes, void*) { return recorder::allocate(at, bytes); }
RECORDED int cudaFree(void*) { return 0; }
RECORDED int cudaFreeAsync(void*, void*) { return 0; }
RECORDED int cudaMemsetAsync(void* at, int value, size_t bytes, void*) {
  dprintf(recorder::kChannel, "{\"set\":%d,\"at\":%llu,\"bytes\":%zu}\n", value, reinterpret_cast<unsigned long long>(at), bytes);
  return 0;
}
RECORDED int cudaMemset(void* at, int value, size_t bytes) { return cudaMemsetAsync(at, value, bytes, nullptr); }
RECORDED int cudaMemcpyAsync(void* to, const void* source, size_t bytes, int kind, void*) {
  constexpr int kWithinDevice = 3, kByAddress = 4;
  if (kind != kWithinDevice && kind != kByAddress) {
    dprintf(recorder::kChannel, "{\"left_out\":\"cudaMemcpy from or to the host\"}\n");
    return 0;
  }
  dprintf(recorder::kChannel, "{\"copied\":%zu,\"at\":%llu,\"from\":%llu}\n", bytes,
          reinterpret_cast<unsigned long long>(to), reinterpret_cast<unsigned long long>(source));
  return 0;
}
RECORDED int cudaMemcpy(void* to, const void* source, size_t bytes, int kind) { return cudaMemcpyAsync(to, source, bytes, kind, nullptr); }
RECORDED int cudaGetLastError() { return 0; }
RECORDED int cudaPeekAtLastError() { return 0; }
RECORDED const char* cudaGetErrorString(int) { return "no error"; }
RECORDED int cudaDeviceSynchronize() { return 0; }
RECORDED int cudaStreamSynchronize(void*) { return 0; }
RECORDED int cudaGetDevice(int* device) { *device = 0; return 0; }
RECORDED int cudaFuncSetAttribute(const void*, int, int) { return 0; }
RECORDED int cudaDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 16 ? 132 : attribute == 97 ? 232448 : 0;  // processors, shared memory of a block: an H100
  return 0;
}
RECORDED int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, size_t, unsigned) { *blocks = 1; return 0; }
