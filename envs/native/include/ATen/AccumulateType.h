// The type that numbers of another are summed up in, as torch has it (ATen/AccumulateType.h).
#pragma once

#include <torch/extension.h>

#include <type_traits>

namespace torch {

template <class T, bool on_device>
struct AccumulateType {
  using Real = std::conditional_t<std::is_same_v<T, double> || (std::is_same_v<T, float> && !on_device), double, float>;
  using Whole = std::conditional_t<std::is_same_v<T, bool>, bool, int64_t>;
  using type = std::conditional_t<std::is_integral_v<T>, Whole, Real>;
};
template <class T, bool on_device> using acc_type = typename AccumulateType<T, on_device>::type;
template <class T, DeviceType device> using acc_type_device = acc_type<T, device == kCUDA>;

}  // namespace torch
