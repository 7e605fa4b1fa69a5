// verdict: correct ok
// In 64 bits.
extern "C" void kernel(const int64_t* amounts, const int64_t* prices, int64_t* out, int64_t rows, int64_t columns, int64_t, int64_t, int64_t) {
  for (int64_t i = 0; i < rows; ++i) {
    int64_t s = 0;
    for (int64_t j = 0; j < columns; ++j) s += (int64_t)amounts[i * columns + j] * (int64_t)prices[i * columns + j];
    out[i] = (int64_t)s;
  }
}
