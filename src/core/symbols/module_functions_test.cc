#include "symbols/module_functions.h"

#if KYMO_HAVE_DW

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace kymo::symbols {
namespace {

// As assembler code has it: a function without a size, and others without a symbol after it.
asm(".pushsection .text\n.globl kymo_test_without_size\nkymo_test_without_size:\n.skip 16384, 0\n.popsection");
extern "C" const char kymo_test_without_size[];

using Modules = std::unique_ptr<Dwfl, void (*)(Dwfl*)>;
Modules modules_of_this_process() {
  static const Dwfl_Callbacks lookup{dwfl_linux_proc_find_elf, dwfl_build_id_find_debuginfo, nullptr, nullptr};
  Modules dwfl(dwfl_begin(&lookup), dwfl_end);
  dwfl_report_begin(dwfl.get());
  EXPECT_EQ(dwfl_linux_proc_report(dwfl.get(), getpid()), 0);
  dwfl_report_end(dwfl.get(), nullptr, nullptr);
  return dwfl;
}

TEST(SymbolTableTest, SymbolWithoutASizeIsNotTheNameOfCodeFarBehindIt) {
  const Modules dwfl = modules_of_this_process();
  const auto begin = reinterpret_cast<uintptr_t>(kymo_test_without_size);
  Dwfl_Module* const module = dwfl_addrmodule(dwfl.get(), begin);
  ASSERT_NE(module, nullptr);
  const SymbolTable table(module);
  ASSERT_NE(table.at(begin + 100), nullptr);
  EXPECT_EQ(table.at(begin + 100), std::string_view("kymo_test_without_size"));
  EXPECT_EQ(table.at(begin + 8192), nullptr);
}

// Looks up addresses all over the C library, both in the table and with libdw.
TEST(SymbolTableTest, FindsTheSameSymbolsAsLibdw) {
  const Modules dwfl = modules_of_this_process();
  const auto inside = reinterpret_cast<uintptr_t>(&std::strtol) + 4;
  Dwfl_Module* const module = dwfl_addrmodule(dwfl.get(), inside);
  ASSERT_NE(module, nullptr);
  const SymbolTable table(module);
  size_t asked = 0, same = 0;
  for (uintptr_t address = inside; address < inside + 64 * 1024; address += 256) {
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* const expected = dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    if (expected == nullptr || offset >= symbol.st_size) continue;
    const char* const name = table.at(address);
    ASSERT_NE(name, nullptr) << expected;
    ++asked;
    same += std::string_view(expected) == name ? 1 : 0;
  }
  EXPECT_GT(asked, 50u);
  EXPECT_GE(same * 2, asked);  // if a place has several names, each side may return any of them
  EXPECT_EQ(table.at(1), nullptr);
}

}  // namespace
}  // namespace kymo::symbols

#endif
