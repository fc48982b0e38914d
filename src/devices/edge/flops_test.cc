#include "edge/flops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kymo/edge_engine.h"

namespace kymo::edge {
namespace {

using CallSizes = std::vector<int64_t>;

// The inputs of a call, one after the other.
class CallInputs {
 public:
  CallInputs& tensor(const CallSizes& sizes, Element element = Element::Float) {
    inputs_.tensor(element, sizes, {});
    return *this;
  }
  CallInputs& list(const CallSizes& values) { return inputs_.integers(values), *this; }
  CallInputs& integer(int64_t value) { return inputs_.integer(value), *this; }
  CallInputs& real(double value) { return inputs_.real(value), *this; }
  CallInputs& boolean(bool value) { return inputs_.boolean(value), *this; }
  CallInputs& booleans(const std::vector<uint8_t>& values) { return inputs_.booleans(values), *this; }
  CallInputs& text(std::string_view value) { return inputs_.text(value), *this; }
  CallInputs& tensors(const std::vector<CallSizes>& list, Element element = Element::Float) {
    inputs_.tensor_list(static_cast<uint32_t>(list.size()));
    for (const CallSizes& sizes : list) tensor(sizes, element);
    return *this;
  }
  CallInputs& none() { return inputs_.none(), *this; }
  std::optional<uint64_t> flops(std::string_view name) const { return count_flops(name, inputs_.bytes()); }

