#include "symbols/rust_name.h"

#include <gtest/gtest.h>

#include <random>

namespace kymo::symbols {
namespace {

TEST(RustNameTest, NamesOfTheStandardLibraryAreReadable) {
  const std::pair<const char*, const char*> cases[] = {
      {"_RNvNtCsjrHSEGnQ3l9_3std2rt19lang_start_internal", "std::rt::lang_start_internal"},
      {"_RNvNvNtCslNYArtu3iFV_5alloc3fmt6format12format_inner", "alloc::fmt::format::format_inner"},
      {"_RNvXs26_NtNtCsgEmfK2I1SDS_4core3ops5arithyNtB6_3Mul3mul", "<u64 as core::ops::arith::Mul>::mul"},
      {"_RINvMs4_NtCsgY6Mt91CT9J_14rustc_demangle2v0NtB6_7Printer13print_backrefNvB2_10print_typeEB8_",
       "<rustc_demangle::v0::Printer>::print_backref::<<rustc_demangle::v0::Printer>::print_type>"},
      {"_RINvMs0_NtNtNtCsjrHSEGnQ3l9_3std12backtrace_rs9symbolize5gimliNtB6_5Cache11with_globalNCNvB6_7resolves_0EBc_",
       "<std::backtrace_rs::symbolize::gimli::Cache>::with_global::<std::backtrace_rs::symbolize::gimli::resolve::"
       "{closure#1}>"},
      {"_RINvMNtCsgEmfK2I1SDS_4core5sliceSh11copy_withinINtNtNtB5_3ops5range14RangeInclusivejEECsfEOYDRpO4Ta_11miniz_"
       "oxide",
       "<[u8]>::copy_within::<core::ops::range::RangeInclusive<usize>>"},
  };
  for (const auto& [name, expected] : cases) EXPECT_EQ(demangled_rust(name), expected);
}

TEST(RustNameTest, OtherNamesAreNone) {
  for (const char* const name : {"", "_R", "_RECT", "_RN", "_RNvC", "main", "_ZN4core3fmtE", "_RB_", "_RNvB_3foo",
                                 "_RNvC99999999999999999999a3foo", "_RINvC1a1bB_E"})
    EXPECT_EQ(demangled_rust(name), "") << name;
}

TEST(RustNameTest, AnyTextTerminates) {
  std::mt19937 random(7);
  const std::string_view parts[] = {"I", "N", "v", "C", "1a", "B", "_", "s", "0", "E",
                                    "T", "R", "K", "j", "M",  "X", "Y", "F", "D", "p"};
  for (int i = 0; i < 20'000; ++i) {
    std::string name = "_R";
    for (size_t left = random() % 80; left != 0; --left) name += parts[random() % std::size(parts)];
    EXPECT_LT(demangled_rust(name).size(), size_t{1} << 16);
  }
  std::string deep = "_R";
  for (int i = 0; i < 10'000; ++i) deep += "INv";
  EXPECT_EQ(demangled_rust(deep), "");
}

}  // namespace
}  // namespace kymo::symbols
