#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "device/vulkan/spirv_patch.h"
#include "device/vulkan/test_spirv_samples.h"
#include "kymo/error.h"

namespace kymo::device::vulkan::spirv {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kPushLimit = 128;

std::string why_refused(const std::vector<uint32_t>& words) {
  try {
    const Module module(words);
    for (const Kernel& kernel : reflect(module)) patch(module, kernel, kPushLimit);
  } catch (const CompileError& error) {
    return error.what();
  }
  return "";
}

Kernel only_kernel(const Module& module) {
  std::vector<Kernel> kernels = reflect(module);
  EXPECT_EQ(kernels.size(), 1u);
  return kernels.at(0);
}

TEST(SpirvReflectTest, BindingsAreOrderedByNumberAndPushConstantsByOffset) {
  const Module module(kMixed);
  const Kernel kernel = only_kernel(module);
  EXPECT_EQ(kernel.name, "main");
  ASSERT_EQ(kernel.bindings.size(), 3u);
  EXPECT_EQ(kernel.bindings[0].parameter.name, "x");
  EXPECT_EQ(kernel.bindings[0].parameter.type, DType::F32);
  EXPECT_EQ(kernel.bindings[1].parameter.name, "y");
  EXPECT_EQ(kernel.bindings[2].parameter.name, "unused");
  EXPECT_EQ(kernel.bindings[2].parameter.type, DType::I32);

  ASSERT_EQ(kernel.members.size(), 5u);
  const auto& [offset, n] = kernel.members[0];
  EXPECT_EQ(offset, 0u);
  EXPECT_EQ(n.name, "n");
  EXPECT_EQ(n.kind, ParameterKind::Value);
  EXPECT_EQ(n.type, DType::U32);
  EXPECT_EQ(n.bytes, 4u);
  EXPECT_EQ(kernel.members[1].offset, 8u);
  EXPECT_EQ(kernel.members[1].parameter.kind, ParameterKind::Buffer);
  EXPECT_EQ(kernel.members[1].parameter.type, DType::F32);
  EXPECT_EQ(kernel.members[2].offset, 16u);
  EXPECT_EQ(kernel.members[2].parameter.count, 3u);
  EXPECT_EQ(kernel.members[2].parameter.bytes, 12u);
  EXPECT_EQ(kernel.members[3].parameter.name, "list");
  EXPECT_EQ(kernel.members[3].parameter.count, 4u);
  EXPECT_EQ(kernel.members[4].parameter.kind, ParameterKind::Unknown);
  EXPECT_EQ(kernel.members[4].parameter.bytes, 8u);
}

TEST(SpirvReflectTest, APushConstantMayPointToABlockOfArguments) {
  const Module module(kBlock), mixed(kMixed);
  const Kernel kernel = only_kernel(module);
  ASSERT_EQ(kernel.members.size(), 1u);
  EXPECT_EQ(kernel.members[0].parameter.kind, ParameterKind::Buffer);
  EXPECT_EQ(kernel.push_bytes, 8u);
  const std::vector<PushMember> block = block_members(module, kernel);
  ASSERT_EQ(block.size(), 3u);
  EXPECT_EQ(block[0].parameter.kind, ParameterKind::Buffer);
  EXPECT_EQ(block[1].offset, 16u);
  EXPECT_EQ(block[1].parameter.bytes, 24u);
  EXPECT_EQ(block[2].offset, 40u);
  EXPECT_EQ(block[2].parameter.bytes, 24u);
  EXPECT_TRUE(block_members(mixed, only_kernel(mixed)).empty());
}

TEST(SpirvReflectTest, ALiteralGroupSizeIsRequiredAndASpecialisedOneIsNot) {
  const Module fixed(kMixed), any(kAny), none(kPlain);
  EXPECT_FALSE(only_kernel(fixed).any_group);
  EXPECT_EQ(only_kernel(fixed).group, (Extent{64, 1, 1}));
  EXPECT_EQ(only_kernel(fixed).group_memory, 64u * 4);
  EXPECT_TRUE(only_kernel(any).any_group);
  EXPECT_TRUE(only_kernel(none).any_group);
}

TEST(SpirvReflectTest, KnowsWhetherAKernelCanSeeItsGroups) {
  const Module sharing(kMixed), plain(kPlain);
  EXPECT_TRUE(only_kernel(sharing).groups_visible);
  EXPECT_FALSE(only_kernel(plain).groups_visible);
}

TEST(SpirvReflectTest, OneOfSeveralKernelsHasOnlyTheBindingsThatItUses) {
  const Module module(kMixed);
  const std::vector<Kernel> kernels = reflect(module, true);
  ASSERT_EQ(kernels.size(), 1u);
  ASSERT_EQ(kernels[0].bindings.size(), 2u);
  EXPECT_EQ(kernels[0].bindings[1].parameter.name, "y");
}

TEST(SpirvReflectTest, ImageIsRefusedWithItsBinding) {
  EXPECT_THAT(why_refused(kImage), HasSubstr("set 0, binding 2 (picture)"));
}

TEST(SpirvPatchTest, TheTailFollowsThePushConstants) {
  const Module module(kMixed);
  const Kernel kernel = only_kernel(module);
  const Patched patched = patch(module, kernel, kPushLimit);
  EXPECT_TRUE(patched.offset);
  EXPECT_TRUE(patched.base);
  EXPECT_FALSE(patched.groups);
  EXPECT_EQ(patched.tail_words, 6u);
  EXPECT_EQ(patched.tail_offset, kernel.push_bytes);

  const Module again(patched.words);
  const Kernel reflected = only_kernel(again);
  EXPECT_EQ(reflected.push_bytes, kernel.push_bytes + 6 * 4);
  EXPECT_EQ(reflected.members.size(), kernel.members.size() + 6);
  EXPECT_TRUE(reflected.any_group);
}

TEST(SpirvPatchTest, AKernelWithoutRoomForItsPositionInThePushConstantsIsRefused) {
  const Module module(kMixed);
  const Kernel kernel = only_kernel(module);
  EXPECT_NO_THROW(patch(module, kernel, kernel.push_bytes + 6 * 4));
  try {
    patch(module, kernel, kernel.push_bytes + 6 * 4 - 4);
    FAIL() << "it has no room";
  } catch (const CompileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("put some into a buffer"));
  }
}

