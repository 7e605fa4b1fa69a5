// Takes the place of torch's own headers: a tensor is its memory and its shape, and does not compute.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

#include "light/module.h"
#include "light/parallel.h"

namespace torch {
template <class T> using optional = std::optional<T>;
inline constexpr std::nullopt_t nullopt = std::nullopt;
template <class T> using ArrayRef = std::conditional_t<std::is_same_v<T, int64_t>, IntArrayRef, std::vector<T>>;
template <class T> std::vector<T> irange(T end) {
  std::vector<T> all(end);
  std::iota(all.begin(), all.end(), T(0));
  return all;
}
}  // namespace torch
namespace at = torch;
namespace c10 = torch;
