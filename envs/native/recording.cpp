// The CUDA runtime of a library that is traced from Python, and what Python tells it.
#include <sys/mman.h>

#include "kernelwright/move.h"
#include "properties.h"
#include "recorder.h"

// From now on events go to the sink. `first_new` is where new device memory begins; the rest is as
// in read_kernels.
RECORDED void kernelwright_record(void (*sink)(const char*), uint64_t first_new, const char* kernels) {
  recorder::state().sink = sink;
  recorder::state().next_new = first_new;
  recorder::read_kernels(kernels);
}

// A tensor was made, at this address of ordinary memory wherever it is (include/torch/light/tensor.h).
RECORDED void kernelwright_made(const void* at, size_t bytes, bool on_device) {
  if (on_device) recorder::allocated(at, bytes);
  else recorder::tell("{\"on_host\":", reinterpret_cast<uint64_t>(at), "}");
}

// Addresses for a large tensor on the device, which nobody reads or writes here; null where there is no room.
RECORDED void* kernelwright_reserved(size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

// So many bytes were filled with a value of this width.
RECORDED void kernelwright_filled(const void* at, const void* value, size_t width, size_t bytes) {
  const unsigned char* const all = static_cast<const unsigned char*>(value);
  bool same = true;
  for (size_t i = 1; i < width; ++i) same = same && all[i] == all[0];
  if (same) width = 1;
  recorder::tell("{\"fill\":\"", recorder::hexadecimal(value, width), "\",\"at\":", reinterpret_cast<uint64_t>(at), ",\"bytes\":", bytes, "}");
}

// A value of the tensor that lies here was read by C++.
RECORDED void kernelwright_read(const void* at) { recorder::tell("{\"read\":", reinterpret_cast<uint64_t>(at), "}"); }

static std::string listed(const int64_t* first, int64_t count) {
  std::string all;
  for (int64_t i = 0; i < count; ++i) all += (i ? "," : "") + std::to_string(first[i]);
  return "[" + all + "]";
}

// Elements of one tensor were moved to another of as many.
RECORDED void kernelwright_moved(const kernelwright::Wire* to, const kernelwright::Wire* from) {
  if (!to->device && !from->device) return;
  const auto at = [](const kernelwright::Wire& one) { return static_cast<char*>(one.storage) + one.offset * kernelwright::bytes_of(one.type); };
  if (!from->device) {
    int64_t count = 1;
    bool plain = to->type == from->type;
    for (int64_t d = to->dim; d-- > 0; count *= to->sizes[d]) plain = plain && (to->sizes[d] == 1 || (to->strides[d] == count && from->strides[d] == count));
    if (!plain) return recorder::leave_out("a tensor of the host's that is moved to a device with strides");
    return (void)cudaMemcpyAsync(at(*to), at(*from), count * kernelwright::bytes_of(to->type), 1, nullptr);
  }
  if (!to->device) return recorder::leave_out("cudaMemcpy from or to the host");
  const auto told = [&](const kernelwright::Wire& one) {
    return std::to_string(reinterpret_cast<uint64_t>(at(one))) + "," + std::to_string(one.type) + "," + listed(one.strides, one.dim);
  };
  recorder::tell("{\"moved\":", listed(to->sizes, to->dim), ",\"to\":[", told(*to), "],\"from\":[", told(*from), "]}");
}
