// A tensor as kernels use it: its memory, its shape, views of it, and new ones like it. It cannot compute.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>

#include "accessor.h"
#include "storage.h"

namespace torch {

// What `type()` gave before there were `scalar_type` and `device`.
struct Type {
  ScalarType scalar;
  Device place;
  operator ScalarType() const { return scalar; }
  ScalarType scalarType() const { return scalar; }
  bool is_cuda() const { return place.is_cuda(); }
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(const kernelwright::Wire& one)
      : Tensor(std::make_shared<light::Storage>(one.storage, one.bytes), static_cast<ScalarType>(one.type), static_cast<DeviceType>(one.device),
               {one.sizes, one.sizes + one.dim}, {one.strides, one.strides + one.dim}, one.offset) {}
  Tensor(std::shared_ptr<light::Storage> storage, ScalarType type, Device place, std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset = 0)
      : storage_(std::move(storage)), type_(type), place_(place), sizes_(std::move(sizes)), strides_(std::move(strides)), offset_(offset) {
    if (sizes_.size() > kernelwright::kMostDim) fail("a tensor of more than ", kernelwright::kMostDim, " dimensions");
  }
  kernelwright::Wire wire() const {
    kernelwright::Wire one = {there().at, there().bytes, there().made, static_cast<int64_t>(type_), static_cast<int64_t>(place_.kind), offset_, dim(), {}, {}};
    std::copy(sizes_.begin(), sizes_.end(), one.sizes);
    std::copy(strides_.begin(), strides_.end(), one.strides);
    return one;
  }