 private:
  Inputs inputs_;
};

// ---- The operators of a small convolutional network: 8 pictures of 3 × 32 × 32 -------------------------------------

TEST(FlopsTest, Convolution) {
  CallInputs call;
  call.tensor({8, 3, 32, 32}).tensor({16, 3, 3, 3}).tensor({16}).list({1, 1}).list({1, 1}).list({1, 1}).integer(1);
  EXPECT_EQ(call.flops("aten::conv2d"), 2u * 8 * 32 * 32 * 16 * 3 * 3 * 3);  // 7,077,888
  EXPECT_EQ(call.flops("aten::conv2d"), 7'077'888u);
}

TEST(FlopsTest, ConvolutionWithStridePaddingAndDilation) {
  CallInputs call;
  call.tensor({2, 4, 20, 15}).tensor({6, 4, 5, 3}).none().list({2, 3}).list({1, 2}).list({2, 1}).integer(1);
  // (20 + 2 - 2·4 - 1) / 2 + 1 = 7; (15 + 4 - 2 - 1) / 3 + 1 = 6
  EXPECT_EQ(call.flops("aten::conv2d"), 2u * 2 * 7 * 6 * 6 * 4 * 5 * 3);
}

TEST(FlopsTest, ConvolutionInGroupsAndUnbatched) {
  CallInputs depthwise;
  depthwise.tensor({1, 32, 14, 14}).tensor({32, 1, 3, 3}).none().list({1}).list({1}).list({1}).integer(32);
  EXPECT_EQ(depthwise.flops("conv2d"), 2u * 14 * 14 * 32 * 9);
  CallInputs unbatched;
  unbatched.tensor({3, 10}).tensor({5, 3, 4}).none().list({1}).list({0}).list({1}).integer(1);
  EXPECT_EQ(unbatched.flops("aten::conv1d"), 2u * 7 * 5 * 3 * 4);
  CallInputs volume;
  volume.tensor({1, 2, 8, 8, 8}).tensor({4, 2, 3, 3, 3}).none().list({2, 2, 2}).list({1, 1, 1}).list({1, 1, 1});
  EXPECT_EQ(volume.flops("aten::conv3d"), 2u * 4 * 4 * 4 * 4 * 2 * 27);
}

TEST(FlopsTest, ConvolutionWithNamedPadding) {
  CallInputs same;
  same.tensor({1, 3, 9, 9}).tensor({4, 3, 4, 4}).none().list({1, 1}).text("same").list({1, 1}).integer(1);
  EXPECT_EQ(same.flops("aten::conv2d.padding"), 2u * 81 * 4 * 3 * 16);
  CallInputs valid;
  valid.tensor({1, 3, 9, 9}).tensor({4, 3, 4, 4}).none().list({1, 1}).text("valid").list({1, 1}).integer(1);
  EXPECT_EQ(valid.flops("aten::conv2d.padding"), 2u * 36 * 4 * 3 * 16);
}

TEST(FlopsTest, ConvolutionByItsOtherNames) {
  const uint64_t expected = 2u * 7 * 7 * 8 * 4 * 9;  // (14 + 2 - 2 - 1) / 2 + 1 = 7
  CallInputs general;
  general.tensor({1, 4, 14, 14}).tensor({8, 4, 3, 3}).none().list({2, 2}).list({1, 1}).list({1, 1});
  general.boolean(false).list({0, 0}).integer(1);
  EXPECT_EQ(general.flops("aten::convolution"), expected);
  EXPECT_EQ(general.flops("aten::_convolution"), expected);
  CallInputs mkldnn;  // padding before stride
  mkldnn.tensor({1, 4, 14, 14}).tensor({8, 4, 3, 3}).none().list({1, 1}).list({2, 2}).list({1, 1}).integer(1);
  EXPECT_EQ(mkldnn.flops("aten::mkldnn_convolution"), expected);
  CallInputs simple;  // an engine's own, with a number for all dimensions
  simple.tensor({1, 4, 14, 14}).tensor({8, 4, 3, 3}).none().integer(2).integer(1);
  EXPECT_EQ(simple.flops("conv2d"), expected);
}

TEST(FlopsTest, TransposedConvolution) {
  const uint64_t expected = 2u * 2 * 16 * 5 * 5 * 8 * 4 * 4;
  CallInputs call;
  call.tensor({2, 16, 5, 5})
      .tensor({16, 8, 4, 4})
      .none()
      .list({2, 2})
      .list({1, 1})
      .list({0, 0})
      .integer(1)
      .list({1, 1});
  EXPECT_EQ(call.flops("aten::conv_transpose2d.input"), expected);
  CallInputs general;
  general.tensor({2, 16, 5, 5}).tensor({16, 8, 4, 4}).none().list({2, 2}).list({1, 1}).list({1, 1});
  general.boolean(true).list({0, 0}).integer(1);
  EXPECT_EQ(general.flops("aten::convolution"), expected);
}

TEST(FlopsTest, ConvolutionBackward) {
  const auto call = [](std::vector<uint8_t> mask) {
    CallInputs inputs;
    inputs.tensor({8, 16, 32, 32}).tensor({8, 3, 32, 32}).tensor({16, 3, 3, 3}).list({16}).list({1, 1}).list({1, 1});
    inputs.list({1, 1}).boolean(false).list({0, 0}).integer(1).booleans(mask);
    return inputs.flops("aten::convolution_backward");
  };
  EXPECT_EQ(call({0, 1, 1}), 7'077'888u);
  EXPECT_EQ(call({1, 1, 1}), 2 * 7'077'888u);
  EXPECT_EQ(call({0, 0, 1}), 0u);
}

TEST(FlopsTest, NormalisationActivationAndPooling) {
  CallInputs batch_norm;
  batch_norm.tensor({8, 16, 32, 32}).tensor({16}).tensor({16}).tensor({16}).tensor({16});
  CallInputs training = batch_norm;
  EXPECT_EQ(batch_norm.boolean(false).flops("aten::batch_norm"), 2u * 8 * 16 * 32 * 32);
  EXPECT_EQ(training.boolean(true).flops("aten::batch_norm"), 7u * 8 * 16 * 32 * 32);
  EXPECT_EQ(CallInputs().tensor({8, 16, 32, 32}).flops("aten::relu_"), 8u * 16 * 32 * 32);
  EXPECT_EQ(CallInputs().tensor({8, 16, 8, 8}).list({1, 1}).flops("aten::adaptive_avg_pool2d"), 8u * 16 * 64);
}

// ---- The operators of a transformer block: 2 sequences of 10, width 64, 4 heads -------------------------------------

TEST(FlopsTest, ProductsOfMatrices) {
  CallInputs linear;
  linear.tensor({2, 10, 64}).tensor({192, 64}).tensor({192});
  EXPECT_EQ(linear.flops("aten::linear"), 2u * 2 * 10 * 64 * 192);  // 491,520
  EXPECT_EQ(CallInputs().tensor({20, 64}).tensor({64, 192}).flops("aten::mm"), 491'520u);
  EXPECT_EQ(CallInputs().tensor({192}).tensor({20, 64}).tensor({64, 192}).flops("aten::addmm"), 491'520u);
  EXPECT_EQ(CallInputs().tensor({8, 10, 16}).tensor({8, 16, 10}).flops("aten::bmm"), 2u * 8 * 10 * 16 * 10);
  EXPECT_EQ(CallInputs().tensor({1}).tensor({8, 10, 16}).tensor({8, 16, 10}).flops("aten::baddbmm"), 25'600u);
  EXPECT_EQ(CallInputs().tensor({2, 4, 10, 16}).tensor({2, 4, 16, 10}).flops("aten::matmul"), 25'600u);
  EXPECT_EQ(CallInputs().tensor({2, 1, 10, 16}).tensor({4, 16, 10}).flops("aten::matmul"), 25'600u);
  EXPECT_EQ(CallInputs().tensor({3, 5}).tensor({5}).flops("aten::mv"), 30u);
  EXPECT_EQ(CallInputs().tensor({5}).tensor({2, 5, 3}).flops("aten::matmul"), 60u);
  EXPECT_EQ(CallInputs().tensor({2, 3, 5}).tensor({5}).flops("aten::matmul"), 60u);
  EXPECT_EQ(CallInputs().tensor({5}).tensor({5}).flops("aten::dot"), 10u);
  EXPECT_EQ(CallInputs().tensor({5}).tensor({3}).flops("aten::outer"), 15u);
}

TEST(FlopsTest, Attention) {
  CallInputs call;
  call.tensor({2, 4, 10, 16}).tensor({2, 4, 12, 16}).tensor({2, 4, 12, 8}).none().real(0).boolean(true);
  EXPECT_EQ(call.flops("aten::scaled_dot_product_attention"), 2u * 8 * 10 * 12 * 16 + 2u * 8 * 10 * 12 * 8);
  CallInputs heads;
  heads.tensor({2, 10, 64}).tensor({2, 10, 64}).tensor({2, 10, 64}).integer(64).integer(4);
  const uint64_t projections = 4u * 2 * 20 * 64 * 64, products = 2u * 2 * 2 * 10 * 10 * 64;
  EXPECT_EQ(heads.flops("aten::_native_multi_head_attention"), projections + products);
  CallInputs sequence_first;
  sequence_first.tensor({10, 2, 64}).tensor({12, 2, 64}).tensor({12, 2, 64}).integer(64).integer(4);
  EXPECT_EQ(sequence_first.flops("multi_head_attention_forward"),
            2u * 64 * 64 * (20 + 24 + 24 + 20) + 4u * 20 * 12 * 64);
}

TEST(FlopsTest, SoftmaxLayerNormAndElementWise) {
  EXPECT_EQ(CallInputs().tensor({8, 10, 10}).integer(-1).boolean(false).flops("aten::_softmax"), 5u * 800);
  EXPECT_EQ(CallInputs().tensor({2, 10, 64}).list({64}).tensor({64}).tensor({64}).flops("aten::layer_norm"), 7u * 1280);
  EXPECT_EQ(CallInputs().tensor({2, 10, 64}).list({64}).none().none().flops("aten::native_layer_norm"), 5u * 1280);
  EXPECT_EQ(CallInputs().tensor({2, 10, 256}).text("none").flops("aten::gelu"), 5120u);
  EXPECT_EQ(CallInputs().tensor({2, 10, 64}).tensor({2, 10, 64}).integer(1).flops("aten::add.Tensor"), 1280u);
  EXPECT_EQ(CallInputs().tensor({10, 1}).tensor({2, 1, 64}).flops("aten::mul"), 1280u);
  EXPECT_EQ(CallInputs().tensor({2, 10, 64}).integer(8).flops("aten::div_.Scalar"), 1280u);
  EXPECT_EQ(CallInputs().tensor({}).tensor({}).flops("aten::add"), 1u);
  EXPECT_EQ(CallInputs().tensor({2, 10, 64}).list({1}).boolean(false).flops("aten::mean.dim"), 1280u);
  EXPECT_EQ(CallInputs().tensor({6}).tensor({6}).tensor({6}).flops("aten::addcmul"), 18u);
  EXPECT_EQ(CallInputs().tensor({0, 4}).tensor({4, 5}).flops("aten::mm"), 0u);
}

// ---- Operators that are not counted ---------------------------------------------------------------------------------

TEST(FlopsTest, OperatorsOnIntegersHaveZeroFlops) {
  EXPECT_EQ(CallInputs().tensor({4}, Element::Long).tensor({4}, Element::Int).flops("aten::add"), 0u);
  EXPECT_EQ(CallInputs().tensor({4}, Element::Long).tensor({4}).flops("aten::add"), 4u);
  EXPECT_EQ(CallInputs().tensor({4}, Element::QInt8).flops("aten::relu"), 4u);
}

TEST(FlopsTest, UnknownNumbersAreNotGuessed) {
  EXPECT_EQ(CallInputs().tensor({4}).flops("aten::view"), std::nullopt);
  EXPECT_EQ(CallInputs().tensor({4}).flops(""), std::nullopt);
  EXPECT_EQ(CallInputs().tensor({4}).flops("_"), std::nullopt);
  EXPECT_EQ(CallInputs().tensor({4}).flops("quantized::add"), std::nullopt);
  EXPECT_EQ(CallInputs().flops("aten::add"), std::nullopt);
  EXPECT_EQ(CallInputs().tensor({4}).tensor({3}).flops("aten::add"), std::nullopt);
  EXPECT_EQ(CallInputs().tensor({4, 5}).tensor({4, 5}).flops("aten::mm"), std::nullopt);
  EXPECT_EQ(CallInputs().tensor({4, -5}).flops("aten::relu"), std::nullopt);
  EXPECT_EQ(CallInputs().tensor({INT64_MAX, INT64_MAX}).flops("aten::relu"), std::nullopt);
  EXPECT_EQ(CallInputs().tensor({1, 3, 8, 8}).tensor({4, 2, 3, 3}).flops("aten::conv2d"), std::nullopt);
  EXPECT_EQ(CallInputs().tensor({1, 3, 8, 8}).tensor({4, 3, 3, 3}).none().list({0, 0}).flops("aten::conv2d"),
            std::nullopt);
  EXPECT_EQ(CallInputs().tensor({1, 3, 8, 8}).tensor({4, 3, 3, 3}).none().text("x").flops("aten::conv2d"),
            std::nullopt);
}

TEST(FlopsTest, RandomInputsAreRefusedOrGiveTheSameNumberTwice) {
  const std::vector<std::string_view> names = {"conv2d",
                                               "convolution",
                                               "conv_transpose2d",
                                               "convolution_backward",
                                               "mm",
                                               "linear",
                                               "matmul",
                                               "add",
                                               "scaled_dot_product_attention",
                                               "_native_multi_head_attention",
                                               "softmax",
                                               "layer_norm",
                                               "batch_norm",
                                               "multi_head_attention_forward",
                                               "sum"};
  std::mt19937_64 random(11);
  size_t answered = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    CallInputs call;
    bool has_valid_tensor = false;
    for (uint64_t left = random() % 12; left != 0; --left) {
      CallSizes sizes(random() % 6);
      for (int64_t& size : sizes) size = static_cast<int64_t>(random() % 4 == 0 ? random() : random() % 5);
      const uint64_t kind = random() % 6;
      if (kind < 3) call.tensor(sizes);
      if (kind < 3) has_valid_tensor |= std::ranges::all_of(sizes, [](int64_t size) { return size >= 0; });
      if (kind == 3) call.list(sizes);
      if (kind == 4) call.integer(static_cast<int64_t>(random() % 2 == 0 ? random() : random() % 5));
      if (kind == 5) call.booleans(std::vector<uint8_t>(sizes.size(), 1));
    }
    for (const std::string_view name : names) {
      const auto flops = call.flops(name);
      EXPECT_EQ(call.flops(name), flops) << name;
      EXPECT_TRUE(has_valid_tensor || !flops) << name << " of tensors of negative sizes";
      ++(flops ? answered : refused);
    }
  }
  EXPECT_GT(answered, 0u);
  EXPECT_GT(refused, 0u);
}

// ---- Sums of products ----------------------------------------------------------------------------------------------

TEST(FlopsTest, EinsumCountsEachDimensionOnce) {
  const auto einsum = [](std::string_view equation, const std::vector<CallSizes>& tensors) {
    return CallInputs().text(equation).tensors(tensors).none().flops("aten::einsum");
  };
  EXPECT_EQ(einsum("ij,jk->ik", {{2, 3}, {3, 4}}), 2u * 2 * 3 * 4);
  EXPECT_EQ(einsum("ij, jk", {{2, 3}, {3, 4}}), 2u * 2 * 3 * 4);
  EXPECT_EQ(einsum("bij,bjk->bik", {{5, 2, 3}, {5, 3, 4}}), 2u * 5 * 2 * 3 * 4);
  EXPECT_EQ(einsum("...ij,...jk->...ik", {{7, 5, 2, 3}, {5, 3, 4}}), 2u * 7 * 5 * 2 * 3 * 4);
  EXPECT_EQ(einsum("i,j->ij", {{2}, {3}}), 6u) << "nothing is added";
  EXPECT_EQ(einsum("ij->i", {{2, 3}}), 6u);
  EXPECT_EQ(einsum("ij->ji", {{2, 3}}), 0u);
  EXPECT_EQ(einsum("ii", {{3, 3}}), 3u);
  EXPECT_EQ(einsum("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}}), 2u * 2 * 3 * 4 + 2u * 2 * 4 * 5);
  EXPECT_EQ(CallInputs().text("ij,jk->ik").tensors({{2, 3}, {3, 4}}, Element::Int).flops("aten::einsum"), 0u);
  for (const char* bad : {"ij,jk->iz", "ijk,jk->ik", "ij->i", "ij,kl,m->i", "i!,jk->k", "ij,ik->jk"})
    EXPECT_EQ(einsum(bad, {{2, 3}, {3, 4}}), std::nullopt) << bad;
}

TEST(FlopsTest, Tensordot) {
  const auto dot = [](const CallSizes& left, const CallSizes& right, const CallSizes& of_left,
                      const CallSizes& of_right) {
    return CallInputs().tensor(left).tensor(right).list(of_left).list(of_right).flops("aten::tensordot");
  };
  EXPECT_EQ(dot({3, 4, 5}, {4, 3, 2}, {1, 0}, {0, 1}), 2u * 3 * 4 * 5 * 2);
  EXPECT_EQ(dot({3, 4}, {4, 2}, {-1}, {-2}), 2u * 3 * 4 * 2);
  EXPECT_EQ(dot({3}, {2}, {}, {}), 6u);
  EXPECT_EQ(dot({3, 4}, {4, 2}, {0}, {0}), std::nullopt);
  EXPECT_EQ(dot({3, 4}, {4, 2}, {7}, {0}), std::nullopt);
}

TEST(FlopsTest, Bilinear) {
  const auto call = CallInputs().tensor({8, 5}).tensor({8, 6}).tensor({4, 5, 6}).tensor({4});
  EXPECT_EQ(call.flops("aten::bilinear"), 2u * 8 * (4 * 5 * 6 + 4 * 5));
}

// ---- Recurrent layers ----------------------------------------------------------------------------------------------

TEST(FlopsTest, Lstm) {
  // 7 steps, 2 sequences, 5 inputs, 3 hidden units, one layer
  const std::vector<CallSizes> params = {{12, 5}, {12, 3}, {12}, {12}};
  const auto input = CallInputs().tensor({7, 2, 5}).tensors({{1, 2, 3}, {1, 2, 3}}).tensors(params);
  const auto call = CallInputs(input).boolean(true).integer(1).real(0).boolean(false).boolean(false).boolean(false);
  EXPECT_EQ(call.flops("aten::lstm.input"), 14u * (2 * (12 * 5 + 12 * 3) + 3 * 13));
  const auto packed = CallInputs().tensor({9, 5}).tensor({7}, Element::Long).tensors({{1, 2, 3}, {1, 2, 3}});
  EXPECT_EQ(
      CallInputs(packed).tensors(params).boolean(true).integer(1).real(0).boolean(false).boolean(false).flops("lstm"),
      9u * (2 * (12 * 5 + 12 * 3) + 3 * 13));
  EXPECT_EQ(input.flops("aten::lstm"), std::nullopt) << "the number of layers is not known";
}

TEST(FlopsTest, GruWithTwoLayersInBothDirections) {
  std::vector<CallSizes> params;
  for (const int64_t inputs : {5, 5, 6, 6})  // the second layer gets both directions of the first one
    for (const CallSizes& each : std::vector<CallSizes>{{9, inputs}, {9, 3}, {9}, {9}}) params.push_back(each);
  const auto call = CallInputs().tensor({2, 7, 5}).tensor({4, 2, 3}).tensors(params).boolean(true).integer(2);
  EXPECT_EQ(CallInputs(call).real(0).boolean(false).boolean(true).boolean(true).flops("aten::gru.input"),
            14u * (2 * (2 * 9 * 5 + 2 * 9 * 6 + 4 * 9 * 3) + 4 * 3 * 10));
}

TEST(FlopsTest, RecurrentCells) {
  const auto lstm = CallInputs().tensor({2, 5}).tensors({{2, 3}, {2, 3}}).tensor({12, 5}).tensor({12, 3});
  EXPECT_EQ(lstm.flops("aten::lstm_cell"), 2u * (2 * (60 + 36) + 3 * 13));
  const auto plain = CallInputs().tensor({2, 5}).tensor({2, 3}).tensor({3, 5}).tensor({3, 3});
  EXPECT_EQ(plain.flops("aten::rnn_tanh_cell"), 2u * (2 * (15 + 9) + 3 * 2));
}

}  // namespace
}  // namespace kymo::edge
