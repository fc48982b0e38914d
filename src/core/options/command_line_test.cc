#include "options/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "options/manual.h"

namespace kymo::options {
namespace {

using testing::ElementsAre;

struct Command {
  std::string file, output;
  std::vector<std::string> folders;
  int order = 0;
  bool json = false;

  // Returns the error message, or an empty text if there is no error.
  std::string read(const std::vector<std::string>& arguments) {
    CommandLine line("show", "kymo show FILE [options]", "Shows a file.", "");
    line.argument("FILE", file, "the file");
    line.value("-o,--output", "OUT", output, "the file to write");
    line.values("--folder", "FOLDER", folders, "a folder");
    line.choice("--sort", order, {{"name", 1}, {"p99", 2}}, "the order");
    line.flag("--json", json, "as JSON");
    try {
      line.read(arguments);
    } catch (const UsageError& error) {
      EXPECT_EQ(error.command(), "show");
      return error.what();
    }
    return "";
  }
};

std::string problem(const std::vector<std::string>& arguments) { return Command().read(arguments); }

TEST(CommandLineTest, ReadsArgumentsAndOptionsInAnyOrder) {
  Command command;
  EXPECT_EQ(command.read({"--json", "a", "-o", "b", "--folder", "c", "--sort=p99", "--folder=d"}), "");
  EXPECT_EQ(command.file, "a");
  EXPECT_EQ(command.output, "b");
  EXPECT_THAT(command.folders, ElementsAre("c", "d"));
  EXPECT_EQ(command.order, 2);
  EXPECT_TRUE(command.json);
}

TEST(CommandLineTest, ErrorForAMissingOrEmptyArgumentShowsTheUsage) {
  EXPECT_EQ(problem({}), "no FILE given. Usage: kymo show FILE [options]");
  EXPECT_EQ(problem({"--json"}), "no FILE given. Usage: kymo show FILE [options]");
  EXPECT_EQ(problem({""}), "no FILE given. Usage: kymo show FILE [options]");
}

TEST(CommandLineTest, UnknownOptionIsReportedBeforeAMissingArgument) {
  EXPECT_EQ(problem({"--jsn"}), "unknown option '--jsn'; did you mean --json?");
}

TEST(CommandLineTest, ErrorStatesTheProblemTheValueAndTheRemedy) {
  EXPECT_EQ(problem({"a", "b"}), "unexpected argument 'b'");
  EXPECT_EQ(problem({"a", "--", "--b"}), "unexpected argument '--b'");
  EXPECT_EQ(problem({"a", "--json=yes"}), "--json takes no value, but has 'yes'; use --json");
  EXPECT_EQ(problem({"a", "-o"}), "-o: no value given; use -o OUT");
  EXPECT_EQ(problem({"a", "-o", ""}), "--output: the value is empty; use --output OUT");
  EXPECT_EQ(problem({"a", "--output="}), "--output: the value is empty; use --output OUT");
  EXPECT_EQ(problem({"a", "--folder", ""}), "--folder: the value is empty; use --folder FOLDER");
  EXPECT_EQ(problem({"a", "--sort", "size"}), "--sort: 'size' is not one of name, p99");
  EXPECT_EQ(problem({"a", "-o", "b", "-o", "c"}), "-o is given twice, with 'b' and 'c'; give it once");
}

TEST(CommandLineTest, HelpPutsALongOptionOnALineOfItsOwn) {
  bool quiet = false;
  std::string file, table, memory;
  CommandLine line("show", "kymo show FILE\n       kymo show --all", "Shows a file.\nAll of it.",
                   "kymo show a\nkymo show b");
  line.argument("FILE", file, "the file");
  line.value("-t,--table", "NAME", table, "the table to show;\ndefault: all");
  line.optional_value("--memory-of-threads", "[=sample:SIZE]", "all", memory, "with the heap");
  line.flag("-q,--quiet", quiet, "print nothing");
  testing::internal::CaptureStdout();
  EXPECT_FALSE(line.read({"a", "--help", "--unknown"}));
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "Shows a file.\nAll of it.\n\n"
            "Usage: kymo show FILE\n       kymo show --all\n\n"
            "Arguments:\n"
            "  FILE                        the file\n\n"
            "Options:\n"
            "  -h,--help                   show this help\n"
            "  -t,--table NAME             the table to show;\n"
            "                              default: all\n"
            "  --memory-of-threads[=sample:SIZE]\n"
            "                              with the heap\n"
            "  -q,--quiet                  print nothing\n\n"
            "Example:\n  kymo show a\n  kymo show b\n");
}

TEST(CommandLineTest, OptionalValueHasADefaultAndTheLastOneCounts) {
  const auto read = [](const std::vector<std::string>& arguments) {
    std::string memory;
    CommandLine line("try", "kymo try", "", "");
    line.optional_value("--memory", "[=sample:SIZE]", "all", memory, "");
    EXPECT_TRUE(line.read(arguments));
    return memory;
  };
  EXPECT_EQ(read({}), "");
  EXPECT_EQ(read({"--memory"}), "all");
  EXPECT_EQ(read({"--memory", "--memory=sample:5"}), "sample:5");
}

TEST(CommandLineTest, PositionalArgumentsAreFilledInOrder) {
  std::string first;
  std::vector<std::string> others;
  CommandLine line("try", "kymo try", "", "");
  line.text(
      "PID", "", [&](const std::string& text) { first = text; }, "");
  line.optional_arguments("FILE", others, "");
  EXPECT_TRUE(line.read({"1", "--", "-a", "b"}));
  EXPECT_EQ(first, "1");
  EXPECT_THAT(others, ElementsAre("-a", "b"));
}

TEST(CommandLineTest, ProgramAndItsArgumentsRemain) {
  bool quiet = false;
  CommandLine line("run", "kymo run", "", "");
  line.flag("-q,--quiet", quiet, "");
  line.stop_at_first_argument();
  EXPECT_TRUE(line.read({"-q", "program", "--unknown", "-q"}));
  EXPECT_TRUE(quiet);
  EXPECT_THAT(line.remaining(), ElementsAre("program", "--unknown", "-q"));
}

TEST(CommandLineTest, ManualListsTheFormsAndTheChoices) {
  const CommandManual manual = manual_of([] { Command().read({}); });
  EXPECT_EQ(manual.name, "show");
  EXPECT_FALSE(manual.runs_a_program);
  const auto option = [&](const std::string& name) {
    for (const OptionManual& each : manual.options)
      if (each.names.back() == name) return each;
    return OptionManual{};
  };
  EXPECT_THAT(option("--output").names, ElementsAre("-o", "--output"));
  EXPECT_EQ(option("--output").form, "OUT");
  EXPECT_EQ(option("--output").takes, OptionManual::Takes::Value);
  EXPECT_EQ(option("--json").takes, OptionManual::Takes::Nothing);
  EXPECT_THAT(option("--sort").choices, ElementsAre("name", "p99"));
  EXPECT_TRUE(option("--folder").is_repeatable);
  EXPECT_FALSE(option("--output").is_repeatable);
  EXPECT_TRUE(option("FILE").is_positional);
}

}  // namespace
}  // namespace kymo::options
