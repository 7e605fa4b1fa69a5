// Matrices that a warp holds in parts (wmma). Who holds what is the manual's secret: here it is as mma.sync has it,
// tiles of 8x8 down the columns first, twice over where a type has more room than elements.
#pragma once
#include "lanes.h"

enum Space { GENERIC, GLOBAL, SHARED };
template <int ROWS, bool ROW_MAJOR> INLINE u32 element(int lane, int slot, u32 stride) {
  const u32 row = (lane >> 2) + 8 * (slot / 2 % (ROWS / 8)), column = (lane & 3) * 2 + slot % 2 + 8 * (slot / 2 / (ROWS / 8));
  return ROW_MAJOR ? row * stride + column : column * stride + row;
}
// The lane that says where the matrix is, as all should: the first. All of them should be there.
template <class T, class At> INLINE int leader(Warp& w, u32 id, u32 mask, const At* at, const u32* stride) {
  const int first = __builtin_ctz(mask);
  if (mask != ~0u) warn(kDiverged, *w.block, id, first, w.number, 0);
  if ((at[first] & 15) || (stride[first] * sizeof(T) & 15)) fail(kMisaligned, *w.block, id, first, w.number, sizeof(At) == 4 ? kSharedWindow + at[first] : at[first]);
  return first;
}
// Where lanes find a slot.
template <class T, int ROWS, bool ROW_MAJOR, class At> INLINE void aim(At start, u32 stride, int slot, At* to) {
  LANES to[l] = start + (At)element<ROWS, ROW_MAJOR>(l, slot, stride) * (At)sizeof(T);
}
template <class T, int ROWS, int COLUMNS, bool ROW_MAJOR, int REGISTERS, Space SPACE, class At>
CALL void load_fragment(Warp& w, u32 id, u32 mask, const At* at, const u32* stride, Lanes<u32>* to) {
  if (!mask) return;
  const int first = leader<T>(w, id, mask, at, stride);
  constexpr int per = 4 / sizeof(T), some = ROWS * COLUMNS / 32;
  alignas(64) At place[32];
  alignas(64) T found[1][32];
  for (int i = 0; i < REGISTERS; ++i) LANES to[i][l] = 0;
  for (int slot = 0; slot < some; ++slot) {
    aim<T, ROWS, ROW_MAJOR>(at[first], stride[first], slot, place);
    if constexpr (SPACE == SHARED) load_shared<T, 1>(w, id, ~0u, place, found);
    else if constexpr (SPACE == GLOBAL) load_global<T, 1>(w, id, ~0u, place, found);
    else load_generic<T, 1>(w, id, ~0u, place, found);
    for (int copy = slot; copy < REGISTERS * per; copy += some) LANES to[copy / per][l] |= (u32)found[0][l] << 8 * sizeof(T) * (copy % per);
  }
}
template <class T> INLINE T held(const Lanes<u32>* registers, int slot, int lane) {
  constexpr int per = 4 / sizeof(T);
  return (T)(registers[slot / per][lane] >> 8 * sizeof(T) * (slot % per));
}
template <class T, int ROWS, int COLUMNS, bool ROW_MAJOR, Space SPACE, class At>
CALL void store_fragment(Warp& w, u32 id, u32 mask, const At* at, const u32* stride, const Lanes<u32>* from) {
  if (!mask) return;
  const int first = leader<T>(w, id, mask, at, stride);
  alignas(64) At place[32];
  alignas(64) T left[1][32];
  for (int slot = 0; slot < ROWS * COLUMNS / 32; ++slot) {
    aim<T, ROWS, ROW_MAJOR>(at[first], stride[first], slot, place);
    for (int l = 0; l < 32; ++l) left[0][l] = held<T>(from, slot, l);
    if constexpr (SPACE == SHARED) store_shared<T, 1>(w, id, ~0u, place, left);
    else if constexpr (SPACE == GLOBAL) store_global<T, 1>(w, id, ~0u, place, left);
    else store_generic<T, 1>(w, id, ~0u, place, left);
  }
}

// What an element is, and what is left of a sum.
struct F16 { using bits = u16; static float get(u16 x) { return h2f(x); } static u16 put(float x) { return f2h(x); } };
struct BF16 { using bits = u16; static float get(u16 x) { return b2f(x); } };
struct TF32 { using bits = u32; static float get(u32 x) { return cut_to_tf32(x); } };
struct F32 { using bits = u32; static float get(u32 x) { return f32(x); } static u32 put(float x) { return ::bits(x); } };
struct S8 { using bits = u8; static s64 get(u8 x) { return (s8)x; } };
struct U8 { using bits = u8; static s64 get(u8 x) { return x; } };
template <bool SATURATED> struct S32 { using bits = u32; static s64 get(u32 x) { return (s32)x; } static u32 put(s64 x) { return SATURATED ? (u32)clamped_s32(x) : (u32)x; } };

template <int ROWS, int COLUMNS, class N, class Number> INLINE void spread(const Lanes<u32>* from, Number* to) {
  for (int l = 0; l < 32; ++l)
    for (int slot = 0; slot < ROWS * COLUMNS / 32; ++slot) to[element<ROWS, true>(l, slot, COLUMNS)] = N::get(held<typename N::bits>(from, slot, l));
}
template <int M, int N, int K, class D, class A, class B, class C, int REGISTERS>
CALL void multiply_fragments(const Lanes<u32>* a, const Lanes<u32>* b, const Lanes<u32>* c, Lanes<u32>* d) {
  using Number = decltype(A::get(0));
  alignas(64) Number x[M * K], y[K * N], sum[M * N];
  spread<M, K, A>(a, x), spread<K, N, B>(b, y), spread<M, N, C>(c, sum);
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < N; ++j) sum[i * N + j] += x[i * K + k] * y[k * N + j];
  constexpr int per = 4 / sizeof(typename D::bits);
  for (int i = 0; i < REGISTERS; ++i) LANES d[i][l] = 0;
  for (int l = 0; l < 32; ++l)
    for (int slot = 0; slot < M * N / 32; ++slot) d[slot / per][l] |= (u32)D::put(sum[element<M, true>(l, slot, N)]) << 8 * sizeof(typename D::bits) * (slot % per);
}
