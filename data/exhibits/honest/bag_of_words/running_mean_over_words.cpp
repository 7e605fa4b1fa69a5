// verdict: correct ok
// Moves the output towards each word's row by 1/n of the way, from the last word to the first.
extern "C" void kernel(const int64_t* index, const float* words_weight, float* out, int64_t index_0, int64_t index_1,
                       int64_t, int64_t words_weight_1, int64_t, int64_t) {
  for (int64_t b = 0; b < index_0; ++b) {
    float* mean = out + b * words_weight_1;
    for (int64_t n = 1; n <= index_1; ++n) {
      const float* row = words_weight + index[(b + 1) * index_1 - n] * words_weight_1;
      for (int64_t d = 0; d < words_weight_1; ++d) mean[d] = n == 1 ? row[d] : mean[d] + (row[d] - mean[d]) / n;
    }
  }
}
