// verdict: build_failed compile_memory
// An endless file.
#include "/dev/zero"
