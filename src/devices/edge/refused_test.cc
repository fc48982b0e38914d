// A profiler must be on the stack: uses that do not compile, and uses that are refused at run time.
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "edge/test_module.h"
#include "kymo/edge.h"

namespace kymo {
namespace {

using edge::testing::TestModule;

template <class T>
concept MadeByNew = requires(const TestModule& module) {
  new T(module, {});
};
template <class T>
concept MadeByPlacementNew = requires(const TestModule& module, void* memory) {
  new (memory) T(module, {});
};
template <class T>
concept MadeByNothrowNew = requires(const TestModule& module) {
  new (std::nothrow) T(module, {});
};
template <class T>
concept MadeOnTheStack = requires(const TestModule& module) {
  T(module, {});
};
template <class T>
concept MadeInPlace = requires(const TestModule& module, void* memory) {
  ::new (memory) T(module, {});
};

template <class T>
concept MadeWithATemporary = requires {
  T(TestModule(), {});
};
template <class T>
concept MadeWithAMovedModule = requires(TestModule& module) {
  T(std::move(module), {});
};

TEST(EdgeRefusedTest, TemporaryModuleDoesNotCompile) {
  static_assert(!MadeWithATemporary<EdgeProfiler>);
  static_assert(!MadeWithAMovedModule<EdgeProfiler>);
}

TEST(EdgeRefusedTest, ProfilerOutsideTheStackDoesNotCompile) {
  static_assert(MadeOnTheStack<EdgeProfiler>);
  static_assert(!MadeByNew<EdgeProfiler>);
  static_assert(!MadeByPlacementNew<EdgeProfiler>);
  static_assert(!MadeByNothrowNew<EdgeProfiler>);
  // The arguments that std::make_unique, std::make_shared, std::optional and containers would have to forward.
  static_assert(!std::is_constructible_v<EdgeProfiler, TestModule&, EdgeOptions>);
  static_assert(!std::is_constructible_v<EdgeProfiler, TestModule&, EdgeOptions&>);
  static_assert(!std::is_constructible_v<EdgeProfiler, const TestModule&, const EdgeOptions&>);
  static_assert(!std::is_constructible_v<std::optional<EdgeProfiler>, std::in_place_t, TestModule&, EdgeOptions>);
  static_assert(!std::is_constructible_v<EdgeProfiler, TestModule&>);
}

TEST(EdgeRefusedTest, ProfilerAndOptionsCannotBeCopiedOrMoved) {
  static_assert(!std::is_copy_constructible_v<EdgeProfiler> && !std::is_move_constructible_v<EdgeProfiler>);
  static_assert(!std::is_copy_assignable_v<EdgeProfiler> && !std::is_move_assignable_v<EdgeProfiler>);
  static_assert(!std::is_copy_constructible_v<EdgeOptions> && !std::is_move_constructible_v<EdgeOptions>);
  static_assert(std::is_aggregate_v<EdgeOptions>);
}

TEST(EdgeRefusedTest, ArgumentThatIsNotAModuleDoesNotCompile) {
  static_assert(!std::is_constructible_v<EdgeProfiler, int, EdgeOptions>);
  static_assert(edge::Profilable<TestModule>);
  static_assert(edge::Profilable<edge::Module>);
  static_assert(!edge::Profilable<int>);
}

template <class Make>
void expect_refused(Make make) {
  try {
    make();
    ADD_FAILURE() << "it was made";
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("on the stack"), std::string_view::npos) << error.what();
  }
  EXPECT_EQ(get_current_edge_profiler(), nullptr);
}

struct Holder {
  explicit Holder(const TestModule& module) : profiler(module, {}) {}
  EdgeProfiler profiler;
};

TEST(EdgeRefusedTest, StaticObjectsAreRefused) {
  static const TestModule module;
  expect_refused([] { static const EdgeProfiler profiler(module, {}); });
  expect_refused([] { static thread_local const EdgeProfiler profiler(module, {}); });
}

TEST(EdgeRefusedTest, MembersOfObjectsOnTheHeapAreRefused) {
  const TestModule module;
  expect_refused([&] { const auto holder = std::make_unique<Holder>(module); });
  const Holder on_the_stack(module);
  EXPECT_EQ(get_current_edge_profiler(), &on_the_stack.profiler);
}

TEST(EdgeRefusedTest, PlacementNewOnTheHeapIsRefused) {
  const TestModule module;
  static_assert(MadeInPlace<EdgeProfiler>);
  expect_refused([&] {
    const std::unique_ptr<std::byte[]> memory(new std::byte[sizeof(EdgeProfiler)]);
    ::new (static_cast<void*>(memory.get())) EdgeProfiler(module, {});
  });
}

TEST(EdgeRefusedTest, StackOfAnotherThreadIsRefused) {
  const TestModule module;
  alignas(EdgeProfiler) std::byte memory[sizeof(EdgeProfiler)];
  std::thread([&] { expect_refused([&] { ::new (static_cast<void*>(memory)) EdgeProfiler(module, {}); }); }).join();
}

}  // namespace
}  // namespace kymo
