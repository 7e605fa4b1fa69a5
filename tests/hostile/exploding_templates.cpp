// verdict: build_failed compile_memory
// Two to the 26th instantiations.
template <int A, int B> struct F {
  static constexpr long v = F<A - 1, 2 * B>::v + F<A - 1, 2 * B + 1>::v;
};
template <int B> struct F<0, B> {
  static constexpr long v = B;
};
long bomb = F<26, 1>::v;
