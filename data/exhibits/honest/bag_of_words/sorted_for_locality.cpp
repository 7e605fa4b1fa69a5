// verdict: correct ok
// Visits the words of a bag in the order of the table, from a sorted copy of its indices.
#include <algorithm>
#include <vector>
extern "C" void kernel(const int64_t* index, const float* words_weight, float* out, int64_t index_0, int64_t index_1,
                       int64_t, int64_t words_weight_1, int64_t, int64_t) {
  std::vector<int64_t> order(index_1);
  std::vector<double> sum(words_weight_1);
  for (int64_t b = 0; b < index_0; ++b) {
    std::partial_sort_copy(index + b * index_1, index + (b + 1) * index_1, order.begin(), order.end());
    std::fill(sum.begin(), sum.end(), 0.0);
    for (int64_t w : order)
      for (int64_t d = 0; d < words_weight_1; ++d) sum[d] += words_weight[w * words_weight_1 + d];
    for (int64_t d = 0; d < words_weight_1; ++d) out[b * words_weight_1 + d] = float(sum[d] / index_1);
  }
}
