// verdict: correct ok
// Counts how often each word occurs in the bag, and weights the table with the counts.
#include <map>
extern "C" void kernel(const int64_t* index, const float* words_weight, float* out, int64_t index_0, int64_t index_1,
                       int64_t, int64_t words_weight_1, int64_t, int64_t) {
  for (int64_t b = 0; b < index_0; ++b) {
    std::map<int64_t, int> counts;
    for (int64_t w = 0; w < index_1; ++w) ++counts[index[b * index_1 + w]];
    for (int64_t d = 0; d < words_weight_1; ++d) {
      float sum = 0;
      for (const auto& [word, count] : counts) sum += count * words_weight[word * words_weight_1 + d];
      out[b * words_weight_1 + d] = sum / index_1;
    }
  }
}
