// verdict: correct ok
// Two threads take rows from an atomic counter until none is left.
#include <atomic>
#include <thread>
extern "C" void kernel(const float* a, const float* b, float* out, int64_t a_0, int64_t a_1, int64_t, int64_t b_1,
                       int64_t, int64_t) {
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t i; (i = next.fetch_add(1)) < a_0;) {
      for (int64_t j = 0; j < b_1; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < a_1; ++k) sum += a[i * a_1 + k] * b[k * b_1 + j];
        out[i * b_1 + j] = sum;
      }
    }
  };
  std::thread helper(work);
  work();
  helper.join();
}
