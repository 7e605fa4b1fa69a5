// What C++ gets and gives back when a function of an answer is called (kernelwright/value.h).
#pragma once

#include <array>
#include <cstdio>
#include <cstring>

#include "kernelwright/value.h"
#include "tensor.h"

namespace torch::light {

using namespace kernelwright;

inline Tensor tensor_of(const Value& value) {
  if (value.kind == kNone) return Tensor();
  if (value.kind != kTensor) fail("a tensor was expected");
  return Tensor(*static_cast<const Wire*>(value.pointer));
}

template <class T, class = void> struct From {
  static T get(const Value& value) {
    static_assert(std::is_arithmetic_v<T>, "torch: a value of this type cannot be passed");
    if (value.kind == kTensor) return tensor_of(value).item<T>();
    if (value.kind == kReal) {
      double real;
      std::memcpy(&real, &value.number, sizeof real);
      return static_cast<T>(real);
    }
    if (value.kind != kWhole && value.kind != kTruth) fail("a number was expected");
    return static_cast<T>(value.number);
  }
};
template <> struct From<Tensor> { static Tensor get(const Value& value) { return tensor_of(value); } };
template <class T> struct From<std::optional<T>> {
  static std::optional<T> get(const Value& value) { return value.kind == kNone ? std::nullopt : std::optional<T>(From<T>::get(value)); }
};
template <> struct From<std::vector<int64_t>> {
  static std::vector<int64_t> get(const Value& value) {
    const int64_t* first = static_cast<const int64_t*>(value.pointer);
    return {first, first + value.number};
  }
};
template <> struct From<IntArrayRef> {
  static IntArrayRef get(const Value& value) { return From<std::vector<int64_t>>::get(value); }
};
template <> struct From<std::vector<Tensor>> {
  static std::vector<Tensor> get(const Value& value) {
    std::vector<Tensor> all;
    for (int64_t i = 0; i < value.number; ++i) all.emplace_back(static_cast<const Wire*>(value.pointer)[i]);
    return all;
  }
};
template <> struct From<std::string> {
  static std::string get(const Value& value) { return {static_cast<const char*>(value.pointer), static_cast<size_t>(value.number)}; }
};
template <> struct From<ScalarType> {
  static ScalarType get(const Value& value) { return static_cast<ScalarType>(value.number); }
};

// A tensor that is given back: it lives until `kernelwright_released`.
struct Result {
  Tensor tensor;
  Wire wire;
};
// Whether somebody else has its memory, too.
inline bool released(const Value& one) {
  if (one.kind != kTensor) return false;
  Result* const result = reinterpret_cast<Result*>(one.number);
  const std::weak_ptr<Storage> memory = result->tensor.memory();
  delete result;
  return !memory.expired();
}
struct Results {
  Value *at, *end;
  void put(const Value& one) {
    if (at == end) fail("more results than anybody reads");
    *at++ = one;
  }
};

inline void put(Results& to, const Tensor& tensor) {
  if (!tensor.defined()) return to.put({kNone, 0, nullptr});
  Result* kept = new Result{tensor, tensor.wire()};
  to.put({kTensor, reinterpret_cast<int64_t>(kept), &kept->wire});
}
template <class T> std::enable_if_t<std::is_arithmetic_v<T>> put(Results& to, T number) {
  Value one = {std::is_same_v<T, bool> ? kTruth : std::is_floating_point_v<T> ? kReal : kWhole, 0, nullptr};
  const double real = static_cast<double>(number);
  if constexpr (std::is_floating_point_v<T>) std::memcpy(&one.number, &real, sizeof real);
  else one.number = static_cast<int64_t>(number);
  to.put(one);
}
inline void put(Results& to, const std::vector<Tensor>& tensors) {
  for (const Tensor& one : tensors) put(to, one);
}
template <class... T> void put(Results& to, const std::tuple<T...>& all) {
  std::apply([&](const T&... one) { (put(to, one), ...); }, all);
}
template <class A, class B> void put(Results& to, const std::pair<A, B>& both) {
  put(to, both.first);
  put(to, both.second);
}
template <size_t N> void put(Results& to, const std::array<Tensor, N>& all) {
  for (const Tensor& one : all) put(to, one);
}

template <class R, class... A, size_t... I>
void apply(R (*function)(A...), const Value* given, Results& results, std::index_sequence<I...>) {
  std::tuple<std::decay_t<A>...> kept{From<std::decay_t<A>>::get(given[I])...};  // some take a reference
  if constexpr (std::is_void_v<R>) function(static_cast<A>(std::get<I>(kept))...);
  else put(results, function(static_cast<A>(std::get<I>(kept))...));
}

template <class T> inline constexpr bool kIsSequence = false;
template <class T> inline constexpr bool kIsSequence<std::vector<T>> = true;
template <class... T> inline constexpr bool kIsSequence<std::tuple<T...>> = true;
template <class A, class B> inline constexpr bool kIsSequence<std::pair<A, B>> = true;
template <class T, size_t N> inline constexpr bool kIsSequence<std::array<T, N>> = true;

// The number of results; or what went wrong, the reason in `error`.
struct Told { char* error; int64_t bytes; };

template <class R, class... A>
int64_t call(R (*function)(A...), const Value* given, int64_t count, Results results, Told told) {
  Value* const first = results.at;
  try {
    if (count != sizeof...(A)) fail("takes ", sizeof...(A), " arguments, got ", count);
    apply(function, given, results, std::index_sequence_for<A...>());
    return results.at - first + (kIsSequence<std::decay_t<R>> ? kSequence : 0);
  } catch (const std::bad_alloc&) {
    std::snprintf(told.error, told.bytes, "out of memory");
    return kNoMemory;
  } catch (const std::exception& caught) {
    std::snprintf(told.error, told.bytes, "%s", caught.what());
    return kThrown;
  }
}

}  // namespace torch::light
