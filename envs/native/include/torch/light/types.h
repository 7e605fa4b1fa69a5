// Types around a tensor: its element type, its device, its sizes, and what to make a new one of.
#pragma once

#include <cassert>
#include <cfloat>
#include <climits>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

// CUDA's headers for them are long: read only where an answer speaks of them.
#if !defined(__CUDACC__) || defined(KERNELWRIGHT_HALF)
#define KW_HALF
#include "half.h"
#endif

#if defined(__CUDACC__)
#define KW_ANYWHERE __host__ __device__
#else
#define KW_ANYWHERE
#endif

namespace torch {

// A library with device code in it is never run, but traced: its tensors lie in ordinary memory, and
// say that they are on a device (native/recording.cpp).
#ifdef KERNELWRIGHT_TRACED
inline constexpr bool kTraced = true;
#else
inline constexpr bool kTraced = false;
#endif

// The numbers are torch's own (c10/core/ScalarType.h).
enum class ScalarType : int32_t { Byte = 0, Char = 1, Short = 2, Int = 3, Long = 4, Half = 5, Float = 6, Double = 7, Bool = 11, BFloat16 = 15 };
using Dtype = ScalarType;
constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = kByte, kChar = ScalarType::Char, kInt8 = kChar;
constexpr ScalarType kShort = ScalarType::Short, kInt16 = kShort, kInt = ScalarType::Int, kInt32 = kInt;
constexpr ScalarType kLong = ScalarType::Long, kInt64 = kLong, kHalf = ScalarType::Half, kFloat16 = kHalf;
constexpr ScalarType kFloat = ScalarType::Float, kFloat32 = kFloat, kDouble = ScalarType::Double, kFloat64 = kDouble;
constexpr ScalarType kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;

template <class T> struct TypeOf;
template <> struct TypeOf<uint8_t> { static constexpr ScalarType value = kByte; };
template <> struct TypeOf<int8_t> { static constexpr ScalarType value = kChar; };
template <> struct TypeOf<int16_t> { static constexpr ScalarType value = kShort; };
template <> struct TypeOf<int32_t> { static constexpr ScalarType value = kInt; };
template <> struct TypeOf<int64_t> { static constexpr ScalarType value = kLong; };
template <> struct TypeOf<long long> { static constexpr ScalarType value = kLong; };
template <> struct TypeOf<float> { static constexpr ScalarType value = kFloat; };
template <> struct TypeOf<double> { static constexpr ScalarType value = kDouble; };
template <> struct TypeOf<bool> { static constexpr ScalarType value = kBool; };
#ifdef KW_HALF
template <> struct TypeOf<Half> { static constexpr ScalarType value = kHalf; };
template <> struct TypeOf<BFloat16> { static constexpr ScalarType value = kBFloat16; };
#endif

inline int64_t size_of(ScalarType type) {
  switch (type) {
    case kLong: case kDouble: return 8;
    case kInt: case kFloat: return 4;
    case kShort: case kHalf: case kBFloat16: return 2;
    default: return 1;
  }
}

enum class MemoryFormat { Contiguous };  // others are not here
enum class DeviceType : int32_t { CPU = 0, CUDA = 1 };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;

struct Device {
  DeviceType kind = kCPU;
  int32_t number = 0;
  Device(DeviceType kind = kCPU, int32_t number = 0) : kind(kind), number(number) {}
  bool is_cuda() const { return kind == kCUDA; }
  bool is_cpu() const { return kind == kCPU; }
  DeviceType type() const { return kind; }
  int32_t index() const { return number; }
  bool operator==(const Device& other) const { return kind == other.kind && number == other.number; }
  bool operator!=(const Device& other) const { return !(*this == other); }
};

class IntArrayRef {
 public:
  IntArrayRef() = default;
  IntArrayRef(const int64_t* data, size_t count) : values_(data, data + count) {}
  IntArrayRef(std::initializer_list<int64_t> values) : values_(values) {}
  IntArrayRef(std::vector<int64_t> values) : values_(std::move(values)) {}
  IntArrayRef(int64_t value) : values_{value} {}
  int64_t operator[](size_t i) const { return values_[i]; }
  size_t size() const { return values_.size(); }
  const int64_t* data() const { return values_.data(); }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size(); }
  int64_t front() const { return values_.front(); }
  int64_t back() const { return values_.back(); }
  std::vector<int64_t> vec() const { return values_; }
  bool empty() const { return values_.empty(); }
  bool equals(const IntArrayRef& other) const { return values_ == other.values_; }
  IntArrayRef slice(size_t start, size_t count) const { return {values_.data() + start, count}; }
  IntArrayRef slice(size_t start) const { return slice(start, size() - start); }
  bool operator==(const IntArrayRef& other) const { return values_ == other.values_; }
  bool operator!=(const IntArrayRef& other) const { return values_ != other.values_; }

 private:
  std::vector<int64_t> values_;
};

struct TensorOptions {
  ScalarType type = kFloat;
  Device place;
  TensorOptions() = default;
  TensorOptions(ScalarType type) : type(type) {}
  TensorOptions(Device place) : place(place) {}
  TensorOptions dtype(ScalarType other) const { TensorOptions one = *this; one.type = other; return one; }
  TensorOptions device(Device other) const { TensorOptions one = *this; one.place = other; return one; }
  TensorOptions device(DeviceType kind, int32_t number = 0) const { return device(Device(kind, number)); }
  TensorOptions requires_grad(bool) const { return *this; }
  TensorOptions memory_format(MemoryFormat) const { return *this; }
};
inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions device(Device place) { return TensorOptions(place); }

