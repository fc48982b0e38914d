// A module that is lowered to a backend which measures itself. Its instructions have the debug handles of the operators
// they were made from.
#include <gtest/gtest.h>
#include <torch/csrc/jit/backends/backend.h>
#include <torch/csrc/jit/backends/backend_debug_handler.h>
#include <torch/csrc/jit/backends/backend_detail.h>
#include <torch/csrc/jit/backends/backend_preprocess.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <chrono>

#include "edge/test_chrome_reader.h"
#include "test_modules.h"

namespace kymo::edge::testing {
namespace {

constexpr const char* kBackend = "kymo_test_backend";

using Program = c10::List<std::tuple<std::string, int64_t>>;  // names and debug handles

// Lowers a module: each operator of the method becomes an instruction.
c10::IValue lower(const torch::jit::Module& module, const c10::Dict<c10::IValue, c10::IValue>& methods,
                  const torch::jit::BackendDebugHandleGenerator& make_handles) {
  c10::Dict<std::string, Program> programs;
  for (const auto& method : methods) {
    const std::string& name = method.key().toStringRef();
    const auto graph = module.get_method(name).graph()->copy();
    torch::jit::Inline(*graph);
    const torch::jit::NodeToDebugHandle handles = make_handles(graph);
    Program program;
    for (torch::jit::Node* const node : graph->nodes())
      program.push_back({node->kind().toQualString(), handles.at(node)});
    programs.insert(name, program);
  }
  return programs;
}

int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Runs x + y for every program, and reports the time of each instruction.
class AddingBackend : public torch::jit::PyTorchBackendInterface {
 public:
  bool is_available() override { return true; }

  c10::impl::GenericDict compile(c10::IValue processed, c10::impl::GenericDict methods) override {
    const c10::impl::GenericDict programs = processed.toGenericDict();
    c10::Dict<c10::IValue, c10::IValue> handles(c10::StringType::get(), c10::AnyType::get());
    for (const auto& method : methods) handles.insert(method.key(), programs.at(method.key()));
    return c10::impl::toGenericDict(handles);
  }

  c10::impl::GenericList execute(c10::IValue handle, c10::impl::GenericList inputs) override {
    const torch::Tensor x = inputs.get(0).toTensor(), y = inputs.get(1).toTensor();
    torch::Tensor sum;
    int64_t end_us = now_us();
    for (const c10::IValue& instruction : handle.toListRef()) {
      const int64_t start_us = end_us;
      const auto& parts = instruction.toTupleRef().elements();
      if (parts[0].toStringRef() == "aten::add") sum = x + y;
      end_us = std::max(now_us(), start_us);
      KYMO_RECORD_BACKEND_EVENT(start_us, end_us, parts[1].toInt(), parts[0].toStringRef(), "test_backend");
    }
    const size_t bytes = x.nbytes();
    KYMO_RECORD_BACKEND_MEMORY_EVENT(x.data_ptr(), static_cast<int64_t>(bytes), bytes, 3 * bytes);
    c10::List<torch::Tensor> outputs({sum});
    return c10::impl::toList(outputs);
  }
};

const torch::jit::backend<AddingBackend> backend_registration(kBackend);
const torch::jit::backend_preprocess_register lower_registration(kBackend, lower);

torch::jit::mobile::Module lowered_module() {
  const torch::jit::Module module = module_of("def forward(self, x, h):\n    return x + h\n", "m");
  c10::Dict<c10::IValue, c10::IValue> methods(c10::StringType::get(), c10::AnyType::get());
  methods.insert("forward", "");
  const auto any = c10::DictType::create(c10::StringType::get(), c10::AnyType::get());
  return to_mobile(torch::jit::detail::codegen_backend_module(kBackend, module, methods, any));
}

TEST(BackendTest, EventsHaveTheirModulePlaceAndBackend) {
  torch::jit::mobile::Module module = lowered_module();
  const TemporaryFile file("backend.json");
  {
    EdgeProfiler profiler(module, {file.path(), false, false, true, false, true});
    module.forward(two_squares());
  }
  ChromeLines lines = ChromeLines::of_file(file.path());
  EXPECT_TRUE(lines.find("aten::add", "Module Hierarchy", "top(m)::<unknown>.aten::add"));
  lines.rewind();
  EXPECT_TRUE(lines.find("aten::add", "Backend", "test_backend"));
  EXPECT_EQ(chrome_faults(file.path()), "");
}

TEST(BackendTest, MemoryOfTheBackendIsInTheFile) {
  torch::jit::mobile::Module module = lowered_module();
  const TemporaryFile file("backend_memory.json");
  {
    EdgeProfiler profiler(module, {file.path(), false, true, true, false, true});
    module.forward(two_squares());
  }
  ChromeLines lines = ChromeLines::of_file(file.path());
  EXPECT_TRUE(lines.find("[memory]", "Bytes", "16384"));
  lines.rewind();
  EXPECT_TRUE(lines.find("[memory]", "Total Reserved", "49152"));
}

TEST(BackendTest, PerformanceEventsBelongToTheOperatorsAroundTheBackend) {
  std::vector<std::string> events = event_names();
  if (events.empty()) GTEST_SKIP() << "no performance events here";
  events.resize(std::min<size_t>(events.size(), 2));
  torch::jit::mobile::Module module = lowered_module();
  const TemporaryFile file("backend_events.json");
  {
    EdgeProfiler profiler(module, {file.path(), false, false, true, false, true, events});
    module.forward(two_squares());
  }
  for (const std::string& event : events)
    EXPECT_TRUE(ChromeLines::of_file(file.path()).find("execute", event)) << event;
}

TEST(BackendTest, EventsAreInTheResult) {
  torch::jit::mobile::Module module = lowered_module();
  EdgeProfiler profiler(module, {.profile_memory = true, .with_modules = true});
  module.forward(two_squares());
  const EdgeResult result = profiler.disable_profiler();
  const std::vector<EdgeEvent> adds = named(result, "aten::add");
  ASSERT_EQ(adds.size(), 1u);
  EXPECT_EQ(adds[0].kind, EdgeKind::Backend);
  EXPECT_EQ(adds[0].backend, "test_backend");
  EXPECT_EQ(adds[0].module_hierarchy, "top(m)::<unknown>.aten::add");
  EXPECT_EQ(named(result, "prim::Constant").size(), 1u);
  EXPECT_EQ(result.events()[adds[0].parent].name, "execute");
}

TEST(BackendTest, BackendRunsWithoutAProfiler) {
  torch::jit::mobile::Module module = lowered_module();
  const std::vector<c10::IValue> inputs = two_squares();
  const torch::Tensor sum = module.forward(inputs).toTensor();
  EXPECT_TRUE(torch::equal(sum, inputs[0].toTensor() + inputs[1].toTensor()));
}

}  // namespace
}  // namespace kymo::edge::testing
