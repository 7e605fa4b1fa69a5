// New tensors, and what is written into them: at once, or as events where a library is traced.
#pragma once

#include "tensor.h"

namespace torch {

inline std::vector<int64_t> dense_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(sizes[i], 1);
  return strides;
}

inline Tensor empty(IntArrayRef wanted, TensorOptions options = {}, MemoryFormat = MemoryFormat::Contiguous) {
  std::vector<int64_t> sizes = wanted.vec(), strides = dense_strides(sizes);
  int64_t bytes = size_of(options.type);
  for (int64_t one : sizes) bytes = one < 0 || (one && bytes > INT64_MAX / one) ? (fail("no tensor has sizes ", wanted), 0) : bytes * one;
  if (!kTraced && options.place.is_cuda()) fail("there is no GPU");
  return {light::make(bytes, options.place.is_cuda()), options.type, options.place, std::move(sizes), std::move(strides)};
}

namespace light {
// The bytes of a value as an element of this type, behind each other's back in eight.
inline void write(ScalarType type, double value, void* to) {
  const auto put = [&](auto one) { std::memcpy(to, &one, sizeof one); };
  switch (type) {
    case kFloat: return put(static_cast<float>(value));
    case kDouble: return put(value);
    case kLong: return put(static_cast<int64_t>(value));
    case kInt: return put(static_cast<int32_t>(value));
    case kShort: return put(static_cast<int16_t>(value));
    case kByte: return put(static_cast<uint8_t>(value));
    case kChar: return put(static_cast<int8_t>(value));
    case kBool: return put(value != 0);
    default: break;
  }
  if (value == 0) return put(int16_t{0});
#if !defined(__CUDACC__) || defined(KERNELWRIGHT_HALF)
  if (type == kHalf) return put(Half(static_cast<float>(value)));
  if (type == kBFloat16) return put(BFloat16(static_cast<float>(value)));
#endif
  fail("a value of this type");
}
}  // namespace light

inline Tensor& Tensor::copy_(const Tensor& from) {
  const Tensor source = from.sizes() == sizes() ? from : from.expand(sizes());
  const kernelwright::Wire a = wire(), b = source.wire();
  const bool here = !kTraced || (!a.device && !b.device);
  if constexpr (kTraced) {
    if (!here && numel()) kernelwright_moved(&a, &b);
  }
  if (here) kernelwright::move(a.dim, a.sizes, static_cast<char*>(data_ptr()), a.type, a.strides, static_cast<const char*>(source.data_ptr()), b.type, b.strides);
  return *this;
}

inline Tensor& Tensor::fill_(double value) {
  alignas(8) char one[8] = {};
  light::write(type_, value, one);
  const int64_t width = element_size();
  if (!numel()) return *this;
  if (!is_contiguous()) return copy_(empty({1}, options()).fill_(value).expand(sizes()));
  if constexpr (kTraced) {
    if (place_.is_cuda()) return kernelwright_filled(data_ptr(), one, width, nbytes()), *this;
  }
  if (!value) {
    std::memset(data_ptr(), 0, nbytes());
  } else {
    char* at = static_cast<char*>(data_ptr());
    for (int64_t i = 0; i < nbytes(); i += width) std::memcpy(at + i, one, width);
  }
  return *this;
}

inline Tensor Tensor::new_empty(IntArrayRef sizes, TensorOptions options) const { return empty(std::move(sizes), options.device(device())); }
inline Tensor Tensor::clone(MemoryFormat) const { return empty(sizes(), options()).copy_(*this); }
inline Tensor Tensor::to(ScalarType type) const { return type == type_ ? *this : empty(sizes(), options().dtype(type)).copy_(*this); }
inline Tensor Tensor::to(Device place) const { return place.kind == place_.kind ? *this : empty(sizes(), options().device(place)).copy_(*this); }

inline Tensor full(IntArrayRef sizes, double value, TensorOptions options = {}) { return empty(std::move(sizes), options).fill_(value); }
inline Tensor zeros(IntArrayRef sizes, TensorOptions options = {}) { return full(std::move(sizes), 0, options); }
inline Tensor ones(IntArrayRef sizes, TensorOptions options = {}) { return full(std::move(sizes), 1, options); }
inline Tensor scalar_tensor(double value, TensorOptions options = {}) { return full({}, value, options); }
inline Tensor empty_like(const Tensor& like, TensorOptions options) { return empty(like.sizes(), options); }
inline Tensor empty_like(const Tensor& like) { return empty(like.sizes(), like.options()); }
inline Tensor full_like(const Tensor& like, double value) { return full(like.sizes(), value, like.options()); }
inline Tensor full_like(const Tensor& like, double value, TensorOptions options) { return full(like.sizes(), value, options); }
inline Tensor zeros_like(const Tensor& like, TensorOptions options) { return zeros(like.sizes(), options); }
inline Tensor zeros_like(const Tensor& like) { return zeros(like.sizes(), like.options()); }
inline Tensor ones_like(const Tensor& like, TensorOptions options) { return ones(like.sizes(), options); }
inline Tensor ones_like(const Tensor& like) { return ones(like.sizes(), like.options()); }

inline Tensor from_blob(void* data, IntArrayRef sizes, TensorOptions options = {}) {
  int64_t bytes = size_of(options.type);
  for (int64_t one : sizes) bytes *= one;
  return {std::make_shared<light::Storage>(data, bytes), options.type, options.place, sizes.vec(), dense_strides(sizes.vec())};
}
template <class Deleter, class = decltype(std::declval<Deleter>()(static_cast<void*>(nullptr)))>
Tensor from_blob(void* data, IntArrayRef sizes, const Deleter&, TensorOptions options = {}) { return from_blob(data, std::move(sizes), options); }
template <class T> Tensor tensor(const std::vector<T>& values, TensorOptions options) {
  const int64_t count = values.size();
  const Tensor own = from_blob(const_cast<T*>(values.data()), {count}, TypeOf<T>::value);
  return empty({count}, TensorOptions(options.type)).copy_(own).to(options.place);
}
template <class T> Tensor tensor(const std::vector<T>& values) { return tensor(values, TensorOptions(std::is_same_v<T, double> ? kFloat : TypeOf<T>::value)); }
template <class T> Tensor tensor(std::initializer_list<T> values, TensorOptions options) { return tensor(std::vector<T>(values), options); }
template <class T> Tensor tensor(std::initializer_list<T> values) { return tensor(std::vector<T>(values)); }
template <class T> std::enable_if_t<std::is_arithmetic_v<T>, Tensor> tensor(T value, TensorOptions options = {}) { return full({}, value, options); }

}  // namespace torch
