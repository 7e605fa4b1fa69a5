#pragma once

#include <torch/light/vec.h>
