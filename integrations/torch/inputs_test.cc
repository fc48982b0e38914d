#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/error.h"
#include "test_modules.h"

namespace kymo::edge::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Records `run`, and returns the inputs of its first operator with that name.
template <class Run>
std::vector<EdgeInput> inputs_of(const char* name, Run run) {
  torch::nn::Linear module(1, 1);
  EdgeProfiler profiler(module, {.report_input_shapes = true});
  run();
  const EdgeResult result = profiler.disable_profiler();
  EXPECT_THAT(result.losses(), IsEmpty());
  const std::vector<EdgeEvent> events = named(result, name);
  if (events.empty()) {
    ADD_FAILURE() << "no operator " << name;
    return std::vector<EdgeInput>(8);
  }
  return result.inputs(events[0]);
}

TEST(TorchInputsTest, TensorsHaveSizesStridesAndTypes) {
  const torch::Tensor x = torch::rand({4, 6}).t(), y = torch::ones({6, 4}, torch::kFloat64);
  const std::vector<EdgeInput> inputs = inputs_of("aten::add", [&] { torch::add(x, y, 2); });
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[0].type, "float");
  EXPECT_THAT(inputs[0].sizes, ElementsAre(6, 4));
  EXPECT_THAT(inputs[0].strides, ElementsAre(1, 6));
  EXPECT_EQ(inputs[1].type, "double");
  EXPECT_THAT(inputs[1].strides, ElementsAre(4, 1));
  EXPECT_EQ(inputs[2].type, "Scalar");
  EXPECT_EQ(inputs[2].value, "2");
}

TEST(TorchInputsTest, EveryTypeOfElementHasItsName) {
  const std::vector<std::pair<torch::Dtype, const char*>> types = {{torch::kBool, "bool"},
                                                                   {torch::kUInt8, "unsigned char"},
                                                                   {torch::kInt8, "signed char"},
                                                                   {torch::kInt16, "short int"},
                                                                   {torch::kInt32, "int"},
                                                                   {torch::kInt64, "long int"},
                                                                   {torch::kFloat16, "c10::Half"},
                                                                   {torch::kBFloat16, "c10::BFloat16"},
                                                                   {torch::kFloat32, "float"},
                                                                   {torch::kFloat64, "double"},
                                                                   {torch::kComplexFloat, "c10::complex<float>"},
                                                                   {torch::kComplexDouble, "c10::complex<double>"}};
  for (const auto& [type, name] : types) {
    const torch::Tensor x = torch::zeros({2}, type);
    EXPECT_EQ(inputs_of("aten::clone", [&] { x.clone(); })[0].type, name);
  }
}

TEST(TorchInputsTest, ScalarsListsAndAbsentInputs) {
  const torch::Tensor x = torch::rand({1, 2, 8, 8}), weight = torch::rand({3, 2, 3, 3});
  const std::vector<EdgeInput> inputs = inputs_of("aten::conv2d", [&] {
    torch::conv2d(x, weight, {}, {2, 2}, at::IntArrayRef({1, 1}));
  });
  ASSERT_EQ(inputs.size(), 7u);
  EXPECT_THAT(inputs[1].sizes, ElementsAre(3, 2, 3, 3));
  EXPECT_EQ(inputs[2].type, "");  // no bias
  EXPECT_EQ(inputs[3].type, "ScalarList");
  EXPECT_EQ(inputs[3].value, "[2, 2]");
  EXPECT_EQ(inputs[4].value, "[1, 1]");
  EXPECT_EQ(inputs[6].value, "1");
  EXPECT_EQ(inputs_of("aten::dropout", [&] { torch::dropout(x, 0.5, true); })[1].value, "0.5");
  EXPECT_EQ(inputs_of("aten::dropout", [&] { torch::dropout(x, 0.5, true); })[2].value, "True");
}

TEST(TorchInputsTest, ListOfTensorsContainsEachTensor) {
  const std::vector<torch::Tensor> tensors = {torch::rand({2, 3}), torch::rand({5, 3})};
  const std::vector<EdgeInput> inputs = inputs_of("aten::cat", [&] { torch::cat(tensors, 0); });
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].type, "TensorList");
  ASSERT_EQ(inputs[0].tensors.size(), 2u);
  EXPECT_THAT(inputs[0].tensors[1].sizes, ElementsAre(5, 3));
  EXPECT_EQ(inputs[1].value, "0");
}

TEST(TorchInputsTest, ListMayHaveUndefinedTensors) {
  const torch::Tensor x = torch::rand({4, 4}), index = torch::tensor({1, 2});
  const std::vector<EdgeInput> inputs = inputs_of("aten::index", [&] { x.index({torch::indexing::Slice(), index}); });
  ASSERT_EQ(inputs.size(), 2u);
  ASSERT_EQ(inputs[1].tensors.size(), 2u);
  EXPECT_THAT(inputs[1].tensors[1].sizes, ElementsAre(2));
}

TEST(TorchInputsTest, TensorsWithoutStridesOrSizesAreHarmless) {
  const torch::Tensor sparse = torch::eye(4).to_sparse();
  const std::vector<EdgeInput> inputs = inputs_of("aten::mul", [&] { torch::mul(sparse, 2); });
  EXPECT_THAT(inputs.at(0).sizes, ElementsAre(4, 4));
  EXPECT_THAT(inputs.at(0).strides, IsEmpty());

  const torch::Tensor nested = at::_nested_tensor_from_tensor_list({torch::rand({2, 3}), torch::rand({4, 3})});
  EXPECT_THAT(inputs_of("aten::relu", [&] { torch::relu(nested); }).at(0).sizes, IsEmpty());
}

TEST(TorchInputsTest, EmptyListsStayEmpty) {
  const torch::Tensor x = torch::rand({2, 3});
  const std::vector<EdgeInput> inputs = inputs_of("aten::sum", [&] { x.sum(at::IntArrayRef()); });
  ASSERT_GE(inputs.size(), 2u);
  EXPECT_EQ(inputs[1].type, "ScalarList");
  EXPECT_EQ(inputs[1].value, "[]");
}

TEST(TorchInputsTest, LongListsAreNotCopiedIntoTheTrace) {
  const std::vector<int64_t> dimensions(3000, 1);
  const torch::Tensor x = torch::rand({1});
  const std::vector<EdgeInput> inputs = inputs_of("aten::expand", [&] {
    try {
      x.expand(dimensions);
    } catch (const c10::Error&) {  // more dimensions than libtorch supports
    }
  });
  EXPECT_EQ(inputs.at(1).value, "");
}

}  // namespace
}  // namespace kymo::edge::testing
