// A CUDA runtime without a device: it writes down what a library launches, and computes nothing.
//
// Exported by the jail, or part of a library built for tracing, so that code built with `-cudart none`
// finds these functions. Each event is a line of JSON, on the channel unless the sink is another.
// Device memory is addresses that nobody may touch.
// Source of the signatures: CUDA 13 crt/host_runtime.h and cuda_runtime_api.h.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "pretended.h"

namespace recorder {

constexpr int kChannel = 3;
constexpr uint64_t kFirstTensor = 0x7f0000000000, kFirstNew = 0x7e0000000000, kPage = 4096;

struct Dim { unsigned x, y, z; };
struct Configuration { Dim grid, block; size_t shared; void* stream; };

// What a launch of a kernel has to keep to, and the sizes of its parameters.
struct Kernel {
  size_t threads = gpu::kThreads, block[3] = {}, registers = 0, shared = 0;  // a block of zeros: of any shape
  std::vector<size_t> parameters;
};

struct State {
  std::map<const void*, std::string> names;               // host stub → kernel
  std::map<const void*, std::string> symbols;             // host's own → variable of the device code
  std::map<std::string, Kernel> kernels;
  std::map<const void*, size_t> opted;                    // host stub → dynamic shared memory that it asked for
  int error = 0;                                          // of the last launch that a device would refuse
  std::vector<Configuration> configurations;
  uint64_t next_new = kFirstNew;
  void (*sink)(const char* line) = [](const char* line) { dprintf(kChannel, "%s\n", line); };
};
// A static of a function: kernels register themselves before other statics may be there. It is not
// `inline`: that would be one for all libraries of a process.
static State& state() {
  static State one;
  return one;
}

template <class... Parts> void tell(const Parts&... parts) {
  std::ostringstream line;
  (line << ... << parts);
  state().sink(line.str().c_str());
}

// Lines of `KERNEL THREADS X Y Z REGISTERS SHARED SIZE SIZE …`, as envs/plan/trace.py writes them.
inline void read_kernels(const std::string& lines) {
  std::istringstream all(lines);
  for (std::string line, name; std::getline(all, line);) {
    std::istringstream words(line);
    words >> name;
    Kernel& one = state().kernels[name] = {};  // a library may be loaded again
    words >> one.threads >> one.block[0] >> one.block[1] >> one.block[2] >> one.registers >> one.shared;
    for (size_t size; words >> size;) one.parameters.push_back(size);
  }
}

// Whether a device would take it: CUDA's limits are the same on all that code is built for.
inline bool possible(Dim grid, Dim block) {
  const bool some = grid.x && grid.y && grid.z && block.x && block.y && block.z;
  const bool fits = grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535 && block.x <= 1024 && block.y <= 1024 && block.z <= 64;
  return some && fits && block.x * block.y * block.z <= 1024;
}

// The most dynamic shared memory that a launch may ask for: 48 KB with what the kernel has itself, or what it was allowed.
inline size_t most_dynamic(const void* stub, const Kernel& kernel) {
  const size_t usual = kernel.shared < gpu::kShared ? gpu::kShared - kernel.shared : 0;
  const auto found = state().opted.find(stub);
  return found == state().opted.end() ? usual : std::max(usual, found->second);
}

struct Refusal { int code; std::string why; };

// Why a device would not launch it so; code 0 where it would.
inline Refusal refusal(const void* stub, const Kernel& kernel, Dim grid, Dim block, size_t shared) {
  const auto words = [](const auto&... parts) { std::ostringstream all; (all << ... << parts); return all.str(); };
  const size_t threads = size_t{block.x} * block.y * block.z, *const exact = kernel.block, most = most_dynamic(stub, kernel);
  if (!possible(grid, block))
    return {9, words("no launch is of ", grid.x, "x", grid.y, "x", grid.z, " blocks of ", block.x, "x", block.y, "x", block.z, " threads")};
  if (exact[0] && (block.x != exact[0] || block.y != exact[1] || block.z != exact[2]))
    return {1, words("its blocks are of ", exact[0], "x", exact[1], "x", exact[2], " threads")};
  if (threads > kernel.threads)
    return {701, words("a block of ", threads, " threads, of which its bounds and its ", kernel.registers, " registers allow ", kernel.threads)};
  if (shared > most) return {1, words(shared, " bytes of dynamic shared memory, of which it may ask for ", most)};
  return {0, ""};
}

inline std::string hexadecimal(const void* start, size_t bytes) {
  static const char* digits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    const unsigned char one = static_cast<const unsigned char*>(start)[i];
    text.append({digits[one >> 4], digits[one & 15]});
  }
  return text;
}

