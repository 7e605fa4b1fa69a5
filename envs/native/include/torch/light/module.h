// What PYBIND11_MODULE fills: functions by the names that Python has for them, and their arguments' names.
#pragma once

#include "call.h"

namespace pybind11 {

struct none {};
struct gil_scoped_release {
  gil_scoped_release() {}
};
struct gil_scoped_acquire {
  gil_scoped_acquire() {}
};
template <class...> struct call_guard {};

// An argument's name, and what it is where a call leaves it out.
struct arg {
  const char* name;
  bool optional = false;
  kernelwright::Value otherwise = {};
  explicit arg(const char* name) : name(name) {}
  arg& noconvert(bool = true) { return *this; }
  arg operator=(pybind11::none) const { return with({kernelwright::kNone, 0, nullptr}); }
  arg operator=(std::nullopt_t) const { return *this = pybind11::none(); }
  arg operator=(const char* text) const { return with({kernelwright::kText, static_cast<int64_t>(std::strlen(text)), const_cast<char*>(text)}); }
  template <class T> std::enable_if_t<std::is_arithmetic_v<T>, arg> operator=(T number) const {
    kernelwright::Value one;
    torch::light::Results to = {&one, &one + 1};
    torch::light::put(to, number);
    return with(one);
  }

 private:
  arg with(const kernelwright::Value& value) const {
    arg one = *this;
    one.optional = true, one.otherwise = value;
    return one;
  }
};
namespace literals {
inline arg operator""_a(const char* name, size_t) { return arg(name); }
}  // namespace literals

}  // namespace pybind11
namespace py = pybind11;

namespace torch::light {

class Module {
 public:
  template <class R, class... A, class... Rest>
  Module& def(const char* name, R (*function)(A...), const Rest&... rest) {
    Bound one = {name, reinterpret_cast<void (*)()>(function), &through<R, A...>, {}};
    (note(one, rest), ...);
    all_.push_back(std::move(one));
    return *this;
  }
  template <class Lambda, class... Rest, class = decltype(+std::declval<Lambda>())>
  Module& def(const char* name, Lambda function, const Rest&... rest) {
    return def(name, +function, rest...);
  }
  std::string& doc() { return doc_; }

  int64_t call(const char* name, const Value* given, int64_t count, Results results, Told told) const {
    const Bound* one = find(name);
    if (!one) {
      std::snprintf(told.error, told.bytes, "there is no such function");
      return kThrown;
    }
    std::vector<Value> all(given, given + count);
    for (size_t i = 0; i < one->arguments.size(); ++i) {
      if (!one->arguments[i].optional) continue;
      if (i == all.size()) all.push_back(one->arguments[i].otherwise);
      else if (i < all.size() && all[i].kind == kLeftOut) all[i] = one->arguments[i].otherwise;
    }
    return one->through(one->function, all.data(), all.size(), results, told);
  }
  // The name of the number-th argument; null where there is none.
  const char* argument(const char* name, int64_t number) const {
    const Bound* one = find(name);
    return one && number < static_cast<int64_t>(one->arguments.size()) ? one->arguments[number].name : nullptr;
  }

 private:
  using Through = int64_t (*)(void (*)(), const Value*, int64_t, Results, Told);
  struct Bound {
    const char* name;
    void (*function)();
    Through through;
    std::vector<pybind11::arg> arguments;
  };
  std::vector<Bound> all_;
  std::string doc_;

  static void note(Bound& one, const pybind11::arg& argument) { one.arguments.push_back(argument); }
  template <class Other> static void note(Bound&, const Other&) {}
  const Bound* find(const char* name) const {
    for (const Bound& one : all_)
      if (std::strcmp(one.name, name) == 0) return &one;
    return nullptr;
  }
  template <class R, class... A>
  static int64_t through(void (*function)(), const Value* given, int64_t count, Results results, Told told) {
    return light::call(reinterpret_cast<R (*)(A...)>(function), given, count, results, told);
  }
};

}  // namespace torch::light

#define KW_VISIBLE extern "C" __attribute__((visibility("default")))

#define PYBIND11_MODULE(name, module)                                                               \
  static void kernelwright_define(torch::light::Module& module);                                    \
  static const torch::light::Module& kernelwright_all() {                                           \
    static const torch::light::Module all = [] {                                                    \
      torch::light::Module made;                                                                    \
      kernelwright_define(made);                                                                    \
      return made;                                                                                  \
    }();                                                                                            \
    return all;                                                                                     \
  }                                                                                                 \
  KW_VISIBLE int64_t kernelwright_named(const char* wanted, const kernelwright::Value* given,       \
      int64_t count, kernelwright::Value* results, int64_t most, char* error, int64_t bytes) {      \
    torch::light::Results to = {results, results + most};                                           \
    return kernelwright_all().call(wanted, given, count, to, {error, bytes});                       \
  }                                                                                                 \
  KW_VISIBLE const char* kernelwright_argument(const char* wanted, int64_t number) {                \
    return kernelwright_all().argument(wanted, number);                                             \
  }                                                                                                 \
  /* Before a call: where the memory that it makes is to lie. */                                    \
  KW_VISIBLE void kernelwright_begin(const kernelwright::Room* rooms, int64_t count) {              \
    torch::light::Making& now = torch::light::making();                                             \
    now.rooms = rooms, now.room_count = count, now.made = 0;                                        \
  }                                                                                                 \
  /* After it: how many rooms are still in use, and how many results' memory (kSequence times). */  \
  KW_VISIBLE int64_t kernelwright_released(const kernelwright::Value* results, int64_t count) {     \
    int64_t kept = 0;                                                                               \
    for (int64_t i = 0; i < count; ++i) kept += torch::light::released(results[i]);                 \
    return torch::light::making().lent + kept * kernelwright::kSequence;                            \
  }                                                                                                 \
  static void kernelwright_define([[maybe_unused]] torch::light::Module& module)
