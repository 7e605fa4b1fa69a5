// What all `inline` answers read, and what is precompiled of them (sandbox/precompiled.py).
#pragma once

#include <torch/extension.h>
