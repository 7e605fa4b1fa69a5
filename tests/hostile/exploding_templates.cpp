// verdict: build_failed compile_memory
template <int Depth, long Path>
struct Tree {
  static constexpr long value = Tree<Depth - 1, 2 * Path>::value + Tree<Depth - 1, 2 * Path + 1>::value;
};
template <long Path>
struct Tree<0, Path> { static constexpr long value = Path; };
long leaves = Tree<40, 1>::value;
