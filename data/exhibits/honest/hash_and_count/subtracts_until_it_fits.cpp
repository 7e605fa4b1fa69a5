// verdict: correct ok
// Reduces by subtracting 97·2ᵏ for falling k: no division at all.
extern "C" void kernel(const int32_t* keys, const int32_t* salt, int32_t* out0, int64_t* out1, int64_t keys_0,
                       int64_t keys_1, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t at = 0; at < keys_0 * keys_1; ++at) {
    int64_t rest = int64_t(keys[at]) * 31 - salt[at % keys_1] + (int64_t(97) << 26);
    for (int k = 27; k >= 0; --k)
      if (rest >= int64_t(97) << k) rest -= int64_t(97) << k;
    out0[at] = int32_t(rest);
  }
  for (int64_t i = keys_0 - 1; i >= 0; --i) {
    int64_t count = 0;
    for (int64_t j = keys_1 - 1; j >= 0; --j) count += out0[i * keys_1 + j] <= 12;
    out1[i] = count;
  }
}