// Nothing here has gradients.
struct NoGradGuard {
  NoGradGuard() {}
};
struct InferenceMode {
  explicit InferenceMode(bool = true) {}
};

// What a message says of a value. <sstream> would be read four times in a build with CUDA.
template <class T> std::string text(const T& part) {
  if constexpr (std::is_convertible_v<T, std::string>) return part;
  else if constexpr (std::is_enum_v<T>) return std::to_string(static_cast<int64_t>(part));
  else if constexpr (std::is_arithmetic_v<T>) return std::to_string(part);
  else return "?";
}
inline std::string text(const IntArrayRef& part) {
  std::string all;
  for (int64_t one : part) all += (all.empty() ? "" : ", ") + std::to_string(one);
  return "[" + all + "]";
}

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw std::runtime_error((std::string() + ... + text(parts)));
}

}  // namespace torch

#define TORCH_CHECK(condition, ...) \
  do { if (!(condition)) ::torch::fail("check failed: " #condition " " __VA_OPT__(,) __VA_ARGS__); } while (0)
#define AT_ASSERT(condition) TORCH_CHECK(condition)
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK(condition __VA_OPT__(,) __VA_ARGS__)
#define AT_ERROR(...) ::torch::fail(__VA_ARGS__)
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b))
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b))
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b))
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b))
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b))
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b))
#define TORCH_CHECK_VALUE(condition, ...) TORCH_CHECK(condition __VA_OPT__(,) __VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) TORCH_CHECK(condition __VA_OPT__(,) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) TORCH_CHECK(condition __VA_OPT__(,) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) ((void)0)
#define TORCH_WARN(...) ((void)0)
#define C10_RESTRICT __restrict__
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_LIKELY(condition) (__builtin_expect(!!(condition), 1))
#define C10_UNLIKELY(condition) (__builtin_expect(!!(condition), 0))
#define C10_HOST_DEVICE KW_ANYWHERE

template <torch::ScalarType type> struct KwCpp;
#define KW_TYPE(name, c_type) template <> struct KwCpp<torch::ScalarType::name> { using type = c_type; };
KW_TYPE(Byte, uint8_t) KW_TYPE(Char, int8_t) KW_TYPE(Short, int16_t) KW_TYPE(Int, int32_t) KW_TYPE(Long, int64_t)
KW_TYPE(Float, float) KW_TYPE(Double, double) KW_TYPE(Bool, bool)
#ifdef KW_HALF
KW_TYPE(Half, torch::Half) KW_TYPE(BFloat16, torch::BFloat16)
#endif

#define KW_CASE(number, ...) case number: { using scalar_t = typename KwCpp<number>::type; return __VA_ARGS__(); }
#define KW_FLOATS(...) KW_CASE(::torch::kFloat, __VA_ARGS__) KW_CASE(::torch::kDouble, __VA_ARGS__)
#define KW_WHOLES(...)                                                                                 \
  KW_CASE(::torch::kByte, __VA_ARGS__) KW_CASE(::torch::kChar, __VA_ARGS__) KW_CASE(::torch::kShort, __VA_ARGS__) \
  KW_CASE(::torch::kInt, __VA_ARGS__) KW_CASE(::torch::kLong, __VA_ARGS__)
#define KW_DISPATCH(type, name, cases) \
  [&] { switch (type) { cases default: ::torch::fail(name, ": element type not supported"); } }()

#define AT_DISPATCH_FLOATING_TYPES(type, name, ...) KW_DISPATCH(type, name, KW_FLOATS(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(a, type, name, ...) \
  KW_DISPATCH(type, name, KW_FLOATS(__VA_ARGS__) KW_CASE(a, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(a, b, type, name, ...) \
  KW_DISPATCH(type, name, KW_FLOATS(__VA_ARGS__) KW_CASE(a, __VA_ARGS__) KW_CASE(b, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(type, name, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND(::torch::kHalf, type, name, __VA_ARGS__)
#define AT_DISPATCH_CASE(number, ...) KW_CASE(number, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) KW_FLOATS(__VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) KW_WHOLES(__VA_ARGS__)
#define AT_DISPATCH_SWITCH(type, name, ...) KW_DISPATCH(type, name, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES(type, name, ...) KW_DISPATCH(type, name, KW_WHOLES(__VA_ARGS__))
#define KW_INDEX(number, ...) case number: { using index_t = typename KwCpp<number>::type; return __VA_ARGS__(); }
#define AT_DISPATCH_INDEX_TYPES(type, name, ...) \
  KW_DISPATCH(type, name, KW_INDEX(::torch::kInt, __VA_ARGS__) KW_INDEX(::torch::kLong, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(type, name, ...) \
  KW_DISPATCH(type, name, KW_FLOATS(__VA_ARGS__) KW_WHOLES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(a, b, type, name, ...) \
  KW_DISPATCH(type, name, KW_FLOATS(__VA_ARGS__) KW_WHOLES(__VA_ARGS__) KW_CASE(a, __VA_ARGS__) KW_CASE(b, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(a, type, name, ...) \
  KW_DISPATCH(type, name, KW_FLOATS(__VA_ARGS__) KW_WHOLES(__VA_ARGS__) KW_CASE(a, __VA_ARGS__))
