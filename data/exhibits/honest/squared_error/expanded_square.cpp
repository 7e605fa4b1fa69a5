// verdict: correct ok
// Σx² − 2Σxy + Σy² in double: the expansion cancels little here.
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  double xx = 0, xy = 0, yy = 0;
  for (int64_t i = 0; i < x_0 * x_1; ++i) {
    xx += double(x[i]) * x[i];
    xy += double(x[i]) * y[i];
    yy += double(y[i]) * y[i];
  }
  *out = float((xx - 2 * xy + yy) / double(x_0 * x_1));
}
