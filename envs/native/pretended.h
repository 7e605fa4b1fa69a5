// The device that a CUDA runtime without one speaks of.
#pragma once

#include <stddef.h>

#define RECORDED extern "C" __attribute__((visibility("default"), used))

// The device that there is not is `recorder::gpu`, made of a row of envs/system/architectures.py and included by the command line.
