// verdict: correct ok
// The arguments have names of its own: only their types and their order are given.
extern "C" void kernel(const float* a, const float* b, const float* scales, const float* factor, float* result,
                       int64_t rows, int64_t cols, int64_t, int64_t n, int64_t, int64_t, int64_t times) {
  float scale = 0;
  for (int64_t k = 0; k < n; ++k) scale += scales[k];
  for (int64_t i = 0; i < rows * cols; ++i) result[i] = a[i] * scale + b[i % cols] * *factor * (float)times;
}
