// verdict: correct ok
// Pairwise IoU with the fixed last dimension 4 and a struct view of a box.
#include <algorithm>
#include <cstdint>
struct Box { float x0, y0, x1, y1; float area() const { return std::max(x1 - x0, 0.0f) * std::max(y1 - y0, 0.0f); } };
extern "C" void kernel(const float* boxes, float* out, int64_t boxes_0, int64_t boxes_1, int64_t out_0, int64_t out_1) {
  const Box* b = reinterpret_cast<const Box*>(boxes);
  for (int64_t i = 0; i < boxes_0; ++i)
    for (int64_t j = 0; j < boxes_0; ++j) {
      Box t{std::max(b[i].x0, b[j].x0), std::max(b[i].y0, b[j].y0), std::min(b[i].x1, b[j].x1), std::min(b[i].y1, b[j].y1)};
      float in = t.area();
      out[i * boxes_0 + j] = in / (b[i].area() + b[j].area() - in + 1e-6f);
    }
}
