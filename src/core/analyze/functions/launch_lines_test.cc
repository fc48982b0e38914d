#include "analyze/functions/launch_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace/test_recorder.h"

namespace kymo::functions {
namespace {

using trace::FieldType;
using trace::PointKind;

std::string text_of(std::string_view category, std::string_view name) {
  const std::optional<PythonFunction> named = python_function(category, name);
  return named ? named->function + " in " + named->file + " " + std::to_string(named->line) : "none";
}

TEST(LaunchLinesTest, FunctionsOfPyTorchAndOfKymoHaveLines) {
  EXPECT_EQ(text_of("python_function", "torch/nn/modules/linear.py(124): forward"),
            "forward in torch/nn/modules/linear.py 124");
  EXPECT_EQ(text_of("python_function", "<string>(1): <module>"), "<module> in <string> 1");
  EXPECT_EQ(text_of("python_function", "a (copy).py(7): f"), "f in a (copy).py 7");
  EXPECT_EQ(text_of("python", "Loader.read (data.py:12)"), "Loader.read in data.py 12");
  EXPECT_EQ(text_of("python", "main.<locals>.<lambda> (a (copy).py:7)"), "main.<locals>.<lambda> in a (copy).py 7");
}

TEST(LaunchLinesTest, OtherRangesHaveNone) {
  for (const std::string_view name :
       {"", "(", "): ", "(): f", "a.py(): f", "a.py(0): f", "a.py(12x): f", "a.py(99999999999): f",
        "nn.Module: Linear_0", "<built-in method matmul of type object at 0x7f>", "a.py(12)", "f (a.py:12)"})
    EXPECT_EQ(text_of("python_function", name), "none") << name;
  for (const std::string_view name :
       {"", ")", ":)", " (:)", "f (a.py:)", "f (a.py:0)", "f (a.py:x)", "f (a.py)", "f a.py:12"})
    EXPECT_EQ(text_of("python", name), "none") << name;
  EXPECT_EQ(text_of("user_annotation", "a.py(12): f"), "none");
  EXPECT_EQ(text_of("python C", "f (a.py:12)"), "none");
}

// A step of training: the main thread launches in operators and calls backward(), a thread of PyTorch runs the rest.
class LaunchStacksTest : public ::testing::Test {
 protected:
  enum Class : uint32_t { kStack = 1, kNode, kSymbol, kArrow, kLaunch, kWork };
  static constexpr uint32_t kMain = 1, kAutograd = 2, kQueue = 3;

  LaunchStacksTest() {
    recorder_.add_class(kStack, "python stack", "kymo.stack", {{"node", FieldType::UInt}});
    recorder_.add_class(kNode, "stack node", "kymo.stack",
                        {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}});
    recorder_.add_class(kSymbol, "symbol", "kymo.stack",
                        {{"address", FieldType::Pointer},
                         {"name", FieldType::String},
                         {"file", FieldType::String},
                         {"line", FieldType::UInt}});
    recorder_.add_class(kArrow, "fwdbwd", "torch");
    recorder_.add_class(kLaunch, "cuLaunchKernel", "cuda");
    recorder_.add_class(kWork, "kernel", "");
    recorder_.add_thread(kMain, 101, "main");
    recorder_.add_thread(kAutograd, 102, "pt_autograd_0");
    recorder_.add_queue(kQueue, "cuda:0", "stream 7");
  }

