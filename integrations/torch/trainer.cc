// A program of libtorch that does not use Kymo. Two threads train until it is killed, and each prints a line when it
// has started. For the tests, built without libkymo_torch.so and linked with it.
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace {

void train() {
  torch::nn::Sequential model(torch::nn::Linear(8, 16), torch::nn::ReLU(), torch::nn::Linear(16, 4));
  torch::optim::SGD optimizer(model->parameters(), 0.01);
  for (int i = 0;; ++i) {
    {
      RECORD_USER_SCOPE("step");
      optimizer.zero_grad();
      model->forward(torch::rand({2, 8})).sum().backward();
      optimizer.step();
    }
    if (i == 0) std::fputs("trains\n", stderr);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace

int main() {
  std::thread other(train);
  train();
}
