// verdict: crashed out_of_memory
#include <cstdint>
#include <cstring>
extern "C" void kernel(const float*, float*, int64_t, int64_t) {
  for (;;) {
    char* volatile block = new char[256 << 20];
    block[0] = 1;
  }
}
