// verdict: correct ok
// Uint8 in and out, complement by xor.
#include <cstdint>
extern "C" void kernel(const uint8_t* img, uint8_t* out, int64_t img_0, int64_t img_1, int64_t img_2, int64_t out_0, int64_t out_1, int64_t out_2) {
  for (int64_t i = 0; i < img_0 * img_1 * img_2; ++i) out[i] = img[i] ^ 0xff;
}
