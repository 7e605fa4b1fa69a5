// The device that a CUDA runtime without one speaks of.
#pragma once

#include <stddef.h>

#define RECORDED extern "C" __attribute__((visibility("default"), used))

// The device is `recorder::gpu`, made of what envs/system/device_properties.py knows of it and included by the command line.
