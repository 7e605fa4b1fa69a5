// Of a CUDA runtime without a device, what fills in structs of CUDA's own headers.
#pragma once

#include <driver_types.h>
#include <string.h>

#include "pretended.h"

extern "C" int kernelwright_kernel(const void* stub, size_t* four);  // recorder.h

RECORDED int cudaGetDeviceProperties(cudaDeviceProp* all, int) {
  using namespace recorder::gpu;
  memset(all, 0, sizeof *all);
  strcpy(all->name, kName);
  all->totalGlobalMem = kMemoryBytes;
  all->major = kMajor, all->minor = kMinor;
  all->multiProcessorCount = kProcessors;
  all->warpSize = kWarp;
  all->maxThreadsPerBlock = kThreads;
  all->maxThreadsPerMultiProcessor = kThreadsOfProcessor;
  all->regsPerBlock = all->regsPerMultiprocessor = kRegisters;
  all->sharedMemPerBlock = kShared;
  all->sharedMemPerBlockOptin = kSharedOptIn;
  all->sharedMemPerMultiprocessor = kSharedOfProcessor;
  all->l2CacheSize = kL2Bytes;
  all->memoryBusWidth = kBusBits;
  all->maxBlocksPerMultiProcessor = kBlocksOfProcessor;
  all->reservedSharedMemPerBlock = kReserved;
  const int dimensions[] = {kThreads, kThreads, 64}, grid[] = {0x7fffffff, 65535, 65535};
  memcpy(all->maxThreadsDim, dimensions, sizeof dimensions);
  memcpy(all->maxGridSize, grid, sizeof grid);
  return 0;
}
RECORDED int cudaGetDeviceProperties_v2(cudaDeviceProp* all, int device) { return cudaGetDeviceProperties(all, device); }  // CUDA 12's name
RECORDED int cudaFuncGetAttributes(cudaFuncAttributes* all, const void* stub) {
  size_t four[4];
  if (const int error = kernelwright_kernel(stub, four)) return error;
  memset(all, 0, sizeof *all);
  all->maxThreadsPerBlock = four[0], all->numRegs = four[1];
  all->sharedSizeBytes = four[2], all->maxDynamicSharedSizeBytes = four[3];
  all->binaryVersion = all->ptxVersion = 10 * recorder::gpu::kMajor + recorder::gpu::kMinor;
  return 0;
}
