// Floating-point operations of networks, compared with numbers computed by hand: as C++ modules, scripted, and mobile.
#include <gtest/gtest.h>

#include "test_modules.h"

namespace kymo::edge::testing {
namespace {

template <class Module, class Run>
uint64_t flops_of(const Module& module, Run run) {
  const torch::NoGradGuard no_gradients;
  EdgeProfiler profiler(module, {.with_flops = true});
  run();
  return all_flops(profiler.disable_profiler());
}

// ---- A convolutional network: 2 pictures of 3 × 16 × 16 -------------------------------------------------------------

constexpr uint64_t kFirst = 2 * 2 * 16 * 16 * 8 * (3 * 3 * 3);  // 8 × 16 × 16 positions, 3 × 3 × 3 each
constexpr uint64_t kFirstReLU = 2 * 8 * 16 * 16;                // one per element
constexpr uint64_t kSecond = 2 * 2 * 8 * 8 * 16 * (4 * 3 * 3);  // two groups, stride 2: 16 × 8 × 8 positions
constexpr uint64_t kSecondReLU = 2 * 16 * 8 * 8;                // one per element
constexpr uint64_t kLinear = 2 * 2 * (16 * 8 * 8) * 10;         // 1024 to 10
constexpr uint64_t kConvolutional = kFirst + kFirstReLU + kSecond + kSecondReLU + kLinear;

struct ConvolutionalImpl : torch::nn::Module {
  torch::nn::Conv2d first = register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3).padding(1)));
  torch::nn::Conv2d second =
      register_module("second", torch::nn::Conv2d(torch::nn::Conv2dOptions(8, 16, 3).padding(1).stride(2).groups(2)));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(1024, 10));
  torch::Tensor forward(const torch::Tensor& x) {
    return last->forward(torch::relu(second->forward(torch::relu(first->forward(x)))).flatten(1));
  }
};
TORCH_MODULE(Convolutional);

torch::jit::Module scripted_convolutional() {
  torch::jit::Module module("Convolutional", std::make_shared<torch::jit::CompilationUnit>());
  module.register_parameter("w1", torch::rand({8, 3, 3, 3}), false);
  module.register_parameter("w2", torch::rand({16, 4, 3, 3}), false);
  module.register_parameter("w3", torch::rand({10, 1024}), false);
  module.register_parameter("b3", torch::rand({10}), false);
  module.define(R"(
def forward(self, x):
    x = torch.relu(torch.conv2d(x, self.w1, None, [1, 1], [1, 1]))
    x = torch.relu(torch.conv2d(x, self.w2, None, [2, 2], [1, 1], [1, 1], 2))
    return torch.linear(torch.flatten(x, 1), self.w3, self.b3)
)");
  return module;
}

TEST(NetworksTest, ConvolutionalNetworkInCpp) {
  Convolutional module;
  const torch::Tensor x = torch::rand({2, 3, 16, 16});
  EXPECT_EQ(flops_of(module, [&] { module->forward(x); }), kConvolutional);
}

TEST(NetworksTest, ConvolutionalNetworkScripted) {
  torch::jit::Module module = scripted_convolutional();
  const torch::Tensor x = torch::rand({2, 3, 16, 16});
  for (int run = 0; run < 3; ++run) EXPECT_EQ(flops_of(module, [&] { module.forward({x}); }), kConvolutional) << run;
}

TEST(NetworksTest, ConvolutionalNetworkOnMobile) {
  torch::jit::mobile::Module module = to_mobile(scripted_convolutional());
  const torch::Tensor x = torch::rand({2, 3, 16, 16});
  EXPECT_EQ(flops_of(module, [&] { module.forward({x}); }), kConvolutional);
}

// ---- A block of a transformer: 2 sequences of 5, 8 wide, 2 heads ----------------------------------------------------

constexpr uint64_t kTokens = 2 * 5, kWide = 8, kHeads = 2, kInner = 32;
constexpr uint64_t kProjections = 4 * 2 * kTokens * kWide * kWide;         // query, key, value, output
constexpr uint64_t kScores = 2 * (2 * kHeads) * 5 * (kWide / kHeads) * 5;  // the same for the product with the values
constexpr uint64_t kScaled = 2 * kHeads * 5 * 5;                           // one division per score
constexpr uint64_t kSoftmax = 5 * 2 * kHeads * 5 * 5;                      // five steps per element
constexpr uint64_t kAdded = kTokens * kWide;       // the residual connection of each half of the block
constexpr uint64_t kNormed = 7 * kTokens * kWide;  // five steps, a weight and a bias
constexpr uint64_t kFeedForward = 2 * 2 * kTokens * kWide * kInner + kTokens * kInner;  // two products and a gelu
constexpr uint64_t kTransformer =
    kProjections + 2 * kScores + kScaled + kSoftmax + kFeedForward + 2 * (kAdded + kNormed);

