// Numbers as PTX has them, a lane at a time; loops over lanes become vectors.
//
// How exact approximate functions are: PTX ISA 8.7, chapter 9.7.3. What is nearer to the truth here
// than it may be on a device is made as bad as is documented where a kernel could notice.
#pragma once
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef unsigned __int128 u128;

#define INLINE static inline __attribute__((always_inline))
#define INLINED inline __attribute__((always_inline))  // what specialises something static
#define CALL static __attribute__((noinline))
#define LANES _Pragma("omp simd") for (int l = 0; l < 32; ++l)
#define EACH(mask) for (u32 left_ = (mask), l; left_ && (l = __builtin_ctz(left_), true); left_ &= left_ - 1)
template <class T> using Lanes = T[32];

// ---- bits ------------------------------------------------------------------------------------
template <class To, class From> INLINE To as(From from) { To to; memcpy(&to, &from, sizeof to); return to; }
INLINE float f32(u32 x) { return as<float>(x); }
INLINE double f64(u64 x) { return as<double>(x); }
INLINE u32 bits(float x) { return as<u32>(x); }
INLINE u64 bits64(double x) { return as<u64>(x); }
INLINE float h2f(u16 x) { return (float)as<_Float16>(x); }
INLINE u16 f2h(float x) { return as<u16>((_Float16)x); }
INLINE u16 f2h(double x) { return as<u16>((_Float16)x); }
INLINE float b2f(u16 x) { return f32((u32)x << 16); }
INLINE u16 f2b(float x) {
  const u32 y = bits(x), rounded = (y + 0x7fff + (y >> 16 & 1)) >> 16;
  return x != x ? 0x7fff : (u16)rounded;
}
// Rounded once: to a float that keeps in its last bit whether anything was lost, then to 16 bits.
INLINE u16 f2b(double x) {
  const float y = (float)x;
  const bool lost = (double)y != x && x == x;
  const u32 toward_zero = bits(y) - (lost && (y < 0 ? -(double)y > -x : (double)y > x));
  return f2b(f32(lost ? toward_zero | 1 : bits(y)));
}
INLINE float to_tf32(float x) { return x != x ? x : f32((bits(x) + 0x1000) & ~0x1fffu); }
INLINE float cut_to_tf32(u32 x) { return f32(x & ~0x1fffu); }
INLINE u16 low16(u32 x) { return (u16)x; }
INLINE u16 high16(u32 x) { return (u16)(x >> 16); }
INLINE u32 pack16(u32 low, u32 high) { return (low & 0xffff) | high << 16; }

template <class T> struct Signs;
#define SIGNS(s, u) template <> struct Signs<s> { typedef u U; static const bool is_signed = true; }; template <> struct Signs<u> { typedef u U; static const bool is_signed = false; };
SIGNS(s8, u8) SIGNS(s16, u16) SIGNS(s32, u32) SIGNS(s64, u64)
#undef SIGNS
template <class T> using Unsigned = typename Signs<T>::U;
template <class T> constexpr u32 kBits = 8 * sizeof(T);

