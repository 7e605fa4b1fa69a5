// Two bytes that stand for a number, as torch's own types do: to float and back wherever they compute.
// Read only where an answer speaks of them: CUDA's headers for them are long.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace torch {

template <class Raw, float (*widened)(Raw), Raw (*narrowed)(float)>
struct Narrow {
  Raw raw;
  Narrow() = default;
  __host__ __device__ Narrow(float value) : raw(narrowed(value)) {}
  __host__ __device__ Narrow(Raw value) : raw(value) {}
  __host__ __device__ operator float() const { return widened(raw); }
  __host__ __device__ Narrow& operator+=(float other) { return *this = *this + other; }
  __host__ __device__ Narrow& operator-=(float other) { return *this = *this - other; }
  __host__ __device__ Narrow& operator*=(float other) { return *this = *this * other; }
  __host__ __device__ Narrow& operator/=(float other) { return *this = *this / other; }
};

__host__ __device__ inline float widened_half(__half value) { return __half2float(value); }
__host__ __device__ inline __half narrowed_half(float value) { return __float2half(value); }
__host__ __device__ inline float widened_brain(__nv_bfloat16 value) { return __bfloat162float(value); }
__host__ __device__ inline __nv_bfloat16 narrowed_brain(float value) { return __float2bfloat16(value); }

using Half = Narrow<__half, widened_half, narrowed_half>;
using BFloat16 = Narrow<__nv_bfloat16, widened_brain, narrowed_brain>;

}  // namespace torch
