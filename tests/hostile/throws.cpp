// verdict: crashed signal_6
#include <cstdint>
extern "C" void kernel(const float*, float*, int64_t, int64_t) { throw 1; }
