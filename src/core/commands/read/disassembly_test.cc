#include "commands/read/disassembly.h"

#include <gtest/gtest.h>

namespace kymo::cli {
namespace {

TEST(DisassemblyTest, InstructionsHaveTheLineBeforeThem) {
  const std::vector<Instruction> all = parse_disassembly(
      "\n/tmp/work:     file format elf64-x86-64\n\n\nDisassembly of section .text:\n\n"
      "0000000000001159 <work::inner(int)>:\nwork::inner(int):\n/tmp/work.cc:8\n    1159:\ttest   %edi,%edi\n"
      "/tmp/a b.cc:9 (discriminator 2)\nffffffff8100115b:\tjle    11b1 <work::inner(int)+0x58>\n    115d:\tret\n");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].address, 0x1159u);
  EXPECT_EQ(all[0].text, "test   %edi,%edi");
  EXPECT_EQ(all[0].file, "/tmp/work.cc");
  EXPECT_EQ(all[0].line, 8u);
  EXPECT_EQ(all[1].address, 0xffffffff8100115bu);
  EXPECT_EQ(all[1].file, "/tmp/a b.cc");
  EXPECT_EQ(all[2].line, 9u);
}

TEST(DisassemblyTest, TextOfAnotherFormHasNoInstructions) {
  EXPECT_TRUE(parse_disassembly("").empty());
  EXPECT_TRUE(parse_disassembly("objdump: not an object\nabc:\n:\t\nffffffffffffffffff:\tret\n").empty());
}

}  // namespace
}  // namespace kymo::cli
