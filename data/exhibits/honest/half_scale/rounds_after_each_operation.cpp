// verdict: correct ok
// Every operation in half precision, as the module itself computes.
extern "C" void kernel(const _Float16* x, const _Float16* scale, _Float16* out, int64_t x_0, int64_t x_1, int64_t,
                       int64_t, int64_t) {
  for (int64_t i = 0; i < x_0 * x_1; ++i) {
    const _Float16 product = x[i] * scale[i % x_1];
    const _Float16 y = product + (_Float16)0.25f;
    out[i] = y > (_Float16)0 ? y : (_Float16)0;
  }
}
