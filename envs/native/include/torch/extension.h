// Takes the place of torch's own header for answers that only need a tensor's memory and shape, which
// is nearly all of them. What is missing here is a compile error, and then torch's own is used.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "light/call.h"

namespace at = torch;
namespace c10 {
using namespace torch;
template <class T> using optional = std::optional<T>;
inline constexpr std::nullopt_t nullopt = std::nullopt;
}  // namespace c10
namespace torch {
template <class T> using optional = std::optional<T>;
}
