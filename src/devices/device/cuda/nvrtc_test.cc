#include "device/cuda/nvrtc.h"

#include <gtest/gtest.h>

namespace kymo::device::cuda {
namespace {

TEST(CompileLogTest, NvrtcsFirstErrorHasItsFileLineAndColumn) {
  const CompileError error = compile_error(
      "my (new).cu(2): warning #177-D: variable \"unused\" was declared but never referenced\n    int unused;\n        "
      "^\n\n"
      "my (new).cu(3): error: identifier \"y\" is undefined\n    x[0] = y;\n           ^\n\n"
      "my (new).cu(4): error: identifier \"foo\" is undefined\n\n2 errors detected.\n",
      "my (new).cu");
  EXPECT_EQ(error.file(), "my (new).cu");
  EXPECT_EQ(error.line(), 3u);
  EXPECT_EQ(error.column(), 10u);
  EXPECT_EQ(error.text(), "identifier \"y\" is undefined");
  EXPECT_NE(std::string(error.what()).find("\"foo\""), std::string::npos) << "the message is the whole log";
}

TEST(CompileLogTest, MissingHeaderIsAnError) {
  const CompileError error = compile_error("a.cu(5): catastrophic error: cannot open source file \"b.h\"\n", "a.cu");
  EXPECT_EQ(error.line(), 5u);
  EXPECT_EQ(error.text(), "cannot open source file \"b.h\"");
}

TEST(CompileLogTest, AssemblerErrorsAreParsed) {
  const CompileError placed = compile_error(
      "ptxas application ptx input, line 7; error   : Not a name of any known instruction: 'foo'\n", "a.ptx");
  EXPECT_EQ(placed.file(), "a.ptx");
  EXPECT_EQ(placed.line(), 7u);
  EXPECT_EQ(placed.text(), "Not a name of any known instruction: 'foo'");
  const CompileError nowhere = compile_error("error   : Entry function 'f' uses too much shared data\n", "a.cu");
  EXPECT_EQ(nowhere.file(), "");
  EXPECT_EQ(nowhere.line(), 0u);
  EXPECT_EQ(nowhere.text(), "Entry function 'f' uses too much shared data");
}

TEST(CompileLogTest, WrongOptionHasNoPosition) {
  const CompileError error = compile_error("nvrtc: error: unrecognized option -foo found\n", "a.cu");
  EXPECT_EQ(error.line(), 0u);
  EXPECT_EQ(error.text(), "unrecognized option -foo found");
}

TEST(CompileLogTest, ErrorOfAnEmptyLogNamesTheFile) {
  EXPECT_NE(std::string(compile_error("", "a.cu").what()).find("a.cu"), std::string::npos);
}

}  // namespace
}  // namespace kymo::device::cuda