  // Outermost first: "main train.py 7".
  int64_t stack(const std::vector<OwnLine>& functions) {
    int64_t node = 1;
    for (const OwnLine& one : functions) {
      const int64_t address = 1000 + next_;
      recorder_.point(kMain, 0, PointKind::Instant, kSymbol, 0,
                      {address, one.function, one.file, static_cast<int64_t>(one.line)});
      recorder_.point(kMain, 0, PointKind::Instant, kNode, 0, {next_, node, address});
      node = next_++;
    }
    return node;
  }
  void runs(uint32_t track, uint64_t time, int64_t node) {
    recorder_.point(track, time, PointKind::Instant, kStack, 0, {node});
  }
  // The work takes as many nanoseconds as its launch is late.
  void launch(uint32_t track, uint64_t time) {
    recorder_.complete(track, time, time + 1, kLaunch, 0, 0, time);
    recorder_.complete(kQueue, time * 100, time * 100 + time, kWork, 0, 0, time);
  }
  std::string lines() {
    recorder_.close();
    const trace::Reader reader(folder_ / "run.kymo");
    const std::optional<DeviceLines> all = device_lines(reader, memory::OwnCode());
    std::string text;
    for (const DeviceLine& one : all->lines) text += text_of(one.line) + " " + std::to_string(one.device_ns) + "\n";
    return text + std::to_string(all->device_ns - all->with_line_ns) + " of no line";
  }

  trace::testing::TemporaryFolder folder_;
  trace::testing::TestRecorder recorder_{folder_ / "run.kymo", 1};
  int64_t next_ = 16;
};

TEST_F(LaunchStacksTest, ABackwardFunctionHasTheLineOfItsForwardOperator) {
  const OwnLine module{"<module>", "train.py", 30}, forward{"Net.forward", "train.py", 11},
      linear{"Linear.forward", "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py", 134};
  runs(kMain, 10, stack({module, forward, linear}));
  launch(kMain, 11);
  recorder_.point(kMain, 12, PointKind::FlowBegin, kArrow, 77);
  runs(kAutograd, 20, 0);
  launch(kAutograd, 21);  // before its backward function begins, in the same operator
  recorder_.point(kAutograd, 22, PointKind::FlowEnd, kArrow, 77);
  launch(kAutograd, 23);
  EXPECT_EQ(lines(), "train.py:11 in Net.forward 55\n0 of no line");
}

TEST_F(LaunchStacksTest, WithoutAnArrowItHasTheLineThatCalledBackward) {
  const OwnLine train{"train", "train.py", 28}, tensor{"Tensor.backward", "/x/site-packages/torch/_tensor.py", 487};
  runs(kAutograd, 5, 0);
  launch(kAutograd, 6);  // nothing has called backward() yet
  runs(kMain, 10, stack({train, tensor}));
  runs(kAutograd, 20, 0);
  launch(kAutograd, 21);
  runs(kMain, 30, stack({{"train", "train.py", 29}}));
  launch(kMain, 31);
  runs(kAutograd, 40, 0);
  recorder_.point(kAutograd, 41, PointKind::FlowEnd, kArrow, 99);  // its begin was before the recording
  launch(kAutograd, 42);
  EXPECT_EQ(lines(), "train.py:28 in train (backward) 63\ntrain.py:29 in train 31\n6 of no line");
}

TEST(OwnCodeTest, FoldersDecideIfThereAreAny) {
  const auto python = [](const std::string& file) { return symbols::Frame{"f", file, 1, file, false}; };
  const memory::OwnCode usual, mine({"/home/me/lib"});
  for (const char* file : {"train.py", "/home/me/train.py", "/home/me/bin/train", "<stdin>"})
    EXPECT_TRUE(usual.contains(python(file))) << file;
  for (const char* file :
       {"/v/lib/python3.12/site-packages/torch/nn/a.py", "/usr/lib/python3/dist-packages/a.py",
        "/usr/lib/python3.12/threading.py", "/tmp/torchinductor_me/ab/cab.py", "<frozen importlib._bootstrap>", ""})
    EXPECT_FALSE(usual.contains(python(file))) << file;
  EXPECT_TRUE(mine.contains(python("/home/me/lib/site-packages/a.py")));
  EXPECT_FALSE(mine.contains(python("/home/me/library/a.py")));
  const std::vector<symbols::Frame> frames = {python("<string>"), python("train.py")};
  EXPECT_EQ(usual.innermost(frames)->file, "train.py");
}

}  // namespace
}  // namespace kymo::functions
