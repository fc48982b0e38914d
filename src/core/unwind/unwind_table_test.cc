#include "unwind/unwind_table.h"

#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "unwind/loaded_code.h"
#include "unwind/rule_table.h"

namespace kymo::unwind {
namespace {

TEST(UnwindTableTest, AddressWithoutCodeHasNoRule) {
  const auto heap = std::make_unique<int>(1);
  static int data = 1;
  const int local = 1;
  for (const void* address : {static_cast<const void*>(heap.get()), static_cast<const void*>(&data),
                              static_cast<const void*>(&local), static_cast<const void*>(nullptr)}) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    EXPECT_EQ(find_rule(at, at).kind, Rule::Kind::None) << address;
  }
}

TEST(UnwindTableTest, EveryCodeAddressOfTheProgramAndTheCLibraryHasARule) {
  std::set<Rule::Kind> kinds;
  for (const void* inside :
       {reinterpret_cast<const void*>(&find_rule), reinterpret_cast<const void*>(&gnu_get_libc_version)}) {
    LoadedCode code;
    ASSERT_TRUE(find_loaded_code(reinterpret_cast<uintptr_t>(inside), code));
    for (size_t i = 0; i < code.segment_count; ++i) {
      const auto& segment = code.segments[i];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      const uintptr_t begin = code.offset + segment.p_vaddr;
      for (uintptr_t at = begin; at < begin + segment.p_filesz; at += 52) {
        const Rule rule = find_rule(at, at + 1);
        kinds.insert(rule.kind);
        ASSERT_NE(rule.kind, Rule::Kind::None);
      }
    }
  }
  EXPECT_TRUE(kinds.contains(Rule::Kind::Table));
}

TEST(UnwindTableTest, CachedRulesEqualTheRulesFound) {
  LoadedCode code;
  ASSERT_TRUE(find_loaded_code(reinterpret_cast<uintptr_t>(&gnu_get_libc_version), code));
  const auto table = std::make_unique<RuleTable>();
  const auto from = reinterpret_cast<uintptr_t>(&gnu_get_libc_version);
  for (int round = 0; round < 3; ++round) {
    // More addresses than the table has places
    for (uintptr_t at = from; at < from + 400'000 && at < code.end; at += 4)
      ASSERT_EQ(table->at(at), find_rule(at - 1, at)) << at - from;
    if (round == 1) table->forget();
  }
}

TEST(LoadedCodeTest, FunctionIsFoundInItsFile) {
  LoadedCode own, library;
  ASSERT_TRUE(find_loaded_code(reinterpret_cast<uintptr_t>(&find_rule), own));
  ASSERT_TRUE(find_loaded_code(reinterpret_cast<uintptr_t>(&gnu_get_libc_version), library));
  EXPECT_STREQ(own.path, "");
  EXPECT_NE(std::string(library.path).find("libc"), std::string::npos);
  EXPECT_NE(segment_at(own, reinterpret_cast<uintptr_t>(&find_rule), 1, PF_X), nullptr);
  EXPECT_EQ(segment_at(own, reinterpret_cast<uintptr_t>(&gnu_get_libc_version), 1, PF_X), nullptr);
  EXPECT_EQ(segment_at(own, own.end - 1, 2, 0), nullptr);
  uint8_t id[kMaxBuildIdBytes];
  EXPECT_GE(build_id_of(library, id), 8u);
  EXPECT_FALSE(find_loaded_code(16, own));
}

}  // namespace
}  // namespace kymo::unwind
