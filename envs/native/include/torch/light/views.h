// Other ways to look at the memory of a tensor.
#pragma once

#include "tensor.h"

namespace torch {

inline Tensor Tensor::view(IntArrayRef wanted) const {
  if (!is_contiguous()) fail("view: the tensor is not contiguous");
  std::vector<int64_t> sizes = wanted.vec();
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] == -1 ? void(open = i) : void(known *= sizes[i]);
  if (open >= 0) sizes[open] = known ? numel() / known : 0, known *= sizes[open];
  if (known != numel()) fail("view: ", numel(), " elements do not fit");
  return seen_as(sizes, dense_strides(sizes));
}

inline Tensor Tensor::flatten(int64_t first, int64_t last) const {
  std::vector<int64_t> sizes(sizes_.begin(), sizes_.begin() + wrap(first));
  sizes.push_back(std::accumulate(sizes_.begin() + wrap(first), sizes_.begin() + wrap(last) + 1, int64_t{1}, std::multiplies<int64_t>()));
  sizes.insert(sizes.end(), sizes_.begin() + wrap(last) + 1, sizes_.end());
  return reshape(sizes);
}

inline Tensor Tensor::transpose(int64_t a, int64_t b) const {
  std::vector<int64_t> lengths = sizes_, steps = strides_;
  std::swap(lengths[wrap(a)], lengths[wrap(b)]);
  std::swap(steps[wrap(a)], steps[wrap(b)]);
  return seen_as(lengths, steps);
}

inline Tensor Tensor::permute(IntArrayRef order) const {
  std::vector<int64_t> lengths, steps;
  if (static_cast<int64_t>(order.size()) != dim()) fail("permute: ", dim(), " dimensions");
  for (int64_t one : order) lengths.push_back(size(one)), steps.push_back(stride(one));
  return seen_as(lengths, steps);
}

inline Tensor Tensor::squeeze(int64_t at) const {
  if (size(at) != 1) return *this;
  std::vector<int64_t> lengths = sizes_, steps = strides_;
  lengths.erase(lengths.begin() + wrap(at)), steps.erase(steps.begin() + wrap(at));
  return seen_as(lengths, steps);
}

inline Tensor Tensor::squeeze() const {
  Tensor one = *this;
  for (int64_t i = dim(); i-- > 0;) one = one.squeeze(i);
  return one;
}

inline Tensor Tensor::unsqueeze(int64_t at) const {
  std::vector<int64_t> lengths = sizes_, steps = strides_;
  const int64_t where = wrap(at, 1), step = where < dim() ? lengths[where] * steps[where] : 1;
  lengths.insert(lengths.begin() + where, 1), steps.insert(steps.begin() + where, step);
  return seen_as(lengths, steps);
}

inline Tensor Tensor::slice(int64_t at, int64_t start, int64_t end, int64_t step) const {
  const int64_t count = size(at), first = std::clamp(start < 0 ? start + count : start, int64_t{0}, count);
  const int64_t stop = std::clamp(end < 0 ? end + count : end, first, count);
  if (step < 1) fail("slice: a step of ", step);
  std::vector<int64_t> lengths = sizes_, steps = strides_;
  lengths[wrap(at)] = (stop - first + step - 1) / step, steps[wrap(at)] *= step;
  return as_strided(lengths, steps, offset_ + first * stride(at));
}

inline Tensor Tensor::narrow(int64_t at, int64_t start, int64_t length) const {
  if (start < 0 || length < 0 || start + length > size(at)) fail("narrow: ", start, " and ", length, " of ", size(at));
  return slice(at, start, start + length);
}

inline Tensor Tensor::select(int64_t at, int64_t index) const {
  const int64_t where = index < 0 ? index + size(at) : index;
  if (where < 0 || where >= size(at)) fail("select: ", index, " of ", size(at));
  std::vector<int64_t> lengths = sizes_, steps = strides_;
  lengths.erase(lengths.begin() + wrap(at)), steps.erase(steps.begin() + wrap(at));
  return as_strided(lengths, steps, offset_ + where * stride(at));
}

inline Tensor Tensor::expand(IntArrayRef wanted) const {
  std::vector<int64_t> lengths = wanted.vec(), steps(lengths.size(), 0);
  const int64_t more = static_cast<int64_t>(lengths.size()) - dim();
  if (more < 0) fail("expand: fewer dimensions");
  for (int64_t i = 0; i < dim(); ++i) {
    int64_t& length = lengths[more + i];
    if (length == -1) length = sizes_[i];
    if (sizes_[i] != 1 && sizes_[i] != length) fail("expand: ", sizes_[i], " to ", length);
    steps[more + i] = sizes_[i] == 1 && length != 1 ? 0 : strides_[i];
  }
  return seen_as(lengths, steps);
}

inline Tensor transpose(const Tensor& one, int64_t a, int64_t b) { return one.transpose(a, b); }
inline Tensor reshape(const Tensor& one, IntArrayRef sizes) { return one.reshape(std::move(sizes)); }
inline Tensor squeeze(const Tensor& one, int64_t at) { return one.squeeze(at); }
inline Tensor unsqueeze(const Tensor& one, int64_t at) { return one.unsqueeze(at); }

}  // namespace torch