TEST(SpirvPatchTest, KernelWithoutPushConstantsGetsSome) {
  const Module module(kPlain);
  const Patched patched = patch(module, only_kernel(module), kPushLimit);
  EXPECT_EQ(patched.tail_offset, 0u);
  const Module again(patched.words);
  EXPECT_EQ(only_kernel(again).push_bytes, 12u);
}

TEST(SpirvPatchTest, BindingsAreRenumberedAndGroupSizeConstantsOfTheModuleAreKept) {
  const Module module(kAny);
  const Patched patched = patch(module, only_kernel(module), kPushLimit);
  EXPECT_EQ(patched.own_size_constants[0], 7u);
  EXPECT_EQ(patched.own_size_constants[1], 8u);
  EXPECT_FALSE(patched.own_size_constants[2]);
  EXPECT_GT(patched.size_constants[0], 8u);
  EXPECT_TRUE(patched.groups);

  const Module again(patched.words);
  const Kernel kernel = only_kernel(again);
  ASSERT_EQ(kernel.bindings.size(), 2u);
  EXPECT_EQ(kernel.bindings[0].parameter.name, "u");
  EXPECT_TRUE(kernel.bindings[0].uniform);
  EXPECT_EQ(kernel.bindings[0].set, 0u);
  EXPECT_EQ(kernel.bindings[1].parameter.name, "x");
  EXPECT_EQ(kernel.bindings[1].binding, 1u);
  EXPECT_FALSE(kernel.bindings[1].uniform);
}

TEST(SpirvModuleTest, AcceptsEitherByteOrder) {
  std::vector<uint32_t> swapped = kPlain;
  for (uint32_t& word : swapped) word = __builtin_bswap32(word);
  const std::string_view bytes(reinterpret_cast<const char*>(swapped.data()), swapped.size() * 4);
  EXPECT_EQ(Module::words_of(bytes), kPlain);
}

TEST(SpirvModuleTest, InvalidSpirvIsRefusedWithTheReason) {
  EXPECT_THROW(Module::words_of("abc"), CompileError);
  EXPECT_THROW(Module::words_of(""), CompileError);
  EXPECT_THAT(why_refused({}), HasSubstr("shorter than its header"));
  EXPECT_THAT(why_refused({1, 2, 3, 4, 5}), HasSubstr("0x00000001"));
  EXPECT_THAT(why_refused({kMagic, 0x10500, 0, 0xFFFFFFFF, 0}), HasSubstr("bound"));
  EXPECT_THAT(why_refused({kMagic, 0x10500, 0, 8, 0}), HasSubstr("no entry point"));
  EXPECT_THAT(why_refused({kMagic, 0x10500, 0, 8, 0, 0x00000013}), HasSubstr("length of 0"));
  EXPECT_THAT(why_refused({kMagic, 0x10500, 0, 8, 0, 0x00090013, 1}), HasSubstr("length of 9"));
  EXPECT_THAT(why_refused({kMagic, 0x10500, 0, 8, 0, 0x00020013, 9}), HasSubstr("beyond its bound"));
}

TEST(SpirvModuleTest, TruncatedModuleIsReadOrRefusedButNeverOverrun) {
  for (const auto* words : {&kMixed, &kAny, &kPlain}) {
    for (size_t length = 0; length < words->size(); ++length) {
      const std::vector<uint32_t> cut(words->begin(), words->begin() + static_cast<ptrdiff_t>(length));
      why_refused(cut);
    }
  }
}

// Each structure has several members of the previous structure's type, on many levels. A walk over all of it would take
// practically forever.
TEST(SpirvModuleTest, StructureOfExponentialSizeIsRefused) {
  std::vector<uint32_t> bomb = kPlain;
  const uint32_t first = bomb[3];
  constexpr uint32_t kLevels = 24, kMembers = 16;
  std::vector<uint32_t> types{(4u << 16) | 21, first, 32, 0};
  for (uint32_t level = 1; level <= kLevels; ++level) {
    types.push_back((2 + kMembers) << 16 | static_cast<uint32_t>(Op::TypeStruct));
    types.push_back(first + level);
    types.insert(types.end(), kMembers, first + level - 1);
  }
  const uint32_t pointer = first + kLevels + 1;
  types.insert(types.end(), {4u << 16 | static_cast<uint32_t>(Op::TypePointer), pointer,
                             static_cast<uint32_t>(StorageClass::Workgroup), first + kLevels,
                             4u << 16 | static_cast<uint32_t>(Op::Variable), pointer, pointer + 1,
                             static_cast<uint32_t>(StorageClass::Workgroup)});
  bomb[3] = pointer + 2;
  size_t function = kHeaderWords;
  while ((bomb[function] & 0xFFFF) != static_cast<uint32_t>(Op::Function)) function += bomb[function] >> 16;
  bomb.insert(bomb.begin() + static_cast<ptrdiff_t>(function), types.begin(), types.end());
  EXPECT_THAT(why_refused(bomb), HasSubstr("parts"));
}

}  // namespace
}  // namespace kymo::device::vulkan::spirv