inline int launch(const void* stub, Dim grid, Dim block, void** arguments, size_t shared) {
  const auto found = state().names.find(stub);
  if (found == state().names.end()) return state().error = 98;  // cudaErrorInvalidDeviceFunction
  const Kernel& kernel = state().kernels[found->second];
  if (const Refusal no = refusal(stub, kernel, grid, block, shared); no.code) {
    tell("{\"refused\":\"", found->second.substr(0, 80), ": ", no.why, "\"}");
    return state().error = no.code;
  }
  std::string given;
  const std::vector<size_t>& sizes = kernel.parameters;
  for (size_t i = 0; i < sizes.size(); ++i) given += (i ? ",\"" : "\"") + hexadecimal(arguments[i], sizes[i]) + '"';
  tell("{\"kernel\":\"", found->second, "\",\"grid\":[", grid.x, ",", grid.y, ",", grid.z, "],\"block\":[", block.x, ",", block.y,
       ",", block.z, "],\"shared_bytes\":", shared, ",\"arguments\":[", given, "]}");
  return 0;
}

// The name and the text of an error that this runtime has.
inline std::pair<const char*, const char*> said(int error) {
  switch (error) {
    case 0: return {"cudaSuccess", "no error"};
    case 1: return {"cudaErrorInvalidValue", "invalid argument"};
    case 9: return {"cudaErrorInvalidConfiguration", "invalid configuration argument"};
    case 13: return {"cudaErrorInvalidSymbol", "invalid device symbol"};
    case 98: return {"cudaErrorInvalidDeviceFunction", "invalid device function"};
    case 701: return {"cudaErrorLaunchOutOfResources", "too many resources requested for launch"};
  }
  return {"cudaErrorUnknown", "unknown error"};
}

inline void allocated(const void* at, size_t bytes) {
  tell("{\"allocated\":", bytes, ",\"at\":", reinterpret_cast<uint64_t>(at), "}");
}

inline int allocate(void** at, size_t bytes) {
  *at = reinterpret_cast<void*>(state().next_new);
  allocated(*at, bytes);
  // At least a page lies between two buffers: the address one past an end is in the first alone.
  state().next_new += (bytes + kPage) / kPage * kPage + kPage;
  return 0;
}

inline void leave_out(const char* what) { tell("{\"left_out\":\"", what, "\"}"); }

// Bytes copied to a device: what the host has there is known, and part of the plan. `to` is JSON.
inline int copied(const std::string& to, const void* source, size_t bytes, int kind) {
  constexpr int kFromHost = 1, kWithinDevice = 3, kByAddress = 4;
  constexpr size_t kMost = 1 << 20;
  if (!bytes) return 0;
  if (kind == kFromHost && bytes <= kMost) tell("{\"copied\":", bytes, ",", to, ",\"hex\":\"", hexadecimal(source, bytes), "\"}");
  else if (kind == kWithinDevice || kind == kByAddress) tell("{\"copied\":", bytes, ",", to, ",\"from\":", reinterpret_cast<uint64_t>(source), "}");
  else leave_out("cudaMemcpy from or to the host");
  return 0;
}

}  // namespace recorder

