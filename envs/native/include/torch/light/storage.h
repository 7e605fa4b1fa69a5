// The memory of a tensor: made here, or given by whoever calls.
#pragma once

#include <cstdlib>
#include <new>

#include "kernelwright/value.h"
#include "types.h"

extern "C" {
void kernelwright_made(const void*, size_t, bool);  // native/recording.cpp
void* kernelwright_reserved(size_t);
void kernelwright_filled(const void*, const void*, size_t, size_t);
void kernelwright_moved(const kernelwright::Wire*, const kernelwright::Wire*);
void kernelwright_read(const void*);
}

namespace torch::light {

using kernelwright::Room;

// What one call makes. A static, not `inline`: that would be one for all libraries of a process.
struct Making {
  const Room* rooms = nullptr;
  int64_t room_count = 0, made = 0;
  int64_t lent = 0;  // rooms in use
};
static Making& making() {
  static Making one;
  return one;
}

struct Storage {
  void* at;
  int64_t bytes, made = -1;
  bool owned = false, lent = false;
  Storage(void* at, int64_t bytes) : at(at), bytes(bytes) {}
  Storage(const Storage&) = delete;
  ~Storage() {
    if (owned) std::free(at);
    if (lent) --making().lent;
  }
};

// What is traced is never given back, so that no other tensor has its place.
inline std::shared_ptr<Storage> make(int64_t bytes, bool on_device) {
  Making& now = making();
  auto one = std::make_shared<Storage>(nullptr, bytes);
  one->made = now.made++;
  const bool has_room = one->made < now.room_count && now.rooms[one->made].at && now.rooms[one->made].bytes == bytes;
  if (has_room) {
    one->at = now.rooms[one->made].at, one->lent = true, ++now.lent;
    return one;
  }
  constexpr int64_t kLine = 64;
  constexpr int64_t kLargeBytes = 64 << 20;  // guest/large.py
  if constexpr (kTraced) {
    if (on_device && bytes >= kLargeBytes) one->at = kernelwright_reserved(bytes);
  }
  if (bytes && !one->at) one->at = std::aligned_alloc(kLine, (bytes + kLine - 1) / kLine * kLine);
  if (bytes && !one->at) throw std::bad_alloc();
  one->owned = !kTraced;
  if constexpr (kTraced) {
    if (bytes) kernelwright_made(one->at, bytes, on_device);
  }
  return one;
}

}  // namespace torch::light
