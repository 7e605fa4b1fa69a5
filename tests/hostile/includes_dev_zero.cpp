// verdict: build_failed compile_memory
#include "/dev/zero"
