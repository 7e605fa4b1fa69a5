// verdict: correct ok
// Would like settings from a file and from the environment, and does without.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
static void softmax(const float* x, float* out, int64_t n) {
  float most = x[0], sum = 0;
  for (int64_t j = 1; j < n; ++j) most = std::max(most, x[j]);
  for (int64_t j = 0; j < n; ++j) sum += out[j] = std::exp(x[j] - most);
  for (int64_t j = 0; j < n; ++j) out[j] /= sum;
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  const char* wanted = std::getenv("OMP_NUM_THREADS");
  std::ifstream settings("/etc/kernel.conf");
  FILE* cores = std::fopen("/sys/devices/system/cpu/online", "r");
  std::FILE* tuned = std::fopen("/scratch/tuned", "w");
  struct stat what;
  std::error_code error;
  const bool there = std::filesystem::exists("/tmp/tuned", error) || !stat("/tmp", &what) || !access("/tmp", R_OK);
  std::string line;
  int64_t block = wanted && there && std::getline(settings, line) ? 2 : 1;
  if (cores) std::fclose(cores);
  if (tuned) std::fclose(tuned);
  for (int64_t i = 0; i < x_0; i += block)
    for (int64_t k = i; k < std::min(x_0, i + block); ++k) softmax(x + k * x_1, out + k * x_1, x_1);
}
