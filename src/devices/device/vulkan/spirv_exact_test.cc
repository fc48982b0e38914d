#include "device/vulkan/spirv_exact.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/vulkan/spirv_edit.h"
#include "device/vulkan/spirv_patch.h"
#include "device/vulkan/spirv_samples.h"

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

}  // namespace
}  // namespace kymo::device::vulkan::spirv
