__global__ void f(const float* x, const float* w, const float* b, float* out, int64_t n, int64_t k, int64_t m, float scale) {
  int64_t at = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (at >= n * m) return;
  float s = b[at % m];
  for (int64_t l = 0; l < k; ++l) s += x[at / m * k + l] * w[at % m * k + l];
  out[at] = fmaxf(s, 0.f) * scale;
}
extern "C" void kernel(const float* x, const float* linear_weight, const float* linear_bias, float* out, int64_t x_0, int64_t x_1, int64_t linear_weight_0, int64_t linear_weight_1, int64_t linear_bias_0, int64_t out_0, int64_t out_1, double scale, cudaStream_t stream) {
  f<<<(out_0 * out_1 + 255) / 256, 256, 0, stream>>>(x, linear_weight, linear_bias, out, x_0, x_1, out_1, scale);
}
