// NVML, as far as envs/system/nvml.py uses it: of one GPU, whose uuid HOST_NVML_UUID is. HOST_NVML says "MHZ MILLIWATTS
// REASONS" (the last in hexadecimal); what it says as "-" is not supported.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int gpu;
constexpr int kNotFound = 6, kNotSupported = 3;

template <class Number> static int told(int which, const char* format, Number* value) {
  char words[3][32] = {};
  sscanf(getenv("HOST_NVML"), "%31s %31s %31s", words[0], words[1], words[2]);
  return sscanf(words[which], format, value) == 1 ? 0 : kNotSupported;
}

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = &gpu;
  return strcmp(uuid, getenv("HOST_NVML_UUID")) ? kNotFound : 0;
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) { return device == &gpu && type == 1 ? told(0, "%u", mhz) : 2; }
int nvmlDeviceGetPowerUsage(void* device, unsigned* mw) { return device == &gpu ? told(1, "%u", mw) : 2; }
int REASONS(void* device, unsigned long long* bits) { return device == &gpu ? told(2, "%llx", bits) : 2; }
}
