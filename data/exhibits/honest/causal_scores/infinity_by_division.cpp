// verdict: correct ok
// Minus infinity is −1/0, which IEEE 754 allows; it is written before the products are known.
extern "C" void kernel(const float* q, const float* k, const bool* allowed, float* out, int64_t q_0, int64_t q_1,
                       int64_t k_0, int64_t, int64_t, int64_t, int64_t, int64_t) {
  volatile float zero = 0;
  for (int64_t i = 0; i < q_0 * k_0; ++i) out[i] = -1.0f / zero;
  for (int64_t i = 0; i < q_0; ++i)
    for (int64_t j = 0; j < k_0; ++j) {
      if (!allowed[i * k_0 + j]) continue;
      out[i * k_0 + j] = 0;
      for (int64_t d = 0; d < q_1; ++d) out[i * k_0 + j] += q[i * q_1 + d] * k[j * q_1 + d];
    }
}
