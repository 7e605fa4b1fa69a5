// at::vec: so many numbers side by side, which the compiler makes one register of.
#pragma once

#include <torch/extension.h>

namespace torch::vec {

template <class T> class Vectorized {
 public:
  static constexpr int kCount = 32 / sizeof(T);
  using value_type = T;
  Vectorized() = default;
  Vectorized(T value) { std::fill_n(all_, kCount, value); }
  template <class... Rest, class = std::enable_if_t<sizeof...(Rest) == kCount - 2>>
  Vectorized(T first, T second, Rest... rest) : all_{first, second, static_cast<T>(rest)...} {}
  static constexpr int size() { return kCount; }
  static Vectorized loadu(const void* from, int64_t count = kCount) {
    Vectorized one(T(0));
    std::memcpy(one.all_, from, count * sizeof(T));
    return one;
  }
  void store(void* to, int64_t count = kCount) const { std::memcpy(to, all_, count * sizeof(T)); }
  T operator[](int i) const { return all_[i]; }
  T& operator[](int i) { return all_[i]; }
  template <class Function> Vectorized map(const Function& function) const {
    Vectorized one;
    for (int i = 0; i < kCount; ++i) one.all_[i] = function(all_[i]);
    return one;
  }
  template <class Function> Vectorized with(const Vectorized& other, const Function& function) const {
    Vectorized one;
    for (int i = 0; i < kCount; ++i) one.all_[i] = function(all_[i], other.all_[i]);
    return one;
  }
  Vectorized exp() const { return map([](T x) { return std::exp(x); }); }
  Vectorized exp_u20() const { return exp(); }
  Vectorized expm1() const { return map([](T x) { return std::expm1(x); }); }
  Vectorized log() const { return map([](T x) { return std::log(x); }); }
  Vectorized log1p() const { return map([](T x) { return std::log1p(x); }); }
  Vectorized tanh() const { return map([](T x) { return std::tanh(x); }); }
  Vectorized erf() const { return map([](T x) { return std::erf(x); }); }
  Vectorized sin() const { return map([](T x) { return std::sin(x); }); }
  Vectorized cos() const { return map([](T x) { return std::cos(x); }); }
  Vectorized sqrt() const { return map([](T x) { return std::sqrt(x); }); }
  Vectorized rsqrt() const { return map([](T x) { return T(1) / std::sqrt(x); }); }
  Vectorized reciprocal() const { return map([](T x) { return T(1) / x; }); }
  Vectorized abs() const { return map([](T x) { return std::abs(x); }); }
  Vectorized neg() const { return map([](T x) { return -x; }); }
  Vectorized floor() const { return map([](T x) { return std::floor(x); }); }
  Vectorized ceil() const { return map([](T x) { return std::ceil(x); }); }
  Vectorized round() const { return map([](T x) { return std::nearbyint(x); }); }
  Vectorized pow(const Vectorized& other) const { return with(other, [](T x, T y) { return std::pow(x, y); }); }
  Vectorized operator-() const { return neg(); }
  Vectorized operator+(const Vectorized& other) const { return with(other, [](T x, T y) { return x + y; }); }
  Vectorized operator-(const Vectorized& other) const { return with(other, [](T x, T y) { return x - y; }); }
  Vectorized operator*(const Vectorized& other) const { return with(other, [](T x, T y) { return x * y; }); }
  Vectorized operator/(const Vectorized& other) const { return with(other, [](T x, T y) { return x / y; }); }
  Vectorized& operator+=(const Vectorized& other) { return *this = *this + other; }
  Vectorized& operator-=(const Vectorized& other) { return *this = *this - other; }
  Vectorized& operator*=(const Vectorized& other) { return *this = *this * other; }
  Vectorized& operator/=(const Vectorized& other) { return *this = *this / other; }
  // A comparison has all bits set where it holds, as a mask for blendv.
  Vectorized operator<(const Vectorized& other) const { return masked(other, [](T x, T y) { return x < y; }); }
  Vectorized operator>(const Vectorized& other) const { return masked(other, [](T x, T y) { return x > y; }); }
  Vectorized operator<=(const Vectorized& other) const { return masked(other, [](T x, T y) { return x <= y; }); }
  Vectorized operator>=(const Vectorized& other) const { return masked(other, [](T x, T y) { return x >= y; }); }
  Vectorized operator==(const Vectorized& other) const { return masked(other, [](T x, T y) { return x == y; }); }
  Vectorized operator!=(const Vectorized& other) const { return masked(other, [](T x, T y) { return x != y; }); }
  static Vectorized blendv(const Vectorized& no, const Vectorized& yes, const Vectorized& mask) {
    Vectorized one;
    for (int i = 0; i < kCount; ++i) one.all_[i] = reinterpret_cast<const char*>(mask.all_ + i)[sizeof(T) - 1] ? yes.all_[i] : no.all_[i];
    return one;
  }

 private:
  template <class Holds> Vectorized masked(const Vectorized& other, const Holds& holds) const {
    Vectorized one;
    for (int i = 0; i < kCount; ++i) std::memset(one.all_ + i, holds(all_[i], other.all_[i]) ? 0xff : 0, sizeof(T));
    return one;
  }
  alignas(32) T all_[kCount];
};

template <class T> Vectorized<T> fmadd(const Vectorized<T>& a, const Vectorized<T>& b, const Vectorized<T>& c) {
  Vectorized<T> one;
  for (int i = 0; i < one.size(); ++i) one[i] = std::fma(a[i], b[i], c[i]);
  return one;
}
// As torch's: what is no number stays none.
template <class T> Vectorized<T> maximum(const Vectorized<T>& a, const Vectorized<T>& b) { return a.with(b, [](T x, T y) { return x != x || x > y ? x : y; }); }
template <class T> Vectorized<T> minimum(const Vectorized<T>& a, const Vectorized<T>& b) { return a.with(b, [](T x, T y) { return x != x || x < y ? x : y; }); }
template <class T> Vectorized<T> clamp_min(const Vectorized<T>& a, const Vectorized<T>& low) { return a.with(low, [](T x, T y) { return x < y ? y : x; }); }
template <class T> Vectorized<T> clamp_max(const Vectorized<T>& a, const Vectorized<T>& high) { return a.with(high, [](T x, T y) { return x > y ? y : x; }); }
template <class T> Vectorized<T> clamp(const Vectorized<T>& a, const Vectorized<T>& low, const Vectorized<T>& high) { return clamp_max(clamp_min(a, low), high); }

template <class T, class Function> void map(const Function& function, T* to, const T* from, int64_t count) {
  using Vec = Vectorized<T>;
  for (int64_t i = 0; i < count; i += Vec::size()) {
    const int64_t some = std::min<int64_t>(Vec::size(), count - i);
    function(Vec::loadu(from + i, some)).store(to + i, some);
  }
}
template <class T, class Function> void map2(const Function& function, T* to, const T* a, const T* b, int64_t count) {
  using Vec = Vectorized<T>;
  for (int64_t i = 0; i < count; i += Vec::size()) {
    const int64_t some = std::min<int64_t>(Vec::size(), count - i);
    function(Vec::loadu(a + i, some), Vec::loadu(b + i, some)).store(to + i, some);
  }
}
template <class T, class Function> T vec_reduce_all(const Function& function, Vectorized<T> all) {
  T one = all[0];
  for (int i = 1; i < all.size(); ++i) one = function(Vectorized<T>(one), Vectorized<T>(all[i]))[0];
  return one;
}
template <class T, class Function> T reduce_all(const Function& function, const T* from, int64_t count) {
  T one = from[0];
  for (int64_t i = 1; i < count; ++i) one = function(Vectorized<T>(one), Vectorized<T>(from[i]))[0];
  return one;
}

}  // namespace torch::vec