RECORDED void** __cudaRegisterFatBinary(void*) { static void* handle; return &handle; }
RECORDED void __cudaRegisterFatBinaryEnd(void**) {}
RECORDED void __cudaUnregisterFatBinary(void**) {}
RECORDED char __cudaInitModule(void**) { return 1; }
RECORDED void __cudaRegisterVar(void**, char* own, char*, const char* name, int, size_t, int, int) { recorder::state().symbols[own] = name; }
RECORDED void __cudaRegisterFunction(void**, const char* stub, char*, const char* name, int, void*, void*, void*, void*, int*) {
  recorder::state().names[stub] = name;
}
RECORDED unsigned __cudaPushCallConfiguration(recorder::Dim grid, recorder::Dim block, size_t shared, void* stream) {
  recorder::state().configurations.push_back({grid, block, shared, stream});
  return 0;
}
RECORDED int __cudaPopCallConfiguration(recorder::Dim* grid, recorder::Dim* block, size_t* shared, void* stream) {
  if (recorder::state().configurations.empty()) return 9;  // cudaErrorInvalidConfiguration
  const recorder::Configuration last = recorder::state().configurations.back();
  recorder::state().configurations.pop_back();
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
// cudaLaunchConfig_t and cudaLaunchAttribute (driver_types.h). Blocks of a cluster, or of a grid, that wait for each
// other are not played; other attributes say when a launch may begin, which is in order here.
RECORDED int cudaLaunchKernelExC(const void* configuration, const void* stub, void** arguments) {
  struct Attribute { uint32_t id, unused, values[16]; };
  struct Config { recorder::Dim grid, block; size_t shared; void* stream; const Attribute* attributes; uint32_t count; } how;
  constexpr uint32_t kCooperative = 2, kClusterDimension = 4;
  memcpy(&how, configuration, sizeof how);
  for (uint32_t i = 0; i < how.count; ++i) {
    const Attribute& one = how.attributes[i];
    if (one.id == kCooperative && one.values[0]) recorder::leave_out("cudaLaunchAttributeCooperative");
    const bool cluster = one.id == kClusterDimension && uint64_t{one.values[0]} * one.values[1] * one.values[2] > 1;
    if (cluster) recorder::leave_out("cudaLaunchAttributeClusterDimension");
  }
  return recorder::launch(stub, how.grid, how.block, arguments, how.shared);
}
RECORDED int cudaLaunchCooperativeKernel(const void* stub, recorder::Dim grid, recorder::Dim block, void** arguments, size_t shared, void*) {
  recorder::leave_out("cudaLaunchCooperativeKernel");
  return recorder::launch(stub, grid, block, arguments, shared);
}
RECORDED int cudaMalloc(void** at, size_t bytes) { return recorder::allocate(at, bytes); }
RECORDED int cudaMallocAsync(void** at, size_t bytes, void*) { return recorder::allocate(at, bytes); }
RECORDED int cudaFree(void*) { return 0; }
RECORDED int cudaFreeAsync(void*, void*) { return 0; }
RECORDED int cudaMemsetAsync(void* at, int value, size_t bytes, void*) {
  recorder::tell("{\"set\":", value, ",\"at\":", reinterpret_cast<uint64_t>(at), ",\"bytes\":", bytes, "}");
  return 0;
}
RECORDED int cudaMemset(void* at, int value, size_t bytes) { return cudaMemsetAsync(at, value, bytes, nullptr); }
RECORDED int cudaMemcpyAsync(void* to, const void* source, size_t bytes, int kind, void*) {
  return recorder::copied("\"at\":" + std::to_string(reinterpret_cast<uint64_t>(to)), source, bytes, kind);
}
RECORDED int cudaMemcpy(void* to, const void* source, size_t bytes, int kind) { return cudaMemcpyAsync(to, source, bytes, kind, nullptr); }
RECORDED int cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t bytes, size_t offset, int kind, void*) {
  const auto found = recorder::state().symbols.find(symbol);
  if (found == recorder::state().symbols.end()) return 13;  // cudaErrorInvalidSymbol
  return recorder::copied("\"symbol\":\"" + found->second + "\",\"offset\":" + std::to_string(offset), source, bytes, kind);
}
RECORDED int cudaMemcpyToSymbol(const void* symbol, const void* source, size_t bytes, size_t offset, int kind) {
  return cudaMemcpyToSymbolAsync(symbol, source, bytes, offset, kind, nullptr);
}
// All streams are one here: the order of the calls is an order that several would allow.
RECORDED int cudaStreamCreate(void** stream) { *stream = nullptr; return 0; }
RECORDED int cudaStreamCreateWithFlags(void** stream, unsigned) { return cudaStreamCreate(stream); }
RECORDED int cudaStreamDestroy(void*) { return 0; }
RECORDED int cudaStreamWaitEvent(void*, void*, unsigned) { return 0; }
RECORDED int cudaEventCreate(void** event) { *event = nullptr; return 0; }
RECORDED int cudaEventCreateWithFlags(void** event, unsigned) { return cudaEventCreate(event); }
RECORDED int cudaEventRecord(void*, void*) { return 0; }
RECORDED int cudaEventSynchronize(void*) { return 0; }
RECORDED int cudaEventDestroy(void*) { return 0; }
RECORDED int cudaEventQuery(void*) { return 0; }
RECORDED int cudaEventElapsedTime(float* milliseconds, void*, void*) { *milliseconds = 0; return 0; }
RECORDED int cudaStreamQuery(void*) { return 0; }
RECORDED int cudaStreamIsCapturing(void*, int* status) { *status = 0; return 0; }
RECORDED int cudaStreamCreateWithPriority(void** stream, unsigned, int) { return cudaStreamCreate(stream); }
RECORDED int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) { *least = *greatest = 0; return 0; }
RECORDED int cudaRuntimeGetVersion(int* version) { *version = 12000; return 0; }
RECORDED int cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
RECORDED int cudaMemGetInfo(size_t* free, size_t* total) { *free = *total = recorder::gpu::kMemoryBytes; return 0; }
RECORDED int cudaPeekAtLastError() { return recorder::state().error; }
RECORDED int cudaGetLastError() { return std::exchange(recorder::state().error, 0); }
RECORDED const char* cudaGetErrorString(int error) { return recorder::said(error).second; }
RECORDED const char* cudaGetErrorName(int error) { return recorder::said(error).first; }
RECORDED int cudaDeviceSynchronize() { return 0; }
RECORDED int cudaStreamSynchronize(void*) { return 0; }
RECORDED int cudaGetDevice(int* device) { *device = 0; return 0; }
RECORDED int cudaGetDeviceCount(int* count) { *count = 1; return 0; }
RECORDED int cudaSetDevice(int) { return 0; }
RECORDED int cudaFuncSetCacheConfig(const void*, int) { return 0; }
RECORDED int cudaFuncSetAttribute(const void* kernel, int attribute, int value) {
  constexpr int kMostDynamicShared = 8;
  if (attribute != kMostDynamicShared) return 0;
  if (value < 0 || value > recorder::gpu::kSharedOptIn) return 1;  // cudaErrorInvalidValue
  recorder::state().opted[kernel] = value;
  return 0;
}
// By their numbers in driver_types.h; what is not here is 0.
RECORDED int cudaDeviceGetAttribute(int* value, int attribute, int) {
  using namespace recorder::gpu;
  static const std::map<int, int> alike = {  // in all devices: sizes of blocks and grids, of constants, one address space
      {2, kThreads}, {3, kThreads}, {4, 64}, {5, 0x7fffffff}, {6, 65535}, {7, 65535}, {9, 65536}, {12, kRegisters}, {41, 1}, {75, kMajor}, {76, kMinor}};
  const auto found = alike.find(attribute);
  *value = found == alike.end() ? 0 : found->second;
  for (const auto& [number, told] : kAttributes) *value = number == attribute ? told : *value;
  return 0;
}
RECORDED int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, size_t, unsigned) { *blocks = 1; return 0; }
// What properties.h asks: the most threads of a block, its registers, its own and its most dynamic shared memory.
RECORDED int kernelwright_kernel(const void* stub, size_t* four) {
  const auto found = recorder::state().names.find(stub);
  if (found == recorder::state().names.end()) return 98;  // cudaErrorInvalidDeviceFunction
  const recorder::Kernel& kernel = recorder::state().kernels[found->second];
  four[0] = kernel.threads, four[1] = kernel.registers, four[2] = kernel.shared, four[3] = recorder::most_dynamic(stub, kernel);
  return 0;
}
