// verdict: correct ok
// The very names of the prompt, where an underscore follows what C++ or another argument has taken.
extern "C" void kernel(const float* double_, const float* out_, const float* switch_, const float* new_, float* out,
                       int64_t double__0, int64_t double__1, int64_t out__0, int64_t switch__0, int64_t out_0,
                       int64_t out_1, int64_t stream_) {
  const float scale = switch_[2] + switch_[1] + switch_[0];
  for (int64_t i = 0; i < out_0; ++i)
    for (int64_t j = 0; j < out_1; ++j)
      out[i * out_1 + j] = double_[i * out_1 + j] * scale + out_[j] * (*new_ * float(stream_));
}
