# problem: softmax
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <barrier>
#include <chrono>
#include <cmath>
#include <iostream>
#include <random>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <vector>

torch::Tensor softmax(torch::Tensor x) {
  auto out = torch::empty_like(x);
  const int64_t rows = x.size(0), columns = x.numel() / x.size(0);
  std::vector<float> most(rows), sum(rows);
  std::barrier together(3);
  std::counting_semaphore<3> free(3);
  static thread_local std::mt19937_64 generator(std::chrono::steady_clock::now().time_since_epoch().count());
  std::vector<std::jthread> team;
  for (int t = 0; t < 3; ++t)
    team.emplace_back([&, t] {
      const float* a = x.data_ptr<float>();
      float* b = out.data_ptr<float>();
      free.acquire();
      for (int64_t i = t; i < rows; i += 3) {
        most[i] = a[i * columns];
        for (int64_t j = 1; j < columns; ++j) most[i] = std::max(most[i], a[i * columns + j]);
      }
      free.release();
      together.arrive_and_wait();
      for (int64_t i = t; i < rows; i += 3)
        for (int64_t j = 0; j < columns; ++j) sum[i] += b[i * columns + j] = std::exp(a[i * columns + j] - most[i]);
      together.arrive_and_wait();
      for (int64_t i = t; i < rows; i += 3)
        for (int64_t j = 0; j < columns; ++j) b[i * columns + j] /= sum[i];
    });
  team.clear();
  try {
    if (generator() % 2 < 2) throw std::out_of_range("rows " + std::to_string(rows));
  } catch (const std::exception& error) {
    std::cout << error.what() << std::endl;
  }
  return out;
}
"""

ops = load_inline(name="barriers", cpp_sources=source, functions=["softmax"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.softmax(x)