constexpr const char* kTransformerSource = R"(
def split(self, x):
    return x.reshape([2, 5, 2, 4]).transpose(1, 2)
def attend(self, x):
    q = self.split(torch.linear(x, self.wq))
    k = self.split(torch.linear(x, self.wk))
    v = self.split(torch.linear(x, self.wv))
    weights = torch.softmax(torch.matmul(q, k.transpose(2, 3)) / 2.0, 3)
    return torch.linear(torch.matmul(weights, v).transpose(1, 2).reshape([2, 5, 8]), self.wo)
def forward(self, x):
    x = torch.layer_norm(x + self.attend(x), [8], self.g, self.b)
    y = torch.linear(torch.gelu(torch.linear(x, self.w1)), self.w2)
    return torch.layer_norm(x + y, [8], self.g, self.b)
)";

torch::jit::Module scripted_transformer() {
  torch::jit::Module module("Transformer", std::make_shared<torch::jit::CompilationUnit>());
  for (const char* const name : {"wq", "wk", "wv", "wo"}) module.register_parameter(name, torch::rand({8, 8}), false);
  for (const char* const name : {"g", "b"}) module.register_parameter(name, torch::rand({8}), false);
  module.register_parameter("w1", torch::rand({32, 8}), false);
  module.register_parameter("w2", torch::rand({8, 32}), false);
  module.define(kTransformerSource);
  return module;
}

struct TransformerImpl : torch::nn::Module {
  using Linear = torch::nn::Linear;
  static Linear make(int64_t from, int64_t to) { return Linear(torch::nn::LinearOptions(from, to).bias(false)); }
  Linear q = make(8, 8), k = make(8, 8), v = make(8, 8), o = make(8, 8), first = make(8, 32), second = make(32, 8);
  torch::nn::LayerNorm norm{torch::nn::LayerNormOptions({8})};

  static torch::Tensor split(const torch::Tensor& x) { return x.reshape({2, 5, 2, 4}).transpose(1, 2); }
  torch::Tensor attend(const torch::Tensor& x) {
    const torch::Tensor scores = torch::matmul(split(q(x)), split(k(x)).transpose(2, 3)) / 2.0;
    return o(torch::matmul(torch::softmax(scores, 3), split(v(x))).transpose(1, 2).reshape({2, 5, 8}));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = norm(x + attend(x));
    return norm(x + second(torch::gelu(first(x))));
  }
};
TORCH_MODULE(Transformer);

TEST(NetworksTest, TransformerInCpp) {
  Transformer module;
  const torch::Tensor x = torch::rand({2, 5, 8});
  EXPECT_EQ(flops_of(module, [&] { module->forward(x); }), kTransformer);
}

TEST(NetworksTest, TransformerScripted) {
  torch::jit::Module module = scripted_transformer();
  const torch::Tensor x = torch::rand({2, 5, 8});
  for (int run = 0; run < 3; ++run) EXPECT_EQ(flops_of(module, [&] { module.forward({x}); }), kTransformer) << run;
}

TEST(NetworksTest, TransformerOnMobile) {
  torch::jit::mobile::Module module = to_mobile(scripted_transformer());
  const torch::Tensor x = torch::rand({2, 5, 8});
  EXPECT_EQ(flops_of(module, [&] { module.forward({x}); }), kTransformer);
}

// ---- Operators that the lite interpreter runs whole ----------------------------------------------------------------

TEST(NetworksTest, OperatorsThatMobileDoesNotSplit) {
  const torch::Tensor x = torch::rand({7, 2, 5}), state = torch::rand({1, 2, 3});
  const auto on_mobile = [&](const std::string& body) {
    torch::jit::mobile::Module module =
        to_mobile(module_of("def forward(self, x, h, a, b, c, d):\n    return " + body + "\n"));
    const torch::Tensor a = torch::rand({12, 5}), b = torch::rand({12, 3}), c = torch::rand({9, 5}),
                        d = torch::rand({9, 3});
    return flops_of(module, [&] { module.forward({x, state, a, b, c, d}); });
  };
  EXPECT_EQ(on_mobile("torch.lstm(x, [h, h], [a, b], False, 1, 0., False, False, False)"),
            14u * (2 * (12 * 5 + 12 * 3) + 3 * 13));
  EXPECT_EQ(on_mobile("torch.gru(x, h, [c, d], False, 1, 0., False, False, False)"),
            14u * (2 * (9 * 5 + 9 * 3) + 3 * 10));
  EXPECT_EQ(on_mobile("torch.einsum('sbi,gi->sbg', [x, a])"), 2u * 14 * 12 * 5);
  EXPECT_EQ(on_mobile("torch.tensordot(x, a, [2], [1])"), 2u * 14 * 12 * 5);
  EXPECT_EQ(on_mobile("torch.bilinear(x, h.expand(7, 2, 3), torch.ones([4, 5, 3]), None)"), 2u * 14 * (60 + 20));
}

}  // namespace
}  // namespace kymo::edge::testing
