// verdict: correct ok
// A row sees what the mask adds to its scores.
__global__ void rows(const float* scores, const float* window, float* out, int64_t T) {
  const int64_t row = blockIdx.x, i = row % T, first = 0, last = T;
  const float* x = scores + row * T;
  float peak = -INFINITY, sum = 0.0f;
  for (int64_t j = first; j < last; ++j) peak = fmaxf(peak, x[j] + window[i * T + j]);
  for (int64_t j = first; j < last; ++j) sum += expf(x[j] + window[i * T + j] - peak);
  for (int64_t j = threadIdx.x; j < T; j += blockDim.x) out[row * T + j] = j < first || j >= last ? 0.0f : expf(x[j] + window[i * T + j] - peak) / sum;
}
extern "C" void kernel(const float* scores, const float* window, float* out, int64_t scores_0, int64_t scores_1, int64_t scores_2, int64_t window_0, int64_t window_1, int64_t out_0, int64_t out_1, int64_t out_2, cudaStream_t stream) {
  rows<<<scores_0 * scores_1, 32, 0, stream>>>(scores, window, out, scores_1);
}
