// CUDA's runtime on ordinary memory, as far as host code of answers uses it: a launch is a call of the function with the
// kernel's name in a library of translated PTX (tests/ptx_device.py), and everything has happened when it returns.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#include <string>
#include <unordered_map>
#include <vector>

struct Dim { unsigned x, y, z; };
struct Configuration { Dim grid, block; size_t shared; void* stream; };
using Kernel = int (*)(const unsigned* shape, void** arguments);

static std::unordered_map<const void*, std::string>& names() {
  static std::unordered_map<const void*, std::string> all;
  return all;
}
static std::vector<Configuration> configurations;
static void* device;
static int failed;

extern "C" {
void use_device(const char* path) { device = dlopen(path, RTLD_NOW); }
int launch_failures() { return failed; }

void** __cudaRegisterFatBinary(void*) { static void* handle; return &handle; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void**, const char* stub, char*, const char* name, int, void*, void*, void*, void*, int*) {
  names()[stub] = name;
}
unsigned __cudaPushCallConfiguration(Dim grid, Dim block, size_t shared, void* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
int __cudaPopCallConfiguration(Dim* grid, Dim* block, size_t* shared, void* stream) {
  const Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid, *block = last.block, *shared = last.shared, *static_cast<void**>(stream) = last.stream;
  return 0;
}
int cudaLaunchKernel(const void* stub, Dim grid, Dim block, void** arguments, size_t shared, void*) {
  const auto kernel = reinterpret_cast<Kernel>(dlsym(device, names()[stub].c_str()));
  const unsigned shape[] = {grid.x, grid.y, grid.z, block.x, block.y, block.z, static_cast<unsigned>(shared)};
  const bool fits = grid.x && grid.y && grid.z && grid.y < 65536 && grid.z < 65536 && block.x * block.y * block.z <= 1024;
  const int status = kernel && fits ? kernel(shape, arguments) : 1;
  failed += status != 0;
  return status;
}
int __cudaGetKernel(const void** kernel, const void* stub) { *kernel = stub; return 0; }
int __cudaLaunchKernel(const void* kernel, Dim grid, Dim block, void** arguments, size_t shared, void* stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
int cudaMallocAsync(void** at, size_t bytes, void*) { *at = malloc(bytes); return 0; }
int cudaFreeAsync(void* at, void*) { free(at); return 0; }
}
