// A tensor as kernels use it: its memory, its shape, and new ones like it. It cannot compute.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>

#include "shim.h"
#include "types.h"

namespace torch {

template <class T> struct RestrictPtrTraits { using PtrType = T* __restrict__; };
template <class T> struct DefaultPtrTraits { using PtrType = T*; };

// Element access by index, on either side of a launch: sizes and strides travel by value.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
struct PackedTensorAccessor {
  T* start;
  Index lengths[N], steps[N];
  KW_ANYWHERE Index size(int i) const { return lengths[i]; }
  KW_ANYWHERE Index stride(int i) const { return steps[i]; }
  KW_ANYWHERE T* data() const { return start; }
  KW_ANYWHERE decltype(auto) operator[](Index i) const {
    if constexpr (N == 1) {
      return static_cast<T&>(start[i * steps[0]]);
    } else {
      PackedTensorAccessor<T, N - 1, Traits, Index> rest{start + i * steps[0], {}, {}};
      for (size_t d = 1; d < N; ++d) rest.lengths[d - 1] = lengths[d], rest.steps[d - 1] = steps[d];
      return rest;
    }
  }
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = PackedTensorAccessor<T, N, Traits, int32_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = PackedTensorAccessor<T, N, Traits, int64_t>;
template <class T, size_t N> using TensorAccessor = PackedTensorAccessor<T, N>;

inline void expect(int32_t error, const char* what) {
  if (error) fail(what, " failed");
}

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(KwTensorHandle owned) : handle_(owned) {}
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Tensor(const Tensor& other) {
    if (other.handle_) expect(aoti_torch_new_tensor_handle(other.handle_, &handle_), "tensor copy");
  }
  Tensor& operator=(Tensor other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Tensor() {
    if (handle_) aoti_torch_delete_tensor_object(handle_);
  }
  bool defined() const { return handle_ != nullptr; }
  KwTensorHandle handle() const { return handle_; }

  int64_t dim() const { return get<int64_t>(aoti_torch_get_dim); }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return get<int64_t>(aoti_torch_get_numel); }
  int64_t storage_offset() const { return get<int64_t>(aoti_torch_get_storage_offset); }
  IntArrayRef sizes() const { return {get<int64_t*>(aoti_torch_get_sizes), static_cast<size_t>(dim())}; }
  IntArrayRef strides() const { return {get<int64_t*>(aoti_torch_get_strides), static_cast<size_t>(dim())}; }
  int64_t size(int64_t i) const { return get<int64_t*>(aoti_torch_get_sizes)[wrap(i)]; }
  int64_t stride(int64_t i) const { return get<int64_t*>(aoti_torch_get_strides)[wrap(i)]; }
  bool is_contiguous() const { return get<bool>(aoti_torch_is_contiguous); }
  ScalarType scalar_type() const { return static_cast<ScalarType>(get<int32_t>(aoti_torch_get_dtype)); }
  ScalarType dtype() const { return scalar_type(); }
  int64_t element_size() const { return size_of(scalar_type()); }
  int64_t itemsize() const { return element_size(); }
  int64_t nbytes() const { return numel() * element_size(); }
  Device device() const {
    if constexpr (kTraced) return kCUDA;
    return Device(static_cast<DeviceType>(get<int32_t>(aoti_torch_get_device_type)), get<int32_t>(aoti_torch_get_device_index));
  }
  int32_t get_device() const { return device().index(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_cpu() const { return device().is_cpu(); }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }

  void* data_ptr() const { return get<void*>(aoti_torch_get_data_ptr); }
  template <class T> T* data_ptr() const {
    using Plain = std::remove_const_t<T>;
    if (TypeOf<Plain>::value != scalar_type()) fail("data_ptr: the tensor has another element type");
    return static_cast<T*>(data_ptr());
  }
  template <class T> T* data() const { return data_ptr<T>(); }
  template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
  template <class T> const T* const_data_ptr() const { return data_ptr<T>(); }
  template <class T, size_t N> PackedTensorAccessor<T, N> accessor() const { return access<T, N, DefaultPtrTraits, int64_t>(); }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor<T, N, Traits, int32_t> packed_accessor32() const { return access<T, N, Traits, int32_t>(); }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor<T, N, Traits, int64_t> packed_accessor64() const { return access<T, N, Traits, int64_t>(); }

  Tensor contiguous() const { return is_contiguous() ? *this : clone(); }
  Tensor clone() const;
  Tensor detach() const { return *this; }
  Tensor view(IntArrayRef sizes) const;
  Tensor reshape(IntArrayRef sizes) const { return contiguous().view(std::move(sizes)); }
  Tensor flatten() const { return reshape({-1}); }
  Tensor transpose(int64_t a, int64_t b) const;
  Tensor t() const { return transpose(0, 1); }
  Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  Tensor& zero_() { expect(aoti_torch_zero_(handle()), "zero_"); return *this; }
  Tensor& copy_(const Tensor& from) { expect(aoti_torch_copy_(handle(), from.handle(), 0), "copy_"); return *this; }

 private:
  KwTensorHandle handle_ = nullptr;

  template <class T> T get(int32_t (*of)(KwTensorHandle, T*)) const {
    if (!handle_) fail("an undefined tensor was used");
    T value;
    expect(of(handle_, &value), "tensor access");
    return value;
  }
  int64_t wrap(int64_t i) const {
    const int64_t count = dim(), at = i < 0 ? i + count : i;
    if (at < 0 || at >= count) fail("dimension ", i, " of a tensor with ", count);
    return at;
  }
  template <class T, size_t N, template <class> class Traits, class Index>
  PackedTensorAccessor<T, N, Traits, Index> access() const {
    if (dim() != static_cast<int64_t>(N)) fail("accessor: expected ", N, " dimensions, got ", dim());
    PackedTensorAccessor<T, N, Traits, Index> one{data_ptr<T>(), {}, {}};
    for (size_t i = 0; i < N; ++i) one.lengths[i] = size(i), one.steps[i] = stride(i);
    return one;
  }
  Tensor seen_as(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) const {
    KwTensorHandle made;
    expect(aoti_torch__reinterpret_tensor(handle(), sizes.size(), sizes.data(), strides.data(), storage_offset(), &made), "view");
    return Tensor(made);
  }
};

inline std::vector<int64_t> dense_strides(const IntArrayRef& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(sizes[i], 1);
  return strides;
}

// Its memory is never given back, so that no other tensor has its place.
inline void record_made(const Tensor& tensor, const Device& where) {
  KwTensorHandle kept;
  expect(aoti_torch_new_tensor_handle(tensor.handle(), &kept), "empty");
  if (tensor.numel()) kernelwright_made(tensor.data_ptr(), tensor.nbytes(), where.is_cuda());
}

inline Tensor empty(IntArrayRef sizes, TensorOptions options = {}) {
  KwTensorHandle made;
  const std::vector<int64_t> strides = dense_strides(sizes);
  const Device where = kTraced ? Device(kCPU) : options.place;
  expect(aoti_torch_empty_strided(sizes.size(), sizes.data(), strides.data(), static_cast<int32_t>(options.type),
                                  static_cast<int32_t>(where.kind), where.number, &made), "empty");
  Tensor tensor(made);
  if constexpr (kTraced) record_made(tensor, options.place);
  return tensor;
}
inline Tensor zeros(IntArrayRef sizes, TensorOptions options = {}) { return empty(std::move(sizes), options).zero_(); }
inline Tensor full(IntArrayRef sizes, double value, TensorOptions options = {}) {
  const Tensor made = empty(std::move(sizes), options);
  const auto fill = [&](auto one) {
    if constexpr (!kTraced) std::fill_n(static_cast<decltype(one)*>(made.data_ptr()), made.numel(), one);
    else if (options.place.is_cuda() && made.numel()) kernelwright_filled(made.data_ptr(), &one, sizeof one, made.nbytes());
  };
  switch (options.type) {
    case kFloat: fill(static_cast<float>(value)); break;
    case kDouble: fill(value); break;
    case kInt: fill(static_cast<int32_t>(value)); break;
    case kLong: fill(static_cast<int64_t>(value)); break;
    case kBool: fill(value != 0); break;
    default: fail("full: element type not supported");
  }
  return made;
}
inline Tensor ones(IntArrayRef sizes, TensorOptions options = {}) { return full(std::move(sizes), 1, options); }
inline Tensor full_like(const Tensor& like, double value) { return full(like.sizes(), value, like.options()); }
inline Tensor ones_like(const Tensor& like) { return full_like(like, 1); }
inline Tensor empty_like(const Tensor& like, TensorOptions options) { return empty(like.sizes(), options); }
inline Tensor empty_like(const Tensor& like) { return empty(like.sizes(), like.options()); }
inline Tensor zeros_like(const Tensor& like, TensorOptions options) { return zeros(like.sizes(), options); }
inline Tensor zeros_like(const Tensor& like) { return zeros(like.sizes(), like.options()); }

inline Tensor Tensor::clone() const { return empty(sizes(), options()).copy_(*this); }

inline Tensor Tensor::view(IntArrayRef wanted) const {
  if (!is_contiguous()) fail("view: the tensor is not contiguous");
  std::vector<int64_t> sizes = wanted.vec();
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] == -1 ? void(open = i) : void(known *= sizes[i]);
  if (open >= 0) sizes[open] = known ? numel() / known : 0, known *= sizes[open];
  if (known != numel()) fail("view: ", numel(), " elements do not fit");
  return seen_as(sizes, dense_strides(sizes));
}

inline Tensor Tensor::transpose(int64_t a, int64_t b) const {
  std::vector<int64_t> lengths = sizes().vec(), steps = strides().vec();
  std::swap(lengths[wrap(a)], lengths[wrap(b)]);
  std::swap(steps[wrap(a)], steps[wrap(b)]);
  return seen_as(lengths, steps);
}

}  // namespace torch
