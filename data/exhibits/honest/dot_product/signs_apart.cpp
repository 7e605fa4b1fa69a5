// verdict: correct ok
// Positive and negative products are summed apart, in double, which cancels once, at the end.
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t) {
  double above = 0, below = 0;
  for (int64_t i = 0; i < x_0; ++i) {
    const float product = x[i] * y[i];
    (product < 0 ? below : above) += product;
  }
  *out = static_cast<float>(above + below);
}
