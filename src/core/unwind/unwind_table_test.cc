#include "unwind/unwind_table.h"

#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "unwind/loaded_code.h"
#include "unwind/rule_table.h"

namespace kymo::unwind {
namespace {

using Kind = Rule::Kind;
using Bytes = std::vector<uint8_t>;

constexpr uint8_t kFp = kFramePointerColumn, kSp = kStackPointerColumn, kRa = kReturnColumn;
constexpr uint8_t kDefCfa = 0x0c, kDefCfaRegister = 0x0d, kDefCfaOffset = 0x0e, kDefCfaExpression = 0x0f;
constexpr uint8_t kRemember = 0x0a, kRestoreState = 0x0b, kUndefined = 0x07, kExpression = 0x10;
constexpr uint8_t kAdvance = 0x40, kOffset = 0x80, kRestore = 0xc0;
constexpr uintptr_t kBegin = 0x1000;

Rule rule_at(uintptr_t offset, const Bytes& function, const Bytes& common = {kDefCfa, kSp, 0}) {
  CfaProgram program{ByteReader(common.data(), common.data() + common.size()),
                     ByteReader(function.data(), function.data() + function.size())};
  program.code_factor = 4;
  program.data_factor = -8;
  program.begin = kBegin;
  return run_cfa_program(program, kBegin + offset);
}

uint8_t offset_of(uint8_t column) { return static_cast<uint8_t>(kOffset + column); }

TEST(CfaProgramTest, RowsFollowThePrologue) {
  // After the first instruction, 32 bytes are allocated and both registers are saved. After the second, the CFA depends
  // on the frame pointer.
  const Bytes function{kAdvance + 1, kDefCfaOffset,   32, offset_of(kFp), 4, offset_of(kRa), 3,
                       kAdvance + 1, kDefCfaRegister, kFp};
  Rule rule = rule_at(0, function);
  EXPECT_EQ(rule.kind, Kind::Table);
  EXPECT_EQ(rule.cfa_offset, 0);
  EXPECT_TRUE(rule.flags & Rule::kReturnInRegister);
  rule = rule_at(4, function);
  EXPECT_EQ(rule.cfa_offset, 32);
  EXPECT_EQ(rule.return_offset, -24);
  EXPECT_EQ(rule.fp_offset, -32);
  EXPECT_EQ(rule.flags, Rule::kFramePointerSaved);
  rule = rule_at(100, function);
  EXPECT_EQ(rule.flags, Rule::kFramePointerSaved | Rule::kCfaByFramePointer);
  EXPECT_EQ(rule.cfa_offset, 32);
}

TEST(CfaProgramTest, RegistersAndRowsAreRestored) {
  const uint8_t restore_fp = static_cast<uint8_t>(kRestore + kFp), restore_ra = static_cast<uint8_t>(kRestore + kRa);
  const Bytes function{kDefCfaOffset, 16,           offset_of(kFp), 2,          offset_of(kRa), 1,
                       kAdvance + 4,  kRemember,    restore_fp,     restore_ra, kDefCfaOffset,  0,
                       kAdvance + 1,  kRestoreState};
  EXPECT_EQ(rule_at(4, function).cfa_offset, 16);
  EXPECT_EQ(rule_at(16, function).cfa_offset, 0);
  EXPECT_EQ(rule_at(16, function).flags, Rule::kReturnInRegister);
  EXPECT_EQ(rule_at(20, function), rule_at(4, function));
}

TEST(CfaProgramTest, OutermostFrameEndsTheStack) { EXPECT_EQ(rule_at(8, {kUndefined, kRa}).kind, Kind::End); }

TEST(CfaProgramTest, RealignedStackHasATableRule) {
  const uint8_t fp_plus = static_cast<uint8_t>(0x70 + kFp);
  const Rule rule =
      rule_at(0, {kDefCfaExpression, 3, fp_plus, 0x78, 0x06, offset_of(kRa), 1, kExpression, kFp, 2, fp_plus, 0});
  EXPECT_EQ(rule.kind, Kind::Table);
  EXPECT_EQ(rule.cfa_offset, -8);
  EXPECT_EQ(rule.flags,
            Rule::kCfaByFramePointer | Rule::kCfaLoaded | Rule::kFramePointerSaved | Rule::kSavedByFramePointer);
}

#if defined(__x86_64__)
TEST(CfaProgramTest, PltOfGnuLdHasATableRuleAtEachAddress) {
  // rsp + 8 + ((rip & 15) >= 11) * 8: the stub pushes a number before its last jump
  const Bytes function{kDefCfaExpression, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22,
                       offset_of(kRa),    1};
  for (uintptr_t at = 0; at < 48; ++at) {
    const Rule rule = rule_at(at, function);
    EXPECT_EQ(rule.kind, Kind::Table);
    EXPECT_EQ(rule.flags, 0);
    EXPECT_EQ(rule.cfa_offset, at % 16 >= 11 ? 16 : 8) << at;
    EXPECT_EQ(rule.return_offset, -8);
  }
}
#endif

TEST(CfaProgramTest, SavedStackPointerHasATableRule) {
  // As in OpenSSL: the word at sp + 40, plus 8
  const uint8_t sp_plus = static_cast<uint8_t>(0x70 + kSp);
  const Rule rule = rule_at(0, {kDefCfaExpression, 5, sp_plus, 40, 0x06, 0x23, 8, offset_of(kRa), 1});
  EXPECT_EQ(rule.kind, Kind::Table);
  EXPECT_EQ(rule.flags, Rule::kCfaLoaded);
  EXPECT_EQ(rule.cfa_offset, 40);
  EXPECT_EQ(rule.cfa_added, 8);
  EXPECT_EQ(rule_at(0, {kDefCfaExpression, 5, 0x38, sp_plus, 40, 0x22, 0x96, offset_of(kRa), 1}).cfa_offset, 48);
  EXPECT_EQ(rule_at(0, {kDefCfaExpression, 4, sp_plus, 40, 0x38, 0x1c, offset_of(kRa), 1}).cfa_offset, 32);
}

TEST(CfaProgramTest, ExpressionsThatAreMoreThanARuleFallBackToTheFramePointer) {
  const uint8_t sp_plus = static_cast<uint8_t>(0x70 + kSp);
  const auto kind_of = [&](Bytes expression) {
    Bytes function{kDefCfaExpression, static_cast<uint8_t>(expression.size())};
    function.insert(function.end(), expression.begin(), expression.end());
    function.insert(function.end(), {offset_of(kRa), 1});
    return rule_at(0, function).kind;
  };
  EXPECT_EQ(kind_of({}), Kind::FramePointer);
  EXPECT_EQ(kind_of({0x31}), Kind::FramePointer) << "a number";
  EXPECT_EQ(kind_of({sp_plus, 0, sp_plus, 0}), Kind::FramePointer) << "two results";
  EXPECT_EQ(kind_of({sp_plus, 0, sp_plus, 0, 0x22}), Kind::FramePointer) << "a sum of registers";
  EXPECT_EQ(kind_of({sp_plus, 0, 0x3f, 0x1a}), Kind::FramePointer) << "an aligned register";
  EXPECT_EQ(kind_of({sp_plus, 0, 0x06, 0x06}), Kind::FramePointer) << "two loads";
  EXPECT_EQ(kind_of({0x22}), Kind::FramePointer) << "nothing to add";
  EXPECT_EQ(kind_of({0x2f, 0xfd, 0xff}), Kind::FramePointer) << "a jump back";
  EXPECT_EQ(kind_of(Bytes(100, 0x31)), Kind::FramePointer) << "too many values";
  EXPECT_EQ(kind_of({sp_plus, 0, 0x06, 0x0a, 0xff, 0xff, 0x22}), Kind::FramePointer) << "too far from the load";
}

TEST(CfaProgramTest, UnsupportedRowsFallBackToTheFramePointer) {
  EXPECT_EQ(rule_at(0, {kDefCfa, 3, 16, offset_of(kRa), 1}).kind, Kind::FramePointer) << "another register";
  EXPECT_EQ(rule_at(0, {kDefCfaExpression, 2, 0x31, 0x06}).kind, Kind::FramePointer) << "another expression";
  EXPECT_EQ(rule_at(0, {0x09, kRa, 3}).kind, Kind::FramePointer) << "the return address in another register";
  EXPECT_EQ(rule_at(0, {0x3f}).kind, Kind::FramePointer) << "no such instruction";
}

TEST(CfaProgramTest, DamagedProgramsTerminate) {
  EXPECT_EQ(rule_at(0, {kDefCfa}).kind, Kind::FramePointer) << "cut off";
  EXPECT_EQ(rule_at(0, {kRestoreState}).kind, Kind::FramePointer) << "nothing was remembered";
  EXPECT_EQ(rule_at(0, Bytes(100, kRemember)).kind, Kind::FramePointer) << "too much was";
  EXPECT_EQ(rule_at(0, {kDefCfaOffset, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}).kind, Kind::FramePointer);
  EXPECT_EQ(rule_at(0, {kDefCfaExpression, 0x7f, 0x77}).kind, Kind::FramePointer) << "an expression beyond the end";
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    Bytes noise(random() % 64);
    for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random());
    rule_at(random() % 200, noise);
  }
}

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
