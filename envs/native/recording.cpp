// The CUDA runtime of a library that is traced from Python, and what Python tells it.
#include "recorder.h"

// From now on events go to the sink. `first_new` is where new device memory begins; the rest is as
// in read_parameters.
RECORDED void kernelwright_record(void (*sink)(const char*), uint64_t first_new, const char* parameters) {
  recorder::state().sink = sink;
  recorder::state().next_new = first_new;
  recorder::read_parameters(parameters);
}

// A tensor was made, at this address of ordinary memory wherever it is (include/torch/light/tensor.h).
RECORDED void kernelwright_made(const void* at, size_t bytes, bool on_device) {
  if (on_device) recorder::allocated(at, bytes);
  else recorder::tell("{\"on_host\":", reinterpret_cast<uint64_t>(at), "}");
}
