// torch's name for an atomic sum of any type that has one.
#pragma once

#include <ATen/cuda/CUDAContext.h>

template <class T> __device__ inline T gpuAtomicAdd(T* at, T value) { return atomicAdd(at, value); }
__device__ inline int64_t gpuAtomicAdd(int64_t* at, int64_t value) {
  return static_cast<int64_t>(atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value)));
}
#ifdef KERNELWRIGHT_HALF
__device__ inline torch::Half gpuAtomicAdd(torch::Half* at, torch::Half value) { return atomicAdd(&at->raw, value.raw); }
__device__ inline torch::BFloat16 gpuAtomicAdd(torch::BFloat16* at, torch::BFloat16 value) { return atomicAdd(&at->raw, value.raw); }
#endif
template <class T> __device__ inline void gpuAtomicAddNoReturn(T* at, T value) { gpuAtomicAdd(at, value); }
