// CUDA's driver API, as far as envs/device/driver.py uses it, on ordinary memory.
//
// A module is a shared library, a kernel is a function `int NAME(const unsigned* shape, void** arguments)` in it that
// does the work of the whole grid and returns a CUresult; `shape` is the grid, the block, and bytes of dynamic shared
// memory. A variable is `variable_NAME` and `bytes_NAME`, a kernel's local memory `local_NAME` bytes a thread. Nothing
// runs later than it is asked, but for what a graph records: that takes the 32 KB behind each argument as they are then.
// HOST_DRIVER_NO_GRAPHS makes a recording fail at its "begin" or "end", or a graph when it is made ("instantiate"); the
// launch of one takes HOST_DRIVER_GRAPH_NS more. The device has HOST_DRIVER_TOTAL bytes (16 GiB); the file that
// HOST_DRIVER_FREE names says how many of them others leave free, at this moment. With HOST_DRIVER_FENCED what lies behind
// an allocation cannot be touched; the file that HOST_DRIVER_LAUNCHES names gets a line for each launch.
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <vector>

using Kernel = int (*)(const unsigned* grid, void** arguments);
struct Config { unsigned grid[3], block[3], shared; void* stream; void* attributes; unsigned count; };
static int fault;  // as of a real device: once there was one, nothing else succeeds
static std::unordered_map<uint64_t, size_t> held;  // address -> bytes
static std::unordered_map<void*, int> local_bytes;  // function -> bytes a thread
static size_t held_bytes;

using Node = std::function<int()>;
static std::vector<Node>* recording;  // what has been launched into the stream since
static bool invalid;  // something was asked meanwhile that cannot be recorded
constexpr int kNotSupported = 801, kCaptureUnsupported = 900, kCaptureInvalidated = 901;
constexpr size_t kArgumentBytes = 1 << 15, kArguments = 1 << 12;

static bool refuses(const char* step) {
  const char* said = getenv("HOST_DRIVER_NO_GRAPHS");
  return said && !strcmp(said, step);
}
static int asked(Node node) {  // now, or recorded
  if (!recording) return fault = fault ? fault : node();
  recording->push_back(node);
  return 0;
}
static int waits() {  // for what has been launched
  if (!recording) return fault;
  invalid = true;
  return kCaptureUnsupported;
}

// Now, or later by as many nanoseconds as this variable says.
static timespec after(const char* name) {
  const char* said = getenv(name);
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t ends = now.tv_sec * 1000000000ll + now.tv_nsec + (said ? atoll(said) : 0);
  while (now.tv_sec * 1000000000ll + now.tv_nsec < ends) clock_gettime(CLOCK_MONOTONIC, &now);
  return now;
}

static size_t total_bytes() {
  const char* said = getenv("HOST_DRIVER_TOTAL");
  return said ? strtoull(said, nullptr, 10) : size_t(16) << 30;
}
static size_t free_bytes() {  // for this process, of which it holds some
  size_t found = total_bytes();
  if (const char* path = getenv("HOST_DRIVER_FREE")) {
    FILE* file = fopen(path, "r");
    if (file && fscanf(file, "%zu", &found) != 1) found = 0;
    if (file) fclose(file);
  }
  return std::min(found, total_bytes());
}

