// verdict: correct ok
// A switch into the middle of an unrolled loop, and goto around rows.
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t,
                       int64_t) {
  int64_t row = 0;
again:
  if (row == x_0) return;
  {
    const float *from = x + row * x_1, *plus = y;
    float* to = out + row * x_1;
    const auto one = [&] {
      const float v = 2 * *from++ + *plus++;
      *to++ = v > 0 ? v : 0;
    };
    int64_t rounds = (x_1 + 3) / 4;
    switch (x_1 % 4) {
      case 0: do { one(); [[fallthrough]];
      case 3: one(); [[fallthrough]];
      case 2: one(); [[fallthrough]];
      case 1: one();
      } while (--rounds > 0);
    }
  }
  ++row;
  goto again;
}
