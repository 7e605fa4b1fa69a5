// The device that a CUDA runtime without one speaks of.
#pragma once

#include <stddef.h>

#define RECORDED extern "C" __attribute__((visibility("default"), used))

namespace recorder {

// The device that there is not (NVIDIA, A100 and H100 tensor core GPU architecture): ten times its compute capability.
#ifndef PRETENDED
#define PRETENDED 80
#endif
namespace a100 {
constexpr char kName[] = "NVIDIA A100-SXM4-80GB";
constexpr int kMajor = 8, kProcessors = 108, kWarp = 32, kThreads = 1024, kThreadsOfProcessor = 2048, kRegisters = 65536;
constexpr int kShared = 49152, kSharedOptIn = 166912, kSharedOfProcessor = 167936, kL2Bytes = 40 << 20;
}  // namespace a100
namespace h100 {
constexpr char kName[] = "NVIDIA H100 80GB HBM3";
constexpr int kMajor = 9, kProcessors = 132, kWarp = 32, kThreads = 1024, kThreadsOfProcessor = 2048, kRegisters = 65536;
constexpr int kShared = 49152, kSharedOptIn = 232448, kSharedOfProcessor = 233472, kL2Bytes = 50 << 20;
}  // namespace h100
#if PRETENDED >= 90
namespace gpu = h100;
#else
namespace gpu = a100;
#endif

}  // namespace recorder
