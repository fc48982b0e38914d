// A program of libtorch that does not use Kymo. It says so to NVTX, as libraries do, and trains on two threads. For the
// tests.
#include <nvtx3/nvToolsExt.h>
#include <torch/torch.h>

#include <thread>

namespace {

void train() {
  torch::nn::Sequential model(torch::nn::Linear(8, 16), torch::nn::ReLU(), torch::nn::Linear(16, 4));
  torch::optim::SGD optimizer(model->parameters(), 0.01);
  for (int i = 0; i < 10; ++i) {
    RECORD_USER_SCOPE("step {}");
    optimizer.zero_grad();
    model->forward(torch::rand({2, 8})).sum().backward();
    optimizer.step();
  }
}

}  // namespace

int main() {
  nvtxMarkA("begins");
  std::thread other(train);
  train();
  other.join();
}
