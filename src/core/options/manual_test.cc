#include "options/manual.h"

#include <gtest/gtest.h>

namespace kymo::options {
namespace {

TEST(ManualTest, AnUnpackedManualIsWhatWasPacked) {
  CommandManual manual;
  manual.name = "try";
  manual.usage = "kymo try FILE\n       kymo try --list";
  manual.description = "Two lines\nwith a\ttab, \"quotes\" and µ.";
  manual.example = "kymo try a";
  manual.runs_a_program = true;
  manual.options.push_back({{"FILE"}, "FILE", {}, "the file", OptionManual::Takes::Value, true, true});
  manual.options.push_back({{"-f", "--form"}, "a|b", {"a", "b"}, "", OptionManual::Takes::MaybeValue, false, false});
  manual.options.push_back({{"--json"}, "", {}, "as JSON", OptionManual::Takes::Nothing, false, false});

  const CommandManual again = unpacked(packed(manual));
  EXPECT_EQ(again.name, manual.name);
  EXPECT_EQ(again.usage, manual.usage);
  EXPECT_EQ(again.description, manual.description);
  EXPECT_EQ(again.example, manual.example);
  EXPECT_EQ(again.runs_a_program, manual.runs_a_program);
  ASSERT_EQ(again.options.size(), manual.options.size());
  for (size_t i = 0; i < manual.options.size(); ++i) {
    const OptionManual &one = again.options[i], &was = manual.options[i];
    EXPECT_EQ(one.names, was.names);
    EXPECT_EQ(one.form, was.form);
    EXPECT_EQ(one.choices, was.choices);
    EXPECT_EQ(one.help, was.help);
    EXPECT_EQ(one.takes, was.takes);
    EXPECT_EQ(one.is_positional, was.is_positional);
    EXPECT_EQ(one.is_repeatable, was.is_repeatable);
  }
}

}  // namespace
}  // namespace kymo::options
