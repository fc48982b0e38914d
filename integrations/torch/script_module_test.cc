#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "edge/test_chrome_reader.h"
#include "test_modules.h"

namespace kymo::edge::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

EdgeEvent outermost(const EdgeResult& result, std::string_view name) {
  for (const EdgeEvent& event : result.events())
    if (event.name == name && (event.parent == EdgeEvent::kNone || result.events()[event.parent].name != name))
      return event;
  ADD_FAILURE() << "no " << name;
  return {};
}

TEST(ScriptModuleTest, InterpreterReportsThePlaceOfARunningOperator) {
  torch::jit::Module module = nested_module();
  for (int run = 0; run < 3; ++run) {  // libtorch compiles differently after it has seen a module run
    EdgeProfiler profiler(module, {.with_stack = true, .with_modules = true});
    module.forward(two_squares());
    const EdgeResult result = profiler.disable_profiler();
    EXPECT_EQ(outermost(result, "aten::sub").module_hierarchy, "top(C)::forward.A0(A)::forward.aten::sub");
    const EdgeEvent mul = outermost(result, "aten::mul");
    EXPECT_EQ(mul.module_hierarchy,
              "top(C)::forward.A0(A)::forward.SELF(A)::forward_impl_.SELF(A)::my_new_method.aten::mul");
    EXPECT_EQ(mul.call_stack,
              "<string>(3): my_new_method;<string>(5): forward_impl_;<string>(8): forward;<string>(5): forward");
    std::set<std::string> adds;
    for (const EdgeEvent& event : named(result, "aten::add")) adds.emplace(event.module_hierarchy);
    EXPECT_THAT(adds, Contains("top(C)::forward.A0(A)::forward.SELF(A)::forward_impl_.aten::add"));
    EXPECT_THAT(adds, Contains("top(C)::forward.SELF(C)::call_b.B0(B)::forward.aten::add"));
    EXPECT_THAT(adds, Contains("top(C)::forward.aten::add"));
    EXPECT_THAT(result.losses(), IsEmpty());
  }
}

// The interpreter passes its whole stack: the difference is below the two arguments of the product.
TEST(ScriptModuleTest, InputsDoNotIncludeOtherValuesOnTheStack) {
  torch::jit::Module module = module_of("def forward(self, x, y, z):\n    return (x - z) + torch.mm(y, z)\n");
  const std::vector<c10::IValue> inputs = {torch::rand({3, 3}), torch::rand({3, 3}), torch::rand({3, 1})};
  for (int i = 0; i < 3; ++i) {
    EdgeProfiler profiler(module, {.report_input_shapes = true});
    module.forward(inputs);
    const EdgeResult result = profiler.disable_profiler();
    const std::vector<EdgeInput> product = result.inputs(named(result, "aten::mm").at(0));
    ASSERT_EQ(product.size(), 2u) << i;
    EXPECT_THAT(product[1].sizes, ElementsAre(3, 1));
  }
}

TEST(ScriptModuleTest, FunctionsOfTheModuleContainTheirOperators) {
  torch::jit::Module module = nested_module();
  const std::vector<c10::IValue> inputs = two_squares();
  EdgeProfiler profiler(module, {});
  module.forward(inputs);
  const EdgeResult result = profiler.disable_profiler();
  ASSERT_FALSE(result.events().empty());
  EXPECT_EQ(result.events()[0].name, "forward");
  EXPECT_EQ(result.events()[0].kind, EdgeKind::Function);
  for (size_t at = 1; at < result.events().size(); ++at) EXPECT_GE(result.events()[at].depth, 1u);
  EXPECT_THAT(std::string(outermost(result, "aten::sub").module_hierarchy), IsEmpty());  // it was not requested
}

TEST(ScriptModuleTest, OperatorsInsideOperatorsAreTheirChildren) {
  torch::nn::Linear module(4, 2);
  EdgeProfiler profiler(module, {});
  torch::linear(torch::rand({3, 4}), module->weight, module->bias);
  const EdgeResult result = profiler.disable_profiler();
  const std::vector<EdgeEvent> products = named(result, "aten::addmm");
  ASSERT_EQ(products.size(), 1u);
  ASSERT_NE(products[0].parent, EdgeEvent::kNone);
  EXPECT_EQ(result.events()[products[0].parent].name, "aten::linear");
}

TEST(ScriptModuleTest, CppModulesAreKnownByTheirNamedScopes) {
  struct Net : torch::nn::Module {
    torch::nn::Linear inner = register_module("inner", torch::nn::Linear(4, 2));
    torch::Tensor forward(const torch::Tensor& x) {
      RECORD_USER_SCOPE("inner");
      return inner->forward(x);
    }
  };
  Net net;
  EdgeProfiler profiler(net, {.with_modules = true});
  net.forward(torch::rand({3, 4}));
  const EdgeResult result = profiler.disable_profiler();
  const EdgeEvent product = outermost(result, "aten::addmm");
  ASSERT_NE(product.parent, EdgeEvent::kNone);
  EXPECT_EQ(result.events()[product.parent].name, "inner");
  EXPECT_EQ(result.events()[product.parent].kind, EdgeKind::User);
  EXPECT_THAT(std::string(product.module_hierarchy), IsEmpty());
}

TEST(ScriptModuleTest, EveryKindOfModuleIsAccepted) {
  struct DerivedScript : torch::jit::Module {
    using torch::jit::Module::Module;
  };
  static_assert(Profilable<torch::jit::mobile::Module>);
  static_assert(Profilable<torch::jit::Module>);
  static_assert(Profilable<DerivedScript>);
  static_assert(Profilable<torch::nn::Module>);
  static_assert(Profilable<torch::nn::LinearImpl>);
  static_assert(Profilable<torch::nn::Linear>);
  static_assert(Profilable<torch::nn::Sequential>);
  static_assert(!Profilable<torch::Tensor>);
  torch::nn::Sequential module(torch::nn::Linear(4, 2), torch::nn::ReLU());
  EdgeProfiler profiler(module, {});
  module->forward(torch::rand({3, 4}));
  const EdgeResult result = profiler.disable_profiler();
  EXPECT_THAT(names(result), Contains("aten::relu"));
}

TEST(ScriptModuleTest, OperatorThatThrowsIsFinished) {
  torch::nn::Linear module(4, 2);
  EdgeProfiler profiler(module, {.report_input_shapes = true});
  EXPECT_THROW(torch::mm(torch::rand({2, 3}), torch::rand({2, 3})), c10::Error);
  torch::mm(torch::rand({2, 3}), torch::rand({3, 2}));
  const EdgeResult result = profiler.disable_profiler();
  const std::vector<EdgeEvent> products = named(result, "aten::mm");
  ASSERT_EQ(products.size(), 2u);
  for (const EdgeEvent& event : products) EXPECT_TRUE(event.finished);
}

}  // namespace
}  // namespace kymo::edge::testing
