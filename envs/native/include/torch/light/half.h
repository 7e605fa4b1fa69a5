// Two bytes that stand for a number, as torch's own types do: to float and back wherever they compute.
#pragma once

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define KW_BOTH __host__ __device__
#else
#include "kernelwright/move.h"
#define KW_BOTH
#endif

namespace torch {

#ifdef __CUDACC__
using RawHalf = __half;
using RawBrain = __nv_bfloat16;
KW_BOTH inline float widened_half(__half value) { return __half2float(value); }
KW_BOTH inline __half narrowed_half(float value) { return __float2half(value); }
KW_BOTH inline float widened_brain(__nv_bfloat16 value) { return __bfloat162float(value); }
KW_BOTH inline __nv_bfloat16 narrowed_brain(float value) { return __float2bfloat16(value); }
#else
using RawHalf = _Float16;
struct RawBrain { uint16_t bits; };
inline float widened_half(RawHalf value) { return static_cast<float>(value); }
inline RawHalf narrowed_half(float value) { return static_cast<RawHalf>(value); }
inline float widened_brain(RawBrain value) { return static_cast<float>(kernelwright::moving::load(reinterpret_cast<const char*>(&value), kernelwright::kBF16).real); }
inline RawBrain narrowed_brain(float value) { return {kernelwright::moving::brain(value)}; }
#endif

template <class Raw, float (*widened)(Raw), Raw (*narrowed)(float)>
struct Narrow {
  Raw raw;
  Narrow() = default;
  KW_BOTH Narrow(float value) : raw(narrowed(value)) {}
  KW_BOTH Narrow(Raw value) : raw(value) {}
  KW_BOTH operator float() const { return widened(raw); }
  KW_BOTH Narrow& operator+=(float other) { return *this = *this + other; }
  KW_BOTH Narrow& operator-=(float other) { return *this = *this - other; }
  KW_BOTH Narrow& operator*=(float other) { return *this = *this * other; }
  KW_BOTH Narrow& operator/=(float other) { return *this = *this / other; }
};

using Half = Narrow<RawHalf, widened_half, narrowed_half>;
using BFloat16 = Narrow<RawBrain, widened_brain, narrowed_brain>;

}  // namespace torch
