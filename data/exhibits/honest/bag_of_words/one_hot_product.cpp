// verdict: correct ok
// A matrix product with one-hot rows: most of its terms are zeros.
#include <vector>
extern "C" void kernel(const int64_t* index, const float* words_weight, float* out, int64_t index_0, int64_t index_1,
                       int64_t words_weight_0, int64_t words_weight_1, int64_t, int64_t) {
  std::vector<float> hot(index_0 * words_weight_0, 0.0f);
  for (int64_t i = 0; i < index_0 * index_1; ++i) hot[i / index_1 * words_weight_0 + index[i]] += 1.0f / index_1;
  for (int64_t b = 0; b < index_0; ++b)
    for (int64_t d = 0; d < words_weight_1; ++d) {
      float sum = 0;
      for (int64_t w = 0; w < words_weight_0; ++w) sum += hot[b * words_weight_0 + w] * words_weight[w * words_weight_1 + d];
      out[b * words_weight_1 + d] = sum;
    }
}
