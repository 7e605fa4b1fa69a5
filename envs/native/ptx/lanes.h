// What lanes of a warp tell each other, and tensor cores: a product for the whole warp.
#pragma once
#include "memory.h"

enum Shuffle { UP, DOWN, BFLY, IDX };
template <Shuffle HOW> CALL void shuffle(Warp& w, u32 id, u32 mask, const u32* a, const u32* by, const u32* c, const u32* members, u32* d, u32* p) {
  EACH(mask) {
    const int lane = (int)l, step = by[l] & 31, clamp = c[l] & 31, segment = c[l] >> 8 & 31;
    const int top = (lane & segment) | (clamp & ~segment), bottom = lane & segment;
    const int from = HOW == UP ? lane - step : HOW == DOWN ? lane + step : HOW == BFLY ? lane ^ step : bottom | (step & ~segment);
    const bool inside = HOW == UP ? from >= top : from <= top;
    const u32 source = inside ? (u32)from & 31 : l;
    // A lane that is not there, or that the mask leaves out, has nothing to tell.
    const bool told = (mask & members[l]) >> source & members[l] >> l & 1;
    if (!told) warn(kIdleLane, *w.block, id, l, w.number, 0);
    d[l] = told ? a[source] : (u32)w.block->unset;
    p[l] = inside;
  }
}
// Lanes that an operation names and that are not there: they should have come.
INLINE void meet(Warp& w, u32 id, u32 mask, const u32* members) {
  if (mask && (members[__builtin_ctz(mask)] & w.alive & ~mask)) warn(kDiverged, *w.block, id, __builtin_ctz(mask), w.number, 0);
}
INLINE void vote(Block& b, const u32* p, u32 mask) {
  Vote& one = b.votes[b.epoch & 1];
  if (one.epoch != b.epoch) one = {b.epoch, 0, 0};
  one.yes += __builtin_popcount(taken(p) & mask), one.asked += __builtin_popcount(mask);
}
INLINE const Vote& voted(const Block& b) { return b.votes[(b.epoch - 1) & 1]; }

