#include "inject/nvtx/images.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace kymo::inject::nvtx {
namespace {

constexpr uint32_t kSlotsOfModule = 16;
constexpr uint32_t kPush = 9, kPop = 11, kNameThread = 14;  // numbers of CORE
int init_stub;                                              // its address is what a slot has before the first call

// An image of NVTX, in the memory of this program.
struct Image {
  CallbacksTable callbacks;
  Slot slots[kModules + 1][kSlotsOfModule];
  Slot* tables[kModules + 1][kSlotsOfModule];

  void prepare(int (*get_module)(uint32_t, Slot* const**, uint32_t*)) {
    callbacks = {sizeof callbacks, get_module};
    for (uint32_t module = 0; module <= kModules; ++module)
      for (uint32_t i = 0; i < kSlotsOfModule; ++i) {
        slots[module][i] = &init_stub;
        tables[module][i] = i == 0 ? nullptr : &slots[module][i];
      }
  }
  Slot core(uint32_t number) const { return __atomic_load_n(&slots[kCore][number], __ATOMIC_RELAXED); }
};

template <int kNumber>
Image image;

template <int kNumber>
int get_module_of(uint32_t module, Slot* const** table, uint32_t* count) {
  if (module == 0 || module > kModules) return 0;
  *table = image<kNumber>.tables[module];
  *count = kSlotsOfModule;
  return 1;
}
template <int kNumber>
const void* get_table_of(uint32_t table) {
  return table == kCallbacksTable ? &image<kNumber>.callbacks : nullptr;
}
template <int kNumber>
Image& attached() {
  image<kNumber>.prepare(get_module_of<kNumber>);
  EXPECT_TRUE(attach_image(get_table_of<kNumber>));
  return image<kNumber>;
}

class NvtxImagesTest : public ::testing::Test {
 protected:
  void TearDown() override { deactivate_images(); }
};

TEST_F(NvtxImagesTest, ADormantImageHasOnlyFunctionsThatName) {
  const Image& one = attached<0>();
  EXPECT_EQ(one.core(kPush), nullptr);
  EXPECT_EQ(one.core(kPop), nullptr);
  EXPECT_NE(one.core(kNameThread), nullptr);
  EXPECT_NE(one.core(kNameThread), &init_stub);
}

TEST_F(NvtxImagesTest, ActivationReachesAllImagesAndEnds) {
  const Image &one = attached<1>(), &two = attached<2>();
  activate_images();
  EXPECT_NE(one.core(kPush), nullptr);
  EXPECT_EQ(one.core(kPush), two.core(kPush));
  const Image& late = attached<3>();
  EXPECT_EQ(late.core(kPush), one.core(kPush)) << "an image that comes while active";
  deactivate_images();
  EXPECT_EQ(one.core(kPush), nullptr);
  EXPECT_EQ(late.core(kPop), nullptr);
}

// Another library may be where the image was.
TEST_F(NvtxImagesTest, AnImageThatIsNoLongerThereIsNotWritten) {
  Image& gone = attached<4>();
  gone.callbacks.size = 12345;
  activate_images();
  EXPECT_EQ(gone.core(kPush), nullptr);
}

// The same library was loaded again at the same address, and has not made its first call.
TEST_F(NvtxImagesTest, AnImageThatWasLoadedAgainIsNotWritten) {
  Image& again = attached<5>();
  again.prepare(get_module_of<5>);
  activate_images();
  EXPECT_EQ(again.core(kPush), &init_stub);
}

TEST_F(NvtxImagesTest, WhatIsNotNvtx3IsRefused) {
  EXPECT_FALSE(attach_image([](uint32_t) -> const void* { return nullptr; }));
}

template <int... kNumbers>
void attach_on_threads(std::integer_sequence<int, kNumbers...>, std::vector<std::thread>& threads) {
  (threads.emplace_back([] { attached<100 + kNumbers>(); }), ...);
}

TEST_F(NvtxImagesTest, ImagesComeWhileTheStateChanges) {
  std::atomic<bool> done{false};
  std::thread changes([&done] {
    while (!done.load()) {
      activate_images();
      deactivate_images();
    }
    activate_images();
  });
  std::vector<std::thread> threads;
  attach_on_threads(std::make_integer_sequence<int, 16>(), threads);
  for (std::thread& one : threads) one.join();
  done.store(true);
  changes.join();
  EXPECT_NE(image<100>.core(kPush), nullptr);
  EXPECT_EQ(image<100>.core(kPush), image<115>.core(kPush));
}

TEST_F(NvtxImagesTest, ASlotOfAnExtensionIsDisabledByOne) {
  static intptr_t slots[8] = {};
  static int always_function, active_function;
  const Handler handlers[] = {{&always_function, When::Always}, {&active_function, When::Active}, {}};
  ASSERT_TRUE(attach_extension(slots, std::size(slots), handlers));
  EXPECT_EQ(slots[0], reinterpret_cast<intptr_t>(&always_function));
  EXPECT_EQ(slots[1], 1);
  EXPECT_EQ(slots[2], 0) << "NVTX disables what the tool does not have";
  activate_images();
  EXPECT_EQ(slots[1], reinterpret_cast<intptr_t>(&active_function));
}

}  // namespace
}  // namespace kymo::inject::nvtx
