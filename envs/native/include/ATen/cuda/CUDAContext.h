// The stream that torch uses now (all are one to what is traced), and what answers check after a launch.
#pragma once

#include <cuda_runtime.h>
#include <torch/extension.h>

#define C10_CUDA_CHECK(call) \
  do { const cudaError_t found = (call); TORCH_CHECK(found == cudaSuccess, cudaGetErrorString(found)); } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define AT_CUDA_CHECK(call) C10_CUDA_CHECK(call)

namespace torch::cuda {

struct CUDAStream {
  cudaStream_t raw;
  operator cudaStream_t() const { return raw; }
  cudaStream_t stream() const { return raw; }
};

inline CUDAStream getCurrentCUDAStream(int32_t = -1) { return {nullptr}; }

inline cudaDeviceProp* getCurrentDeviceProperties() {
  static cudaDeviceProp all = [] { cudaDeviceProp found; cudaGetDeviceProperties(&found, 0); return found; }();
  return &all;
}
inline cudaDeviceProp* getDeviceProperties(int64_t) { return getCurrentDeviceProperties(); }

struct CUDAGuard {
  explicit CUDAGuard(const Device&) {}
};
using OptionalCUDAGuard = CUDAGuard;
inline Device device_of(const Tensor& tensor) { return tensor.device(); }

}  // namespace torch::cuda

namespace torch {
using cuda::device_of;
}
