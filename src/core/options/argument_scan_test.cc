#include "options/argument_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::options {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;
using Takes = OptionManual::Takes;

const std::vector<OptionManual> kOptions = {
    {{"-h", "--help"}, "", {}, "", Takes::Nothing, false, false},
    {{"-q", "--quiet"}, "", {}, "", Takes::Nothing, false, false},
    {{"-v"}, "", {}, "", Takes::Nothing, false, false},
    {{"-o", "--output"}, "FILE", {}, "", Takes::Value, false, false},
    {{"--pid"}, "PID", {}, "", Takes::Value, false, true},
    {{"--memory"}, "[=sample:SIZE]", {}, "", Takes::MaybeValue, false, false},
    {{"FILE"}, "", {}, "", Takes::Value, true, false},
};

// "--output x" for each option, under its last name, then the other arguments.
std::vector<std::string> scan(const std::vector<std::string>& arguments, Order order = Order::Mixed) {
  const ScannedArguments scanned = scan_arguments(kOptions, arguments, order);
  std::vector<std::string> shown;
  for (const auto& [option, value] : scanned.options)
    shown.push_back(option->names.back() + (value ? " " + *value : ""));
  shown.insert(shown.end(), scanned.arguments.begin(), scanned.arguments.end());
  return shown;
}

std::string problem(const std::vector<std::string>& arguments) {
  try {
    scan(arguments);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "none";
}

TEST(ArgumentScanTest, ValueIsAcceptedInEveryForm) {
  EXPECT_THAT(scan({"--output", "x"}), ElementsAre("--output x"));
  EXPECT_THAT(scan({"--output=x=y"}), ElementsAre("--output x=y"));
  EXPECT_THAT(scan({"-o", "x"}), ElementsAre("--output x"));
  EXPECT_THAT(scan({"-ox"}), ElementsAre("--output x"));
  EXPECT_THAT(scan({"-o=x"}), ElementsAre("--output x"));
  EXPECT_THAT(scan({"-qox"}), ElementsAre("--quiet", "--output x"));
  EXPECT_THAT(scan({"-qv"}), ElementsAre("--quiet", "-v"));
  EXPECT_THAT(scan({"--memory", "x"}), ElementsAre("--memory", "x"));
  EXPECT_THAT(scan({"--memory=sample:5"}), ElementsAre("--memory sample:5"));
  EXPECT_THAT(scan({"--pid", "-1"}), ElementsAre("--pid -1"));
}

TEST(ArgumentScanTest, EmptyValueIsAccepted) {
  EXPECT_THAT(scan({"--output="}), ElementsAre("--output "));
  EXPECT_THAT(scan({"--output", ""}), ElementsAre("--output "));
}

TEST(ArgumentScanTest, ErrorForAnUnknownOptionSuggestsTheNearestOne) {
  EXPECT_EQ(problem({"--outptu", "x"}), "unknown option '--outptu'; did you mean --output?");
  EXPECT_EQ(problem({"--outptu=x"}), "unknown option '--outptu'; did you mean --output?");
  EXPECT_EQ(problem({"-x"}), "unknown option '-x'");
  EXPECT_EQ(problem({"-qx"}), "unknown option '-x'");
  EXPECT_EQ(problem({"-memory"}), "unknown option '-memory'; did you mean --memory?");
}

TEST(ArgumentScanTest, ErrorForAMissingValueShowsItsForm) {
  EXPECT_EQ(problem({"--output"}), "--output: no value given; use --output FILE");
  EXPECT_EQ(problem({"-o"}), "-o: no value given; use -o FILE");
  EXPECT_EQ(problem({"--output", "--quiet"}), "--output: no value given; use --output FILE");
  EXPECT_EQ(problem({"--output", "--", "x"}), "--output: no value given; use --output FILE");
  EXPECT_EQ(problem({"--memory="}), "--memory: the value is empty; use --memory or --memory=sample:SIZE");
}

TEST(ArgumentScanTest, FlagWithAValueIsRefused) {
  EXPECT_EQ(problem({"--quiet=yes"}), "--quiet takes no value, but has 'yes'; use --quiet");
  EXPECT_EQ(problem({"--quiet="}), "--quiet takes no value, but has ''; use --quiet");
}

TEST(ArgumentScanTest, OnlyRepeatableOptionsMayBeRepeated) {
  EXPECT_THAT(scan({"--pid", "1", "--pid=2"}), ElementsAre("--pid 1", "--pid 2"));
  EXPECT_EQ(problem({"--output", "a", "-o", "b"}), "-o is given twice, with 'a' and 'b'; give it once");
}

TEST(ArgumentScanTest, ArgumentsAfterTheOptionsAreUnchanged) {
  EXPECT_THAT(scan({"a", "--", "--unknown", "-x"}), ElementsAre("a", "--unknown", "-x"));
  EXPECT_THAT(scan({"-q", "program", "--unknown"}, Order::OptionsFirst),
              ElementsAre("--quiet", "program", "--unknown"));
  EXPECT_THAT(scan({"-", "a"}), ElementsAre("-", "a"));
}

TEST(ArgumentScanTest, HelpOverridesAllOtherArguments) {
  EXPECT_THAT(scan({"--output", "x", "-h", "--unknown"}), ElementsAre("--help"));
}

}  // namespace
}  // namespace kymo::options
