#include "record/registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace kymo::record {
namespace {

kymo_label label(const std::string& name, const std::string& category = {}, uint32_t colour = 0) {
  return {name.data(), category.data(), static_cast<uint32_t>(name.size()), static_cast<uint32_t>(category.size()),
          colour};
}

uint32_t find(Registry& registry, const kymo_label& wanted, std::vector<kymo_arg> args = {}, bool reserve = false) {
  const auto count = static_cast<uint32_t>(args.size());
  return find_class(registry, wanted, args.data(), count, signature_of(wanted, args.data(), count), reserve);
}

class RegistryTest : public ::testing::Test {
 protected:
  std::unique_ptr<Registry> registry = std::make_unique<Registry>();
};

TEST_F(RegistryTest, SameNameIsOneClass) {
  const std::string name = "load";
  const uint32_t first = find(*registry, label(name));
  EXPECT_NE(first, 0u);
  EXPECT_EQ(find(*registry, label(std::string("load"))), first);
  EXPECT_EQ(std::string(class_name(*registry, first), 4), "load");
}

TEST_F(RegistryTest, CategoryColourAndFieldsMakeAnotherClass) {
  const std::string name = "load", io = "io", size = "size";
  const kymo_arg unnamed{nullptr, {}, 0, KYMO_INT}, other_type{nullptr, {}, 0, KYMO_DOUBLE},
      named{"size", {}, 0, KYMO_INT};
  std::set<uint32_t> ids{find(*registry, label(name)),
                         find(*registry, label(name, io)),
                         find(*registry, label(name, {}, 0xff00ff00)),
                         find(*registry, label(name), {unnamed}),
                         find(*registry, label(name), {other_type}),
                         find(*registry, label(name), {named}),
                         find(*registry, label(name), {unnamed, unnamed})};
  EXPECT_EQ(ids.size(), 7u);
  EXPECT_FALSE(ids.contains(0));
}

TEST_F(RegistryTest, EmptyNameIsAName) {
  const uint32_t id = find(*registry, label(""));
  EXPECT_NE(id, 0u);
  EXPECT_EQ(find(*registry, label("")), id);
}

TEST_F(RegistryTest, NamesPastTheLimitAreRefusedButTheReserveIsKept) {
  uint32_t taken = 0;
  for (uint32_t i = 0; i < 2 * kMaxClasses; ++i) taken += find(*registry, label("name " + std::to_string(i))) != 0;
  EXPECT_LT(taken, kMaxClasses);
  EXPECT_GT(taken, kMaxClasses - 1000);
  EXPECT_EQ(find(*registry, label("one more")), 0u);
  EXPECT_NE(find(*registry, label("{}"), {}, true), 0u);
  EXPECT_NE(find(*registry, label("name 7")), 0u) << "what was registered stays findable";
}

TEST_F(RegistryTest, ATooLongNameIsRefused) {
  EXPECT_NE(find(*registry, label(std::string(kMaxInternedName, 'x'))), 0u);
  EXPECT_EQ(find(*registry, label(std::string(kMaxInternedName + 1, 'x'))), 0u);
}

TEST_F(RegistryTest, ThreadsRegisteringTheSameNamesFindThem) {
  constexpr int kThreads = 4, kNames = 500;
  std::vector<std::vector<uint32_t>> ids(kThreads, std::vector<uint32_t>(kNames));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kNames; ++i) ids[t][i] = find(*registry, label("shared " + std::to_string(i)));
    });
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t)
    for (int i = 0; i < kNames; ++i) {
      const std::string name = "shared " + std::to_string(i);
      EXPECT_EQ(std::string(class_name(*registry, ids[t][i]), name.size()), name);
    }
}

}  // namespace
}  // namespace kymo::record