// Ends where a page begins that nobody may read: at most three bytes before it.
static void* fenced(size_t bytes) {
  const size_t page = 4096, whole = (bytes + page - 1) / page * page;
  auto* at = static_cast<char*>(mmap(nullptr, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (at == MAP_FAILED || mprotect(at + whole, page, PROT_NONE)) return nullptr;
  return at + (whole - bytes) / 4 * 4;
}

// Of a small device with as much shared memory as an A100; HOST_DRIVER_ATTRIBUTES, of the form "16=48,97=101376", changes some.
static const std::unordered_map<int, int>& attributes() {
  static const auto all = [] {
    std::unordered_map<int, int> found = {{1, 1024}, {8, 48 << 10}, {10, 32}, {13, 1000000}, {16, 16}, {36, 2000000}, {37, 384}, {38, 1 << 20},
        {39, 2048}, {81, 164 << 10}, {82, 65536}, {97, 163 << 10}, {106, 32}, {111, 1024}};
    const char* said = getenv("HOST_DRIVER_ATTRIBUTES");
    for (int number, value, read; said && sscanf(said, "%d=%d%n", &number, &value, &read) == 2; said += said[read] ? read + 1 : read)
      found[number] = value;
    return found;
  }();
  return all;
}

extern "C" {
int cuInit(unsigned) { return getenv("HOST_DRIVER_FAILS") ? 999 : 0; }
int cuDeviceGet(int* device, int) { *device = 0; return 0; }
int cuDevicePrimaryCtxRetain(void** context, int) { *context = &fault; return 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuStreamCreate(void** stream, unsigned) { *stream = &fault; return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attributes().at(attribute);  // what nobody has said is an error of the test's
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) { *bytes = total_bytes(); return 0; }
int cuGetErrorName(int status, const char** name) {
  static const std::unordered_map<int, const char*> names = {{2, "CUDA_ERROR_OUT_OF_MEMORY"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED"}, {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"}};
  *name = names.count(status) ? names.at(status) : "CUDA_ERROR_INVALID_VALUE";
  return 0;
}
int cuModuleLoadData(void** module, const void* code) {
  const auto* head = static_cast<const Elf64_Ehdr*>(code);
  const size_t size = head->e_shoff + size_t(head->e_shnum) * head->e_shentsize;
  char path[] = "/tmp/host-module-XXXXXX";
  const int file = mkstemp(path);
  if (write(file, code, size) != ssize_t(size)) return 1;
  close(file);
  *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  unlink(path);
  return *module ? 0 : 1;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = dlsym(module, name);
  if (!*function) return 1;
  char symbol[4352];
  snprintf(symbol, sizeof symbol, "local_%s", name);
  const auto* local = static_cast<int*>(dlsym(module, symbol));
  local_bytes[*function] = local ? *local : 0;
  return 0;
}
int cuFuncGetAttribute(int* value, int, void* function) { *value = local_bytes[function]; return 0; }
int cuModuleGetGlobal_v2(uint64_t* at, size_t* bytes, void* module, const char* name) {
  char symbol[4352];
  snprintf(symbol, sizeof symbol, "variable_%s", name);
  const auto* where = static_cast<uint64_t*>(dlsym(module, symbol));
  snprintf(symbol, sizeof symbol, "bytes_%s", name);
  const auto* size = static_cast<uint64_t*>(dlsym(module, symbol));
  if (!where || !size) return 500;
  *at = *where, *bytes = *size;
  return 0;
}
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuLaunchKernelEx(const Config* config, void* function, void** arguments, void**) {
  if (const char* path = getenv("HOST_DRIVER_LAUNCHES")) {
    if (FILE* file = fopen(path, "a")) fputs("launched\n", file), fclose(file);
  }
  const auto kernel = reinterpret_cast<Kernel>(function);
  if (!recording) return asked([=] { return kernel(config->grid, arguments); });
  // Behind the last argument that was given all are the same zeros.
  size_t count = 0;
  while (arguments[count] != arguments[count + 1]) ++count;
  std::vector<char> values((count + 1) * kArgumentBytes);
  for (size_t i = 0; i <= count; ++i) memcpy(values.data() + i * kArgumentBytes, arguments[i], kArgumentBytes);
  std::vector<unsigned> shape(config->grid, config->grid + 7);
  return asked([=] {
    std::vector<void*> given(kArguments);
    for (size_t i = 0; i < kArguments; ++i) given[i] = const_cast<char*>(values.data()) + std::min(i, count) * kArgumentBytes;
    return kernel(shape.data(), given.data());
  });
}
int cuStreamBeginCapture_v2(void*, int) {
  if (recording || refuses("begin")) return kNotSupported;
  recording = new std::vector<Node>, invalid = false;
  return fault;
}
int cuStreamEndCapture(void*, void** graph) {
  if (!recording) return 1;
  const bool lost = invalid || refuses("end");
  if (lost) delete recording;
  *graph = lost ? nullptr : recording;
  recording = nullptr;
  return lost ? kCaptureInvalidated : 0;
}
int cuGraphDestroy(void* graph) { delete static_cast<std::vector<Node>*>(graph); return 0; }
int cuGraphInstantiateWithFlags(void** made, void* graph, unsigned long long) {
  if (refuses("instantiate")) return 2;
  *made = new std::vector<Node>(*static_cast<std::vector<Node>*>(graph));
  return fault;
}
int cuGraphExecDestroy(void* made) { delete static_cast<std::vector<Node>*>(made); return 0; }
int cuGraphUpload(void*, void*) { return fault; }
int cuGraphLaunch(void* made, void*) {
  after("HOST_DRIVER_GRAPH_NS");
  for (const Node& node : *static_cast<std::vector<Node>*>(made)) asked(node);
  return fault;
}
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = total_bytes();
  *free = free_bytes() - std::min(free_bytes(), held_bytes);
  return 0;
}
int cuMemAlloc_v2(uint64_t* at, size_t bytes) {
  const size_t page = size_t(2) << 20, taken = bytes <= page / 2 ? bytes : (bytes + page - 1) / page * page;
  if (held_bytes + taken > free_bytes()) return 2;
  *at = reinterpret_cast<uint64_t>(getenv("HOST_DRIVER_FENCED") ? fenced(bytes) : malloc(bytes));
  if (!*at) return 2;
  held[*at] = taken, held_bytes += taken;
  return 0;
}
int cuMemFree_v2(uint64_t at) {
  held_bytes -= held[at];
  held.erase(at);
  if (!getenv("HOST_DRIVER_FENCED")) free(reinterpret_cast<void*>(at));
  return 0;
}
int cuMemsetD8Async(uint64_t at, unsigned char value, size_t count, void*) {
  return asked([=] { return memset(reinterpret_cast<void*>(at), value, count), 0; });
}
int cuMemsetD32Async(uint64_t at, unsigned value, size_t count, void*) {
  if (recording && !count) return 1;
  return asked([=] { return std::fill_n(reinterpret_cast<unsigned*>(at), count, value), 0; });
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void*) {
  return asked([=] { return memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), 0; });
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) { memcpy(reinterpret_cast<void*>(to), from, bytes); return waits(); }
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) { memcpy(to, reinterpret_cast<void*>(from), bytes); return waits(); }
int cuCtxSynchronize() { return waits(); }
int cuCtxResetPersistingL2Cache() { return 0; }
int cuEventCreate(void** event, unsigned) { *event = calloc(1, sizeof(timespec)); return 0; }
int cuEventRecord(void* event, void*) {
  *static_cast<timespec*>(event) = after("HOST_DRIVER_EMPTY_NS");  // so long an empty step takes
  return 0;
}
int cuEventElapsedTime(float* milliseconds, const timespec* first, const timespec* second) {
  *milliseconds = (second->tv_sec - first->tv_sec) * 1e3f + (second->tv_nsec - first->tv_nsec) * 1e-6f;
  return fault;
}
}
