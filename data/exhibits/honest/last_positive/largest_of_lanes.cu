// verdict: correct ok
__global__ void last(const float* x, float* out, int columns) {
  const float* row = x + (int64_t)blockIdx.x * columns;
  int place = 0;
  for (int j = threadIdx.x; j < columns; j += 32)
    if (row[j] > 0.0f) place = j;
  for (int step = 16; step; step /= 2) place = max(place, __shfl_xor_sync(~0u, place, step));
  if (threadIdx.x == 0) out[blockIdx.x] = (float)place;
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, cudaStream_t stream) {
  last<<<x_0, 32, 0, stream>>>(x, out, x_1);
}
