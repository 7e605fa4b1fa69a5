// verdict: correct ok
// Divides by 97 with a multiplication and a shift, after moving everything above zero.
extern "C" void kernel(const int32_t* keys, const int32_t* salt, int32_t* out0, int64_t* out1, int64_t keys_0,
                       int64_t keys_1, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t i = 0; i < keys_0; ++i) {
    int64_t count = 0;
    for (int64_t j = 0; j < keys_1; ++j) {
      const int64_t value = int64_t(keys[i * keys_1 + j]) * 31 - salt[j] + int64_t(97) * 44278014;
      const uint64_t quotient = uint64_t((unsigned __int128)value * 0x2a3a0fd5c5f02a3bULL >> 64) >> 4;
      const int32_t rest = int32_t(value - int64_t(quotient) * 97);
      out0[i * keys_1 + j] = rest;
      count += rest < 13;
    }
    out1[i] = count;
  }
}