  std::weak_ptr<light::Storage> memory() const { return storage_; }
  bool defined() const { return storage_ != nullptr; }
  bool is_same(const Tensor& other) const { return storage_ == other.storage_ && offset_ == other.offset_ && sizes_ == other.sizes_; }
  int64_t dim() const { return there(), static_cast<int64_t>(sizes_.size()); }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return std::accumulate(sizes_.begin(), sizes_.end(), int64_t{1}, std::multiplies<int64_t>()); }
  int64_t storage_offset() const { return offset_; }
  IntArrayRef sizes() const { return there(), IntArrayRef(sizes_); }
  IntArrayRef strides() const { return there(), IntArrayRef(strides_); }
  int64_t size(int64_t i) const { return sizes_[wrap(i)]; }
  int64_t stride(int64_t i) const { return strides_[wrap(i)]; }
  bool is_contiguous(MemoryFormat = MemoryFormat::Contiguous) const {
    int64_t step = 1;
    for (int64_t i = dim(); i-- > 0; step *= sizes_[i])
      if (sizes_[i] != 1 && strides_[i] != step) return !numel();
    return true;
  }
  ScalarType scalar_type() const { return there(), type_; }
  ScalarType dtype() const { return scalar_type(); }
  Type type() const { return {scalar_type(), place_}; }
  bool is_floating_point() const { return type_ == kFloat || type_ == kDouble || type_ == kHalf || type_ == kBFloat16; }
  int64_t element_size() const { return size_of(type_); }
  int64_t itemsize() const { return element_size(); }
  int64_t nbytes() const { return numel() * element_size(); }
  Device device() const { return there(), place_; }
  int32_t get_device() const { return device().index(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_cpu() const { return device().is_cpu(); }
  TensorOptions options() const { return TensorOptions(type_).device(device()); }
  bool requires_grad() const { return false; }
  Tensor& set_requires_grad(bool) { return *this; }

  void* data_ptr() const { return static_cast<char*>(there().at) + offset_ * element_size(); }
  const void* const_data_ptr() const { return data_ptr(); }
  void* mutable_data_ptr() const { return data_ptr(); }
  template <class T> T* data_ptr() const {
    if (TypeOf<std::remove_const_t<T>>::value != scalar_type()) fail("data_ptr: the tensor has another element type");
    return static_cast<T*>(data_ptr());
  }
  template <class T> T* data() const { return data_ptr<T>(); }
  template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
  template <class T> const std::remove_const_t<T>* const_data_ptr() const { return data_ptr<std::remove_const_t<T>>(); }
  template <class T, size_t N> TensorAccessor<T, N> accessor() const { return access<T, N, DefaultPtrTraits, int64_t>(); }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, Traits> packed_accessor32() const { return access<T, N, Traits, int32_t>(); }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, Traits> packed_accessor64() const { return access<T, N, Traits, int64_t>(); }
  template <class T> T item() const {
    if (numel() != 1) fail("item: the tensor has ", numel(), " elements");
    if constexpr (kTraced) {
      if (place_.is_cuda()) kernelwright_read(there().at);
    }
    const kernelwright::moving::Number one = kernelwright::moving::load(static_cast<const char*>(data_ptr()), static_cast<int64_t>(type_));
    return one.whole ? static_cast<T>(one.integer) : static_cast<T>(one.real);
  }

  Tensor contiguous(MemoryFormat = MemoryFormat::Contiguous) const { return is_contiguous() ? *this : clone(); }
  Tensor clone(MemoryFormat = MemoryFormat::Contiguous) const;
  Tensor detach() const { return *this; }
  Tensor view(IntArrayRef sizes) const;
  Tensor reshape(IntArrayRef sizes) const { return contiguous().view(std::move(sizes)); }
  Tensor flatten() const { return reshape({-1}); }
  Tensor flatten(int64_t first, int64_t last = -1) const;
  Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  Tensor reshape_as(const Tensor& other) const { return reshape(other.sizes()); }
  Tensor as_strided(IntArrayRef sizes, IntArrayRef strides, int64_t offset) const { return {storage_, type_, place_, sizes.vec(), strides.vec(), offset}; }
  Tensor as_strided(IntArrayRef sizes, IntArrayRef strides) const { return as_strided(std::move(sizes), std::move(strides), offset_); }
  Tensor transpose(int64_t a, int64_t b) const;
  Tensor t() const { return dim() < 2 ? *this : transpose(0, 1); }
  Tensor permute(IntArrayRef order) const;
  Tensor squeeze(int64_t at) const;
  Tensor squeeze() const;
  Tensor unsqueeze(int64_t at) const;
  Tensor narrow(int64_t at, int64_t start, int64_t length) const;
  Tensor slice(int64_t at, int64_t start, int64_t end, int64_t step = 1) const;
  Tensor select(int64_t at, int64_t index) const;
  Tensor operator[](int64_t index) const { return select(0, index); }
  Tensor expand(IntArrayRef sizes) const;
  Tensor expand_as(const Tensor& other) const { return expand(other.sizes()); }

  Tensor to(ScalarType type) const;
  Tensor to(Device place) const;
  Tensor to(const TensorOptions& options) const { return to(options.place).to(options.type); }
  Tensor to(Device place, ScalarType type) const { return to(place).to(type); }
  Tensor toType(ScalarType type) const { return to(type); }
  Tensor cpu() const { return to(Device(kCPU)); }
  Tensor cuda() const { return to(Device(kCUDA)); }

  Tensor new_empty(IntArrayRef sizes) const { return new_empty(std::move(sizes), options()); }
  Tensor new_empty(IntArrayRef sizes, TensorOptions options) const;
  Tensor new_full(IntArrayRef sizes, double value) const { return new_empty(std::move(sizes)).fill_(value); }
  Tensor new_full(IntArrayRef sizes, double value, TensorOptions options) const { return new_empty(std::move(sizes), options).fill_(value); }
  Tensor new_zeros(IntArrayRef sizes) const { return new_full(std::move(sizes), 0); }
  Tensor new_zeros(IntArrayRef sizes, TensorOptions options) const { return new_full(std::move(sizes), 0, options); }
  Tensor new_ones(IntArrayRef sizes) const { return new_full(std::move(sizes), 1); }
  Tensor new_ones(IntArrayRef sizes, TensorOptions options) const { return new_full(std::move(sizes), 1, options); }
  Tensor& copy_(const Tensor& from);
  Tensor& fill_(double value);
  Tensor& zero_() { return fill_(0); }

 private:
  std::shared_ptr<light::Storage> storage_;
  ScalarType type_ = kFloat;
  Device place_;
  std::vector<int64_t> sizes_, strides_;
  int64_t offset_ = 0;

  const light::Storage& there() const {
    if (!storage_) fail("an undefined tensor was used");
    return *storage_;
  }
  int64_t wrap(int64_t i, int64_t more = 0) const {
    const int64_t count = dim() + more, at = i < 0 ? i + count : i;
    if (at < 0 || at >= count) fail("dimension ", i, " of a tensor with ", count);
    return at;
  }
  Tensor seen_as(std::vector<int64_t> sizes, std::vector<int64_t> strides) const { return {storage_, type_, place_, std::move(sizes), std::move(strides), offset_}; }
  template <class T, size_t N, template <class> class Traits, class Index>
  PackedTensorAccessor<T, N, Traits, Index> access() const {
    if (dim() != static_cast<int64_t>(N)) fail("accessor: expected ", N, " dimensions, got ", dim());
    PackedTensorAccessor<T, N, Traits, Index> one{data_ptr<T>(), {}, {}};
    for (size_t i = 0; i < N; ++i) one.lengths[i] = size(i), one.steps[i] = stride(i);
    return one;
  }
};

}  // namespace torch

#include "make.h"
#include "views.h"
