// verdict: build_failed compile_error
// Thousands of errors; the log is cut.
#define A x y z;
#define B A A A A A A A A
#define C B B B B B B B B
#define D C C C C C C C C
#define E D D D D D D D D
E E E E