// ---- tensor cores -----------------------------------------------------------------------------
// c += a x b, in the places that the manual gives to lanes (PTX ISA 8.7, chapter 9.7.14.5).
template <int K> struct Tile { alignas(64) float a[16][K], b[K][8], c[16][8]; };
template <int K> INLINE void multiply(Tile<K>& t) {
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < K; ++k)
      _Pragma("omp simd") for (int j = 0; j < 8; ++j) t.c[i][j] += t.a[i][k] * t.b[k][j];
}
template <bool BF> INLINE float half_of(u32 x, int i) { const u16 y = i ? high16(x) : low16(x); return BF ? b2f(y) : h2f(y); }
template <int K> INLINE void get_c(Tile<K>& t, const Lanes<u32>* c) {
  for (int l = 0; l < 32; ++l) for (int i = 0; i < 4; ++i) t.c[(l >> 2) + (i >> 1) * 8][(l & 3) * 2 + (i & 1)] = f32(c[i][l]);
}
template <int K> INLINE void put_d(Tile<K>& t, Lanes<u32>* d) {
  for (int l = 0; l < 32; ++l) for (int i = 0; i < 4; ++i) d[i][l] = bits(t.c[(l >> 2) + (i >> 1) * 8][(l & 3) * 2 + (i & 1)]);
}
template <int K, bool BF> CALL void mma_half(const Lanes<u32>* a, const Lanes<u32>* b, const Lanes<u32>* c, Lanes<u32>* d) {
  Tile<K> t;
  for (int l = 0; l < 32; ++l) {
    const int g = l >> 2, q = (l & 3) * 2;
    for (int r = 0; r < K / 4; ++r) for (int i = 0; i < 2; ++i) t.a[g + (r & 1) * 8][q + i + (r >> 1) * 8] = half_of<BF>(a[r][l], i);
    for (int r = 0; r < K / 8; ++r) for (int i = 0; i < 2; ++i) t.b[q + i + r * 8][g] = half_of<BF>(b[r][l], i);
  }
  get_c(t, c), multiply(t), put_d(t, d);
}
template <int K> CALL void mma_half_half(const Lanes<u32>* a, const Lanes<u32>* b, const Lanes<u32>* c, Lanes<u32>* d) {
  alignas(64) u32 wide[4][32], out[4][32];
  for (int l = 0; l < 32; ++l) for (int i = 0; i < 4; ++i) wide[i][l] = bits(half_of<false>(c[i >> 1][l], i & 1));
  mma_half<K, false>(a, b, wide, out);
  for (int l = 0; l < 32; ++l) for (int i = 0; i < 2; ++i) d[i][l] = pack16(f2h(f32(out[2 * i][l])), f2h(f32(out[2 * i + 1][l])));
}
template <int K> CALL void mma_tf32(const Lanes<u32>* a, const Lanes<u32>* b, const Lanes<u32>* c, Lanes<u32>* d) {
  Tile<K> t;
  for (int l = 0; l < 32; ++l) {
    const int g = l >> 2, q = l & 3;
    for (int r = 0; r < K / 2; ++r) t.a[g + (r & 1) * 8][q + (r >> 1) * 4] = cut_to_tf32(a[r][l]);
    for (int r = 0; r < K / 4; ++r) t.b[q + r * 4][g] = cut_to_tf32(b[r][l]);
  }
  get_c(t, c), multiply(t), put_d(t, d);
}
// Bytes, signed or not, summed as 32 bits.
template <int K, class A, class B, bool SATURATED> CALL void mma_bytes(const Lanes<u32>* a, const Lanes<u32>* b, const Lanes<u32>* c, Lanes<u32>* d) {
  s32 x[16][K], y[K][8];
  for (int l = 0; l < 32; ++l) {
    const int g = l >> 2, q = (l & 3) * 4;
    for (int r = 0; r < K / 8; ++r) for (int i = 0; i < 4; ++i) x[g + (r & 1) * 8][q + i + (r >> 1) * 16] = (A)(a[r][l] >> (8 * i));
    for (int r = 0; r < K / 16; ++r) for (int i = 0; i < 4; ++i) y[q + i + r * 16][g] = (B)(b[r][l] >> (8 * i));
  }
  for (int l = 0; l < 32; ++l) for (int i = 0; i < 4; ++i) {
    const int row = (l >> 2) + (i >> 1) * 8, column = (l & 3) * 2 + (i & 1);
    s64 sum = (s32)c[i][l];
    for (int k = 0; k < K; ++k) sum += x[row][k] * y[k][column];
    d[i][l] = SATURATED ? (u32)clamped_s32(sum) : (u32)sum;
  }
}
template <int N, bool TRANSPOSED> CALL void load_matrix(Warp& w, u32 id, u32 mask, const u32* a, Lanes<u32>* to) {
  if (mask != ~0u) warn(kDiverged, *w.block, id, mask ? __builtin_ctz(mask) : 0, w.number, 0);
  const u32 rows = N == 4 ? ~0u : (u32)((1ull << (8 * N)) - 1);
  Reach at;
  reach_shared<16>(w, id, a, rows, at);
  count_shared<16>(at.a, rows, at.one, at.row);
  if (!touch_all<kRead>(w, at, 16)) EACH(rows) touch<kRead>(w, id, l, a[l], 16, true);
  const u8* from = w.block->shared;
  for (int i = 0; i < N; ++i)
    for (int l = 0; l < 32; ++l)
      for (int e = 0; e < 2; ++e) {
        const int row = TRANSPOSED ? (l & 3) * 2 + e : l >> 2, column = TRANSPOSED ? l >> 2 : (l & 3) * 2 + e;
        u16 value;
        memcpy(&value, from + a[i * 8 + row] + column * 2, 2);
        to[i][l] = e ? (to[i][l] & 0xffff) | (u32)value << 16 : value;
      }
}
