#include "convert/kineto.h"

#include <gtest/gtest.h>

#include <string>

namespace kymo::convert {
namespace {

TEST(KinetoTest, MarkersOfOpenClAreSynchronization) {
  EXPECT_EQ(kineto::device_work("marker", "sync").category, "cuda_sync");
  EXPECT_EQ(kineto::device_work("marker", "sync").name, "") << "its own name stays";
  EXPECT_EQ(kineto::device_work("fill", "fill").category, "gpu_memset");
  EXPECT_EQ(kineto::device_work("scale", "kernel").category, "kernel");
}

TEST(JsonListTest, ListsOfInputsPass) {
  for (const char* const text :
       {"[]", "[[64, 64], []]", R"(["float", "", "a\\\"b\\u00e9"])", "[-1, 0, 2.5, 1e+9, true, null]", " [ 1 , 2 ] "})
    EXPECT_TRUE(is_json_list(text)) << text;
}

TEST(JsonListTest, AnythingThatWouldBreakTheFileIsRefused) {
  for (const char* const text :
       {"",           "1",    "[",     "[1",    "[1,]",  "[,1]",      "[1 2]",         "[01]",
        "[1.]",       "[1e]", "[-]",   "[nan]", "[\"a]", "[\"\\x\"]", "[\"\\u12g4\"]", "[\"a\nb\"]",
        "[\"\xff\"]", "[]]",  "[], 1", "[{}]",  "{}"})
    EXPECT_FALSE(is_json_list(text)) << text;
  EXPECT_FALSE(is_json_list(std::string(100'000, '[')));
}

TEST(DeviceTypesTest, NamesAndNumbersBelongTogether) {
  EXPECT_EQ(device_label({10, 0}), "Vulkan 0");
  EXPECT_EQ(device_label({0, -1}), "CPU 0");
  EXPECT_EQ(device_label({42, 1}), "device 42:1");
  EXPECT_EQ(device_key({1, 2}), "cuda:2");
  EXPECT_EQ(device_key({0, -1}), "cpu");
  EXPECT_EQ(device_key({-3, 1}), "device -3:1");
  EXPECT_EQ(device_numbers("cuda:2").type, 1);
  EXPECT_EQ(device_numbers("cuda:2").index, 2);
  EXPECT_EQ(device_numbers("vulkan").index, 0);
  for (const char* const other : {"cpu", "heap", "host", "", "cudax:1"}) {
    EXPECT_EQ(device_numbers(other).type, 0) << other;
    EXPECT_EQ(device_numbers(other).index, -1) << other;
  }
}

}  // namespace
}  // namespace kymo::convert
