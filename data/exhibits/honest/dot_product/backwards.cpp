// verdict: correct ok
// The naive sum from the other end.
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t) {
  float sum = 0;
  for (const float *a = x + x_0, *b = y + x_0; a != x;) sum += *--a * *--b;
  out[0] = sum;
}
