// verdict: correct ok
// A sum of outer products: the innermost loop runs along a row of b, and out is read back.
extern "C" void kernel(const float* a, const float* b, float* out, int64_t a_0, int64_t a_1, int64_t, int64_t b_1,
                       int64_t, int64_t) {
  for (int64_t i = 0; i < a_0 * b_1; ++i) out[i] = 0;
  for (int64_t k = 0; k < a_1; ++k)
    for (int64_t i = 0; i < a_0; ++i)
      for (int64_t j = 0; j < b_1; ++j) out[i * b_1 + j] += a[i * a_1 + k] * b[k * b_1 + j];
}
