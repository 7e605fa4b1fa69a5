// verdict: build_failed compile_error
this is no declaration;
#include "candidate.cpp"
#include "candidate.cpp"
