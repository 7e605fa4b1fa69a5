// verdict: correct ok
// One term after another, in float32.
extern "C" void kernel(const float* x, const float* weight, const float* bias, float* out, int64_t rows, int64_t k, int64_t hidden,
                       int64_t, int64_t, int64_t) {
  for (int64_t i = 0; i < rows; ++i) {
    float mean = 0;
    for (int64_t h = 0; h < hidden; ++h) {
      float s = bias[h];
      for (int64_t j = 0; j < k; ++j) s += x[i * k + j] * weight[h * k + j];
      mean += s > 0 ? s : 0;
    }
    out[i] = mean / hidden;
  }
}
