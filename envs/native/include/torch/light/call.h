// How Python calls a function of an answer: tagged values in, tagged values out (guest/load_inline.py).
#pragma once

#include <cstdio>
#include <cstring>

#include "tensor.h"

namespace torch::light {

enum Kind : int64_t { kNone, kTensor, kWhole, kReal, kTruth, kWholes, kTensors };
struct Value {
  int64_t kind, number;
  void* pointer;
};

inline Tensor tensor_of(const Value& value) {
  if (value.kind == kNone) return Tensor();
  if (value.kind != kTensor) fail("a tensor was expected");
  return Tensor(static_cast<KwTensorHandle>(value.pointer));
}

template <class T, class = void> struct From {
  static T get(const Value& value) {
    static_assert(std::is_arithmetic_v<T>, "the light header cannot pass this type");
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
template <> struct From<std::optional<Tensor>> {
  static std::optional<Tensor> get(const Value& value) {
    return value.kind == kNone ? std::nullopt : std::optional<Tensor>(tensor_of(value));
  }
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
    for (int64_t handle : From<std::vector<int64_t>>::get(value)) all.emplace_back(reinterpret_cast<KwTensorHandle>(handle));
    return all;
  }
};

inline void put(Value*& at, const Tensor& tensor) {
  KwTensorHandle copy;
  expect(aoti_torch_new_tensor_handle(tensor.handle(), &copy), "result");
  *at++ = {kTensor, 0, copy};
}
template <class T> std::enable_if_t<std::is_arithmetic_v<T>> put(Value*& at, T number) {
  *at = {std::is_same_v<T, bool> ? kTruth : std::is_floating_point_v<T> ? kReal : kWhole, 0, nullptr};
  const double real = static_cast<double>(number);
  if constexpr (std::is_floating_point_v<T>) std::memcpy(&at->number, &real, sizeof real);
  else at->number = static_cast<int64_t>(number);
  ++at;
}
inline void put(Value*& at, const std::vector<Tensor>& tensors) {
  for (const Tensor& one : tensors) put(at, one);
}
template <class... T> void put(Value*& at, const std::tuple<T...>& all) {
  std::apply([&](const T&... one) { (put(at, one), ...); }, all);
}
template <class A, class B> void put(Value*& at, const std::pair<A, B>& both) {
  put(at, both.first);
  put(at, both.second);
}

template <class R, class... A, size_t... I>
void apply(R (*function)(A...), const Value* given, Value*& results, std::index_sequence<I...>) {
  std::tuple<std::decay_t<A>...> kept{From<std::decay_t<A>>::get(given[I])...};  // some take a reference
  if constexpr (std::is_void_v<R>) function(static_cast<A>(std::get<I>(kept))...);
  else put(results, function(static_cast<A>(std::get<I>(kept))...));
}

// The number of results, or -1 with the reason in `error`.
template <class R, class... A>
int64_t call(R (*function)(A...), const Value* given, int64_t count, Value* results, char* error, int64_t error_bytes) {
  Value* at = results;
  try {
    if (count != sizeof...(A)) fail("takes ", sizeof...(A), " arguments, got ", count);
    apply(function, given, at, std::index_sequence_for<A...>());
    return at - results;
  } catch (const std::exception& caught) {
    std::snprintf(error, error_bytes, "%s", caught.what());
    return -1;
  }
}

// What PYBIND11_MODULE fills: functions by the names that Python has for them.
class Module {
 public:
  template <class R, class... A, class... Rest>
  Module& def(const char* name, R (*function)(A...), const Rest&...) {
    all_.push_back({name, reinterpret_cast<void (*)()>(function), &through<R, A...>});
    return *this;
  }
  template <class Lambda, class... Rest, class = decltype(+std::declval<Lambda>())>
  Module& def(const char* name, Lambda function, const Rest&...) {
    return def(name, +function);
  }
  std::string& doc() { return doc_; }

  int64_t call(const char* name, const Value* given, int64_t count, Value* results, char* error, int64_t bytes) const {
    for (const Bound& one : all_) {
      if (std::strcmp(one.name, name) == 0) return one.through(one.function, given, count, results, error, bytes);
    }
    std::snprintf(error, bytes, "there is no such function");
    return -1;
  }

 private:
  using Through = int64_t (*)(void (*)(), const Value*, int64_t, Value*, char*, int64_t);
  struct Bound {
    const char* name;
    void (*function)();
    Through through;
  };
  std::vector<Bound> all_;
  std::string doc_;

  template <class R, class... A>
  static int64_t through(void (*function)(), const Value* given, int64_t count, Value* results, char* error, int64_t bytes) {
    return light::call(reinterpret_cast<R (*)(A...)>(function), given, count, results, error, bytes);
  }
};

}  // namespace torch::light

#define PYBIND11_MODULE(name, module)                                                               \
  static void kernelwright_define(torch::light::Module& module);                                    \
  extern "C" __attribute__((visibility("default"))) int64_t kernelwright_named(                     \
      const char* wanted, const torch::light::Value* given, int64_t count,                          \
      torch::light::Value* results, char* error, int64_t bytes) {                                   \
    static const torch::light::Module all = [] {                                                    \
      torch::light::Module made;                                                                    \
      kernelwright_define(made);                                                                    \
      return made;                                                                                  \
    }();                                                                                            \
    return all.call(wanted, given, count, results, error, bytes);                                   \
  }                                                                                                 \
  static void kernelwright_define([[maybe_unused]] torch::light::Module& module)

#define KERNELWRIGHT_EXPORT(name)                                                                    \
  extern "C" __attribute__((visibility("default"))) int64_t kernelwright_##name(                     \
      const torch::light::Value* given, int64_t count, torch::light::Value* results, char* error,    \
      int64_t bytes) {                                                                               \
    return torch::light::call(&name, given, count, results, error, bytes);                           \
  }
