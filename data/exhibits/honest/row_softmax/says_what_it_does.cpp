// verdict: correct ok
// Writes to all streams, of C and of C++, in words of its own.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <locale>
#include <sstream>
static void softmax(const float* x, float* out, int64_t n) {
  float most = x[0], sum = 0;
  for (int64_t j = 1; j < n; ++j) most = std::max(most, x[j]);
  for (int64_t j = 0; j < n; ++j) sum += out[j] = std::exp(x[j] - most);
  for (int64_t j = 0; j < n; ++j) out[j] /= sum;
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  std::ios::sync_with_stdio(true);
  std::ostringstream text;
  text.imbue(std::locale("C"));
  text << std::setprecision(3) << "rows " << x_0 << ", first " << x[0];
  std::cerr << text.str() << std::endl;
  std::cout << std::boolalpha << (x_1 > 0) << '\n' << std::flush;
  std::printf("%lld columns\n", static_cast<long long>(x_1));
  std::fprintf(stderr, "%s\n", text.str().c_str());
  std::fflush(nullptr);
  for (int64_t i = 0; i < x_0; ++i) softmax(x + i * x_1, out + i * x_1, x_1);
}