// ---- integers --------------------------------------------------------------------------------
template <class T> INLINE T lowest() { return Signs<T>::is_signed ? (T)((Unsigned<T>)1 << (kBits<T> - 1)) : (T)0; }
template <class T> INLINE T highest() { return (T)~lowest<T>(); }
template <class T> INLINE T shifted_left(T x, u32 n) { return n >= kBits<T> ? (T)0 : (T)((Unsigned<T>)x << (n & (kBits<T> - 1))); }
template <class T> INLINE T shifted_right(T x, u32 n) { return n >= kBits<T> ? (T)(x < 0 ? -1 : 0) : (T)(x >> (n & (kBits<T> - 1))); }
// No lane may trap, not even one whose result nobody takes.
template <class T> INLINE T quotient(T a, T b) {
  if (b == 0) return (T)-1;
  return Signs<T>::is_signed && b == (T)-1 ? (T)(0 - (Unsigned<T>)a) : (T)(a / b);
}
template <> INLINED float quotient<float>(float a, float b) { return a / b; }
template <> INLINED double quotient<double>(double a, double b) { return a / b; }
template <class T> INLINE T remainder_of(T a, T b) {
  if (b == 0) return a;
  return Signs<T>::is_signed && b == (T)-1 ? (T)0 : (T)(a % b);
}
template <class T> INLINE T high_product(T a, T b);
template <> INLINED s16 high_product<s16>(s16 a, s16 b) { return (s16)(((s32)a * b) >> 16); }
template <> INLINED u16 high_product<u16>(u16 a, u16 b) { return (u16)(((u32)a * b) >> 16); }
template <> INLINED s32 high_product<s32>(s32 a, s32 b) { return (s32)(((s64)a * b) >> 32); }
template <> INLINED u32 high_product<u32>(u32 a, u32 b) { return (u32)(((u64)a * b) >> 32); }
template <> INLINED s64 high_product<s64>(s64 a, s64 b) { return (s64)(((__int128)a * b) >> 64); }
template <> INLINED u64 high_product<u64>(u64 a, u64 b) { return (u64)(((u128)a * b) >> 64); }
INLINE s32 clamped_s32(s64 x) { return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : (s32)x; }
template <class To, class From> INLINE To clamped(From x) {
  const __int128 wide = x, low = lowest<To>(), high = highest<To>();
  return (To)(wide < low ? low : wide > high ? high : wide);
}
template <class T> INLINE T sum_of_differences(T a, T b, T c) { return (T)((Unsigned<T>)c + (a < b ? (Unsigned<T>)b - (Unsigned<T>)a : (Unsigned<T>)a - (Unsigned<T>)b)); }
template <class T> INLINE T bit_field(T x, u32 at, u32 count) {
  const u32 from = at & 255, n = count & 255, top = from + n - 1 < kBits<T> - 1 ? from + n - 1 : kBits<T> - 1;
  if (!n) return 0;
  const Unsigned<T> ones = (Unsigned<T>)~(Unsigned<T>)0;
  const Unsigned<T> sign = Signs<T>::is_signed && ((Unsigned<T>)x >> top & 1) ? ones : 0;
  const Unsigned<T> low = from >= kBits<T> ? sign : (Unsigned<T>)shifted_right<T>(x, from);
  if (n >= kBits<T>) return (T)low;
  const Unsigned<T> mask = ((Unsigned<T>)1 << n) - 1;
  return (T)((low & mask) | (sign & ~mask));
}
template <class U> INLINE U insert_bits(U a, U b, u32 at, u32 count) {
  const u32 from = at & 255, n = count & 255;
  if (from >= kBits<U> || !n) return b;
  const U mask = (U)((n >= kBits<U> ? ~(U)0 : ((U)1 << n) - 1) << from);
  return (U)((b & ~mask) | ((U)(a << from) & mask));
}
template <class U> INLINE U reversed_bits(U x) {
  U y = 0;
  for (u32 i = 0; i < kBits<U>; ++i) y = (U)(y << 1 | (x >> i & 1));
  return y;
}
template <class U> INLINE u32 leading_zeros(U x) { return x ? (u32)__builtin_clzll((u64)x) - (64 - kBits<U>) : kBits<U>; }
template <class T, bool SHIFT> INLINE u32 highest_bit(T x) {
  const Unsigned<T> y = (Unsigned<T>)(x < 0 ? ~x : x);
  if (!y) return ~0u;
  const u32 at = 63 - (u32)__builtin_clzll((u64)y);
  return SHIFT ? kBits<T> - 1 - at : at;
}
INLINE u32 permuted(u32 a, u32 b, u32 how) {
  const u64 all = (u64)b << 32 | a;
  u32 found = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 pick = how >> (4 * i) & 15, byte = (u32)(all >> (8 * (pick & 7))) & 255;
    found |= (pick & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
  }
  return found;
}
template <int TABLE> INLINE u32 lop3(u32 a, u32 b, u32 c) {
  u32 found = 0;
  for (int i = 0; i < 8; ++i)
    if (TABLE >> i & 1) found |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return found;
}
// So many ones from this bit on. Either number counts in full, or but for its last five bits.
template <bool CLAMP> INLINE u32 mask_of_bits(u32 at, u32 count) {
  const u32 from = CLAMP ? (at < 32 ? at : 32) : at & 31, n = CLAMP ? (count < 32 ? count : 32) : count & 31;
  return (u32)((((u64)1 << n) - 1) << from);
}
INLINE u32 funnel_left(u32 a, u32 b, u32 n) { return (u32)((((u64)b << 32 | a) << n) >> 32); }
INLINE u32 funnel_right(u32 a, u32 b, u32 n) { return (u32)(((u64)b << 32 | a) >> n); }

