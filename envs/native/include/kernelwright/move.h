// Elements moved from one strided tensor to another, and made another type where the two differ.
#pragma once

#include <stdint.h>
#include <string.h>

namespace kernelwright {

// torch's own numbers (c10/core/ScalarType.h).
enum Type : int64_t { kU8 = 0, kS8 = 1, kS16 = 2, kS32 = 3, kS64 = 4, kF16 = 5, kF32 = 6, kF64 = 7, kB8 = 11, kBF16 = 15 };
constexpr int kMostDim = 16;

// A tensor: where its memory begins, how much there is of it, and what of it the tensor is. `made` is the
// number of the memory among those that a call has made, -1 where it was given (guest/library.py).
struct Wire {
  void* storage;
  int64_t bytes, made, type, device, offset, dim, sizes[kMostDim], strides[kMostDim];
};

constexpr int64_t bytes_of(int64_t type) {
  return type == kS64 || type == kF64 ? 8 : type == kS32 || type == kF32 ? 4 : type == kS16 || type == kF16 || type == kBF16 ? 2 : 1;
}

namespace moving {

template <class T> void row(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count) {
  if (to_step == sizeof(T) && from_step == sizeof(T)) return (void)memcpy(to, from, count * sizeof(T));
  for (int64_t i = 0; i < count; ++i) *reinterpret_cast<T*>(to + i * to_step) = *reinterpret_cast<const T*>(from + i * from_step);
}

template <class T> T read(const char* at) { T one; memcpy(&one, at, sizeof one); return one; }
template <class T> void write(char* at, T one) { memcpy(at, &one, sizeof one); }

struct Number { bool whole; int64_t integer; double real; };

inline Number load(const char* at, int64_t type) {
  const auto whole = [](int64_t one) { return Number{true, one, static_cast<double>(one)}; };
  const auto real = [](double one) { return Number{false, 0, one}; };
  switch (type) {
    case kS8: return whole(read<int8_t>(at));
    case kS16: return whole(read<int16_t>(at));
    case kS32: return whole(read<int32_t>(at));
    case kS64: return whole(read<int64_t>(at));
#ifndef __CUDACC__  // which does not know the type
    case kF16: return real(read<_Float16>(at));
#endif
    case kBF16: { float one; const uint32_t bits = static_cast<uint32_t>(read<uint16_t>(at)) << 16; memcpy(&one, &bits, 4); return real(one); }
    case kF32: return real(read<float>(at));
    case kF64: return real(read<double>(at));
    default: return whole(read<uint8_t>(at));
  }
}

inline uint16_t brain(float one) {  // to nearest, ties to even
  uint32_t bits;
  memcpy(&bits, &one, 4);
  return one != one ? 0x7fc0 : static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline void store(char* at, int64_t type, const Number& one) {
  const int64_t integer = one.whole ? one.integer : static_cast<int64_t>(one.real);
  switch (type) {
    case kS8: return write<int8_t>(at, integer);
    case kS16: return write<int16_t>(at, integer);
    case kS32: return write<int32_t>(at, integer);
    case kS64: return write<int64_t>(at, integer);
#ifndef __CUDACC__
    case kF16: return write<_Float16>(at, static_cast<_Float16>(static_cast<float>(one.real)));
#endif
    case kBF16: return write<uint16_t>(at, brain(static_cast<float>(one.real)));
    case kF32: return write<float>(at, static_cast<float>(one.real));
    case kF64: return write<double>(at, one.real);
    case kB8: return write<uint8_t>(at, one.whole ? one.integer != 0 : one.real != 0);
    default: return write<uint8_t>(at, integer);
  }
}

}  // namespace moving

// Both of `dim` sizes; strides count elements of each one's own type.
inline void move(int64_t dim, const int64_t* sizes, char* to, int64_t to_type, const int64_t* to_strides, const char* from, int64_t from_type,
                 const int64_t* from_strides) {
  const int64_t to_bytes = bytes_of(to_type), from_bytes = bytes_of(from_type);
  int64_t length[kMostDim], to_step[kMostDim], from_step[kMostDim], at[kMostDim] = {}, count = 0;
  for (int64_t d = 0; d < dim; ++d) {
    if (!sizes[d]) return;
    if (sizes[d] == 1) continue;
    const int64_t a = to_strides[d] * to_bytes, b = from_strides[d] * from_bytes;
    // Two dimensions that lie in each other as they do on the other side are one.
    const bool joins = count && to_step[count - 1] == a * sizes[d] && from_step[count - 1] == b * sizes[d];
    const int64_t where = joins ? count - 1 : count++;
    length[where] = joins ? length[where] * sizes[d] : sizes[d], to_step[where] = a, from_step[where] = b;
  }
  if (!count) length[0] = 1, to_step[0] = to_bytes, from_step[0] = from_bytes, count = 1;
  const int64_t last = count - 1, n = length[last];
  for (;;) {
    if (to_type != from_type)
      for (int64_t i = 0; i < n; ++i) moving::store(to + i * to_step[last], to_type, moving::load(from + i * from_step[last], from_type));
    else if (to_bytes == 8) moving::row<uint64_t>(to, to_step[last], from, from_step[last], n);
    else if (to_bytes == 4) moving::row<uint32_t>(to, to_step[last], from, from_step[last], n);
    else if (to_bytes == 2) moving::row<uint16_t>(to, to_step[last], from, from_step[last], n);
    else moving::row<uint8_t>(to, to_step[last], from, from_step[last], n);
    int64_t d = last - 1;
    for (; d >= 0; --d) {
      to += to_step[d], from += from_step[d];
      if (++at[d] < length[d]) break;
      to -= to_step[d] * length[d], from -= from_step[d] * length[d], at[d] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace kernelwright
