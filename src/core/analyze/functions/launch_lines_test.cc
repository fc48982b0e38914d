#include "analyze/functions/launch_lines.h"

#include <gtest/gtest.h>

namespace kymo::functions {
namespace {

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

}  // namespace
}  // namespace kymo::functions