// ---- numbers with a point -------------------------------------------------------------------
INLINE float flushed(float x) { return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.f, x) : x; }
INLINE u32 flushed(u32 x) { return bits(flushed(f32(x))); }
INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
template <class T> INLINE T unit_interval(T x) { return x > 0 ? (x < 1 ? x : (T)1) : (T)0; }
// Of two zeros the positive one is greater; a number is chosen before a NaN, unless NANs are kept.
template <bool NANS, class T> INLINE T least(T a, T b) { return a < b ? a : b; }
template <bool NANS, class T> INLINE T most(T a, T b) { return a > b ? a : b; }
#define EXTREMES(T, sign)                                                                            \
  template <bool NANS> INLINE T least(T a, T b) {                                                    \
    const T x = a < b || (a == b && sign(a)) ? a : b;                                                \
    return NANS ? (a != a ? a : b != b ? b : x) : (b != b ? a : x);                                  \
  }                                                                                                  \
  template <bool NANS> INLINE T most(T a, T b) {                                                     \
    const T x = a > b || (a == b && !sign(a)) ? a : b;                                               \
    return NANS ? (a != a ? a : b != b ? b : x) : (b != b ? a : x);                                  \
  }
EXTREMES(float, __builtin_signbitf)
EXTREMES(double, __builtin_signbit)
#undef EXTREMES
template <class T> INLINE T absolute(T x) { return x < 0 ? (T)(0 - (Unsigned<T>)x) : x; }
template <> INLINED float absolute<float>(float x) { return __builtin_fabsf(x); }
template <> INLINED double absolute<double>(double x) { return __builtin_fabs(x); }
template <class T> INLINE T negative(T x) { return (T)(0 - (Unsigned<T>)x); }
template <> INLINED float negative<float>(float x) { return -x; }
template <> INLINED double negative<double>(double x) { return -x; }
template <class T> INLINE T with_sign(T value, T sign);
template <> INLINED float with_sign<float>(float value, float sign) { return __builtin_copysignf(value, sign); }
template <> INLINED double with_sign<double>(double value, double sign) { return __builtin_copysign(value, sign); }
INLINE float root(float x) { return __builtin_sqrtf(x); }
INLINE double root(double x) { return __builtin_sqrt(x); }
template <class T> INLINE bool is_number(T x) { return x == x; }
template <class T> INLINE bool is_notanumber(T x) { return x != x; }
template <class T> INLINE bool is_finite(T x) { return __builtin_isfinite(x); }
template <class T> INLINE bool is_infinite(T x) { return __builtin_isinf(x); }
template <class T> INLINE bool is_normal(T x) { return __builtin_isnormal(x); }
template <class T> INLINE bool is_subnormal(T x) { return __builtin_isfinite(x) && !__builtin_isnormal(x) && x != 0; }
// To an integer: NaN is 0, what is too large is the largest. x is whole already.
template <class To, class From> INLINE To saturated(From x) {
  const From low = (From)lowest<To>(), high = (From)highest<To>();
  return x != x ? (To)0 : x <= low ? lowest<To>() : x >= high ? highest<To>() : (To)x;
}

