#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/print_handler.h>

#include "edge/test_chrome_reader.h"
#include "kymo/error.h"
#include "test_modules.h"

namespace kymo::edge::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using torch::jit::mobile::Module;

TEST(MobileModuleTest, EveryOperatorHasItsPlaceInTheModule) {
  Module module = to_mobile(nested_module());
  const TemporaryFile file("hierarchy.json");
  {
    EdgeProfiler profiler(module, {file.path(), false, false, true, false, true});
    module.forward(two_squares());
  }
  ChromeLines lines = ChromeLines::of_file(file.path());
  const char* const key = "Module Hierarchy";
  EXPECT_TRUE(lines.find("aten::sub", key, "top(C)::<unknown>.A0(A)::forward.aten::sub"));
  lines.rewind();
  EXPECT_TRUE(lines.find("aten::mul", key,
                         "top(C)::<unknown>.A0(A)::forward.SELF(A)::forward_impl_.SELF(A)::my_new_method.aten::mul"));
  lines.rewind();
  EXPECT_TRUE(lines.find("aten::add", key, "top(C)::<unknown>.A0(A)::forward.SELF(A)::forward_impl_.aten::add"));
  EXPECT_TRUE(lines.find("aten::add", key, "top(C)::<unknown>.SELF(C)::call_b.B0(B)::forward.aten::add"));
  EXPECT_TRUE(lines.find("aten::add", key, "top(C)::<unknown>.aten::add"));
  EXPECT_EQ(chrome_faults(file.path()), "");
}

TEST(MobileModuleTest, CallStackIsRecordedWithTheHierarchy) {
  Module module = to_mobile(nested_module());
  EdgeProfiler profiler(module, {.with_stack = true, .with_modules = true});
  module.forward(two_squares());
  const EdgeResult result = profiler.disable_profiler();
  ASSERT_EQ(named(result, "aten::mul").size(), 1u);
  const EdgeEvent mul = named(result, "aten::mul")[0];
  EXPECT_EQ(mul.call_stack,
            "<string>(3): my_new_method;<string>(5): forward_impl_;<string>(8): forward;<string>(5): <unknown>");
  EXPECT_THAT(std::string(mul.module_hierarchy), HasSubstr("my_new_method.aten::mul"));
  EXPECT_FALSE(result.stack(mul).empty());
}

TEST(MobileModuleTest, OperatorsAreInTheOrderTheyRanAndEachOnce) {
  Module module = to_mobile(nested_module());
  EdgeProfiler profiler(module, {});
  module.forward(two_squares());
  const EdgeResult result = profiler.disable_profiler();
  EXPECT_THAT(names(result), ElementsAre("aten::sub", "aten::mul", "aten::add", "aten::add", "aten::add"));
  uint64_t last = 0;
  for (const EdgeEvent& event : result.events()) {
    EXPECT_TRUE(event.finished);
    EXPECT_LE(last, event.start_ns);
    EXPECT_LE(event.start_ns, event.end_ns);
    last = event.end_ns;
  }
  EXPECT_TRUE(result.losses().empty());
}

TEST(MobileModuleTest, MissingDebugInformationIsReported) {
  Module module = to_mobile(nested_module(), false);
  EdgeProfiler profiler(module, {.with_stack = true, .with_modules = true});
  module.forward(two_squares());
  const EdgeResult result = profiler.disable_profiler();
  ASSERT_EQ(result.events().size(), 5u);
  for (const EdgeEvent& event : result.events()) {
    EXPECT_EQ(event.module_hierarchy, kNoDebugInformation);
    EXPECT_EQ(event.call_stack, kNoDebugInformation);
  }
}

TEST(MobileModuleTest, UnknownHandleIsReported) {
  Module module = to_mobile(nested_module());
  EdgeProfiler profiler(module, {.with_stack = true, .with_modules = true});
  KYMO_RECORD_BACKEND_EVENT(1000, 2000, 777777, "conv", "somebody");
  const EdgeResult result = profiler.disable_profiler();
  ASSERT_EQ(result.events().size(), 1u);
  EXPECT_EQ(result.events()[0].module_hierarchy, "Debug info for handle(s): 777777, was not found.");
  EXPECT_EQ(result.events()[0].call_stack, "Debug info for handle(s): 777777, was not found.");
}

// The interpreter passes its whole stack: in "x + (y * z)", x is below the two arguments of the product.
TEST(MobileModuleTest, InputsDoNotIncludeOtherValuesOnTheStack) {
  for (const bool debug_information : {true, false}) {
    Module module =
        to_mobile(module_of("def forward(self, x, y, z):\n    return (x - z) + y * 2\n"), debug_information);
    EdgeProfiler profiler(module, {.report_input_shapes = true});
    module.forward({torch::rand({2, 3}), torch::rand({3}), torch::rand({2, 1})});
    const EdgeResult result = profiler.disable_profiler();
    const std::vector<EdgeInput> mul = result.inputs(named(result, "aten::mul").at(0));
    ASSERT_EQ(mul.size(), 2u) << debug_information;
    EXPECT_THAT(mul[0].sizes, ElementsAre(3));
    EXPECT_EQ(mul[1].value, "2");
    const std::vector<EdgeInput> add = result.inputs(named(result, "aten::add").at(0));
    ASSERT_EQ(add.size(), 2u);
    EXPECT_THAT(add[0].sizes, ElementsAre(2, 3));
    EXPECT_THAT(add[1].sizes, ElementsAre(3));
  }
}

TEST(MobileModuleTest, VariadicOperatorsHaveOnlyTheirArguments) {
  Module module = to_mobile(module_of("def forward(self, x):\n    print(x.size(0), x.size(1))\n    return x\n"));
  torch::jit::setPrintHandler([](const std::string&) {});
  EdgeProfiler profiler(module, {.report_input_shapes = true});
  module.forward({torch::rand({2, 3})});
  torch::jit::setPrintHandler(torch::jit::getDefaultPrintHandler());
  const EdgeResult result = profiler.disable_profiler();
  const std::vector<EdgeInput> inputs = result.inputs(named(result, "prim::Print").at(0));
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].value, "2");
  EXPECT_EQ(inputs[1].value, "3");
}

TEST(MobileModuleTest, EveryOperatorHasPerformanceEvents) {
  std::vector<std::string> events = event_names();
  if (events.empty()) GTEST_SKIP() << "no performance events here";
  events.resize(std::min<size_t>(events.size(), 2));
  Module module = to_mobile(module_of("def forward(self, x):\n    return [x, x][1] + 1\n"));
  const TemporaryFile file("events.json");
  {
    EdgeProfiler profiler(module, {file.path(), false, false, true, false, true, events});
    module.forward({torch::rand({64, 64})});
  }
  for (const std::string& event : events) {
    ChromeLines lines = ChromeLines::of_file(file.path());
    EXPECT_TRUE(lines.find("aten::__getitem__", event)) << event;
  }
}

TEST(MobileModuleTest, ScopesOfTheProgramContainTheOperators) {
  Module module = to_mobile(nested_module());
  EdgeProfiler profiler(module, {});
  {
    RECORD_USER_SCOPE("a step");
    module.forward(two_squares());
  }
  const EdgeResult result = profiler.disable_profiler();
  ASSERT_EQ(result.events().size(), 6u);
  EXPECT_EQ(result.events()[0].name, "a step");
  EXPECT_EQ(result.events()[0].kind, EdgeKind::User);
  for (size_t at = 1; at < 6; ++at) EXPECT_EQ(result.events()[at].parent, 0u);
}

}  // namespace
}  // namespace kymo::edge::testing
