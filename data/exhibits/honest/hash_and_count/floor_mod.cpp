// verdict: correct ok
// Python's modulo from C's: the remainder of a negative number is lifted by 97.
extern "C" void kernel(const int32_t* keys, const int32_t* salt, int32_t* out0, int64_t* out1, int64_t keys_0,
                       int64_t keys_1, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t i = 0; i < keys_0; ++i) {
    out1[i] = 0;
    for (int64_t j = 0; j < keys_1; ++j) {
      const int32_t rest = (keys[i * keys_1 + j] * 31 - salt[j]) % 97;
      out0[i * keys_1 + j] = rest < 0 ? rest + 97 : rest;
      out1[i] += out0[i * keys_1 + j] < 13;
    }
  }
}