// ---- rounding in one direction -------------------------------------------------------------
enum class Toward { kZero, kDown, kUp };
// The float next to `near` in that direction, unless `near` is the sum of `sum` and `rest` or on the right side.
template <Toward HOW> INLINE float directed(float near, double sum, double rest) {
  const double beyond = ((double)near - sum) - rest;  // above 0: near is too large
  const bool finite = __builtin_isfinite(sum) && near == near;  // near may be infinite where sum is not
  const u32 x = bits(near);
  const bool negative_one = x >> 31;
  const bool down = HOW == Toward::kDown ? beyond > 0 : HOW == Toward::kZero ? beyond > 0 && sum > 0 : false;
  const bool up = HOW == Toward::kUp ? beyond < 0 : HOW == Toward::kZero ? beyond < 0 && sum < 0 : false;
  const u32 below = x << 1 == 0 ? 0x80000001u : negative_one ? x + 1 : x - 1;
  const u32 above = x << 1 == 0 ? 1u : negative_one ? x - 1 : x + 1;
  return !finite ? near : f32(down ? below : up ? above : x);
}
INLINE double lost_in_sum(double a, double b, double sum) {  // Knuth's two-sum
  const double part = sum - a;
  return (a - (sum - part)) + (b - part);
}
// For halves: its last bit says whether anything was lost, so that a second rounding does no harm.
INLINE double fused_odd(double a, double b, double c) {
  const double product = a * b, sum = product + c, rest = lost_in_sum(product, c, sum);  // the product is exact
  const u64 x = bits64(sum);
  const bool inward = (rest < 0) == (sum > 0);
  return rest == 0 || !__builtin_isfinite(sum) ? sum : f64((inward ? x - 1 : x) | 1);
}
template <Toward HOW> INLINE float fma_toward(float a, float b, float c) {
  const double product = (double)a * b, sum = product + c;  // the product is exact
  return directed<HOW>(__builtin_fmaf(a, b, c), sum, lost_in_sum(product, c, sum));
}
template <Toward HOW> INLINE float add_toward(float a, float b) {
  const double sum = (double)a + b;
  return directed<HOW>(a + b, sum, lost_in_sum(a, b, sum));
}
template <Toward HOW> INLINE float sub_toward(float a, float b) { return add_toward<HOW>(a, -b); }
template <Toward HOW> INLINE float mul_toward(float a, float b) { return directed<HOW>(a * b, (double)a * b, 0); }
INLINE float truncated_bf16(float x) { return x != x ? x : f32(bits(x) & 0xffff0000u); }
INLINE float truncated_f16(float x) {
  const float near = h2f(f2h(x));
  const u16 y = f2h(x);
  return x != x || __builtin_fabsf(near) <= __builtin_fabsf(x) ? near : h2f((u16)(y - 1));
}
INLINE double truncated_f32(double x) {
  const float near = (float)x;
  return __builtin_fabs((double)near) <= __builtin_fabs(x) || x != x ? (double)near : (double)f32(bits(near) - 1);
}

// ---- approximate functions ------------------------------------------------------------------
// 2^x to two units in the last place, as the table says: 2^-22 relative.
INLINE float exp2_approx(float x) {
  const float t = x < -151.f ? -151.f : x > 129.f ? 129.f : x;
  const float whole = __builtin_rintf(t), f = t - whole;
  float p = 1.53537e-4f;
  p = p * f + 1.3398874e-3f;
  p = p * f + 9.6184373e-3f;
  p = p * f + 5.5503325e-2f;
  p = p * f + 2.4022648e-1f;
  p = p * f + 6.9314720e-1f;
  p = p * f + 1.f;
  const s32 n = (s32)whole, half = n >> 1;
  const float y = p * f32((u32)(half + 127) << 23) * f32((u32)(n - half + 127) << 23);
  return x != x ? x : y;
}
// Absolute error 2^-22 where the result is small: no more digits than that.
INLINE float log2_approx(float x) {
  const float y = (float)__builtin_log2((double)x);
  const float coarse = __builtin_rintf(y * 0x1p22f) * 0x1p-22f;
  return __builtin_fabsf(y) < 1.f ? coarse : y;
}
// The argument is reduced in single precision: the error grows with it.
INLINE double turned(float x) {
  const float turns = x * 0.15915494f;
  return 6.283185307179586 * (double)(turns - __builtin_rintf(turns));
}
INLINE float sine_approx(float x) { return __builtin_isfinite(x) ? (float)__builtin_sin(turned(x)) : x - x; }
INLINE float cosine_approx(float x) { return __builtin_isfinite(x) ? (float)__builtin_cos(turned(x)) : x - x; }
INLINE float tanh_approx(float x) {  // eleven bits
  const float y = (float)__builtin_tanh((double)x);
  return y != y ? y : f32((bits(y) + 0x800) & ~0xfffu);
}
