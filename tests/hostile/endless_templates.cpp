// verdict: build_failed compile_error
template <int N>
struct Deeper { static constexpr int value = Deeper<N + 1>::value + 1; };
int depth = Deeper<0>::value;
