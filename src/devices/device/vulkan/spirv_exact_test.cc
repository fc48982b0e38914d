#include "device/vulkan/spirv_exact.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/vulkan/spirv_module.h"
#include "device/vulkan/spirv_patch.h"
#include "device/vulkan/test_spirv_samples.h"

namespace kymo::device::vulkan::spirv {
namespace {

uint32_t exact_marks(const Module& module) {
  return static_cast<uint32_t>(std::ranges::count_if(module.instructions(), [](const Instruction& instruction) {
    return instruction.op == Op::Decorate && instruction.at(2) == word(Decoration::NoContraction);
  }));
}

TEST(SpirvExactTest, EveryFloatOperationIsMarkedAndNothingElseChanges) {
  const Module before(kMixed);
  const Module after(without_contraction(before));
  EXPECT_EQ(exact_marks(before), 0u);
  EXPECT_EQ(exact_marks(after), 5u);  // t[0] * q.x + z.v[i] + float(list[1]) + pair.b, with the conversion
  constexpr size_t kMarkWords = 3;
  EXPECT_EQ(after.words().size(), before.words().size() + 5 * kMarkWords);
  EXPECT_EQ(after.bound(), before.bound());
  for (const Instruction& instruction : before.instructions())
    EXPECT_NE(
        std::search(after.words().begin(), after.words().end(), instruction.words.begin(), instruction.words.end()),
        after.words().end());
  const std::vector<Kernel> kernels = reflect(after);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(exact_marks(Module(patch(after, kernels[0], 128).words)), 5u);
}

TEST(SpirvExactTest, MarksComeBeforeTheFirstTypeAndAreNotRepeated) {
  const Module once(without_contraction(Module(kMixed)));
  bool is_past = false;
  for (const Instruction& instruction : once.instructions()) {
    is_past |= instruction.op >= Op::TypeVoid && instruction.op <= Op::TypeForwardPointer;
    EXPECT_FALSE(is_past && instruction.op == Op::Decorate);
  }
  EXPECT_TRUE(std::ranges::equal(without_contraction(once), once.words()));
}

TEST(SpirvExactTest, SpecialNumbersAreKeptForTheWidthsThatDeviceAndModuleHave) {
  const Module before(kMixed);
  EXPECT_TRUE(std::ranges::equal(with_special_numbers(before, {}), before.words()));
  EXPECT_TRUE(std::ranges::equal(with_special_numbers(before, {16, 64}), before.words())) << "it has only 32 bits";
  const Module after(with_special_numbers(before, {16, 32}));
  EXPECT_EQ(std::ranges::count(after.capabilities(), kSignedZeroInfNanPreserveCapability), 1);
  std::vector<uint32_t> modes;
  for (const Instruction& instruction : after.instructions())
    if (instruction.op == Op::ExecutionMode && instruction.at(2) == kSignedZeroInfNanPreserve)
      modes.insert(modes.end(), {instruction.at(1), instruction.at(3)});
  EXPECT_EQ(modes, (std::vector<uint32_t>{before.entry_points()[0].function, 32}));
  EXPECT_TRUE(std::ranges::equal(with_special_numbers(after, {16, 32}), after.words())) << "it is set once";
}

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
