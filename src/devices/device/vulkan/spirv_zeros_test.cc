#include "device/vulkan/spirv_zeros.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/vulkan/spirv_edit.h"
#include "device/vulkan/spirv_patch.h"
#include "device/vulkan/spirv_samples.h"

namespace kymo::device::vulkan::spirv {
namespace {

constexpr uint32_t kType = 3, kZero = 10, kPair = 11, kSum = 20, kTest = 22;

// sum = x + 0; pair * (x, 0); test = x < 0
std::vector<uint32_t> module_with_zeros() {
  std::vector<uint32_t> words{kMagic, 0x10500, 0, 30, 0};
  emit(words, Op::Capability, {1});
  emit(words, Op::EntryPoint, {kGlCompute, 1, 0x6E69616D, 0});
  emit(words, Op::ExecutionMode, {1, kLocalSize, 1, 1, 1});
  emit(words, Op::Decorate, {kSum, word(Decoration::NoContraction)});
  emit(words, Op::TypeVoid, {2});
  emit(words, Op::TypeFloat, {kType, 32});
  emit(words, Op::TypeVector, {4, kType, 2});
  emit(words, Op::TypeBool, {5});
  emit(words, Op::TypeFunction, {6, 2});
  emit(words, Op::Constant, {kType, 9, 0x40000000});
  emit(words, Op::Constant, {kType, kZero, 0});
  emit(words, Op::ConstantComposite, {4, kPair, 9, kZero});
  emit(words, Op::Function, {2, 1, 0, 6});
  emit(words, Op::Label, {12});
  emit(words, Op::FAdd, {kType, kSum, 9, kZero});
  emit(words, Op::FMul, {4, 21, kPair, kPair});
  emit(words, static_cast<Op>(184), {5, kTest, 9, kZero});  // OpFOrdLessThan
  emit(words, Op::Return, std::span<const uint32_t>());
  emit(words, Op::FunctionEnd, std::span<const uint32_t>());
  return words;
}

const Instruction* result(const Module& module, Op op, uint32_t id) {
  const auto found = std::ranges::find_if(module.instructions(), [&](const Instruction& instruction) {
    return instruction.op == op && instruction.size() > 2 && instruction.at(2) == id;
  });
  return found == module.instructions().end() ? nullptr : &*found;
}

TEST(SpirvZerosTest, OperationsGetAZeroThatIsComputedAndComparisonsKeepTheirs) {
  const Module before(module_with_zeros());
  const Module after(hide_zeros(before));
  const Instruction* sum = result(after, Op::FAdd, kSum);
  ASSERT_NE(sum, nullptr);
  const Instruction* zero = result(after, Op::Bitcast, sum->at(4));
  ASSERT_NE(zero, nullptr) << "x + 0";
  const Instruction* bits = result(after, Op::ShiftRightLogical, zero->at(3));
  ASSERT_NE(bits, nullptr);
  EXPECT_NE(result(after, Op::CompositeExtract, bits->at(3)), nullptr);

  const Instruction* product = result(after, Op::FMul, 21);
  ASSERT_NE(product, nullptr);
  EXPECT_EQ(product->at(3), product->at(4));
  const Instruction* pair = result(after, Op::CompositeConstruct, product->at(3));
  ASSERT_NE(pair, nullptr);
  EXPECT_EQ(pair->at(3), 9u);
  EXPECT_EQ(pair->at(4), sum->at(4));

  const Instruction* test = result(after, static_cast<Op>(184), kTest);
  ASSERT_NE(test, nullptr);
  EXPECT_EQ(test->at(4), kZero);
  ASSERT_EQ(after.entry_points().size(), 1u);
  ASSERT_EQ(after.entry_points()[0].interface.size(), 1u) << "the position of the group";
  EXPECT_EQ(after.decorations(after.entry_points()[0].interface[0]).built_in, word(BuiltIn::WorkgroupId));
}

TEST(SpirvZerosTest, ConvertedIntegersAreAddedToAZero) {
  const Module whole(kMixed);
  const Module before(patch(whole, reflect(whole)[0], 128).words);
  const Module after(hide_zeros(before));
  const auto count = [](const Module& module, Op op) {
    return std::ranges::count(module.instructions(), op, &Instruction::op);
  };
  EXPECT_EQ(count(after, Op::FAdd), count(before, Op::FAdd) + 1);
  EXPECT_EQ(count(after, Op::Variable), count(before, Op::Variable)) << "it has the position of the group already";
  EXPECT_GT(after.bound(), before.bound());
}

}  // namespace
}  // namespace kymo::device::vulkan::spirv
