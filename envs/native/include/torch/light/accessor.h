// Element access by index, on either side of a launch: sizes and strides travel by value.
#pragma once

#include "types.h"

namespace torch {

template <class T> struct RestrictPtrTraits { using PtrType = T* __restrict__; };
template <class T> struct DefaultPtrTraits { using PtrType = T*; };

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

}  // namespace torch
