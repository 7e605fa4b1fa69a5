// verdict: correct ok
// Writes the bools as bytes, through a pointer to unsigned char.
extern "C" void kernel(const float* x, const float* limit, bool* out, int64_t x_0, int64_t x_1, int64_t, int64_t,
                       int64_t, int64_t) {
  unsigned char* bytes = reinterpret_cast<unsigned char*>(out);
  for (int64_t i = 0; i < x_0; ++i)
    for (int64_t j = 0; j < x_1; ++j)
      *bytes++ = (x[i * x_1 + j] > limit[i]) | (x[i * x_1 + j] < -limit[i]);
}
