#include "convert/kineto.h"

#include <gtest/gtest.h>

#include <string>

namespace kymo::convert {
namespace {

TEST(KinetoTest, WorkOfEveryInterfaceHasKinetosCategory) {
  const auto category = [](const char* name, const char* own) { return kineto::device_range(name, own).category; };
  EXPECT_EQ(category("marker", "sync"), "cuda_sync");
  EXPECT_EQ(category("fill buffer", "fill"), "gpu_memset");
  EXPECT_EQ(category("map", "copy"), "gpu_memcpy");
  EXPECT_EQ(category("scale", "kernel"), "kernel");
  EXPECT_EQ(category("draw", "draw"), "kernel");
  EXPECT_EQ(category("fill", ""), "kernel") << "a kernel of the program";
  EXPECT_EQ(category("command buffer", "device range"), "gpu_user_annotation");
  EXPECT_EQ(category("wait", "cuda_event"), "cuda_event") << "of an import";
}

// HTA knows a copy by its name.
TEST(KinetoTest, CopiesHaveKinetosNames) {
  const auto name = [](const char* own, const char* category) { return kineto::device_range(own, category).name; };
  EXPECT_EQ(name("copy between devices", "copy"), "Memcpy PtoP (Device -> Device)");
  EXPECT_EQ(name("copy buffer", "copy"), "Memcpy DtoD (Device -> Device)");
  EXPECT_EQ(name("copy host to device", "gpu_memcpy"), "Memcpy HtoD (Host -> Device)") << "of the edge profiler";
  EXPECT_EQ(name("migrate", "copy"), "Memcpy Unknown");
  EXPECT_EQ(name("Memcpy DtoH (Device -> Pinned)", "gpu_memcpy"), "") << "its own name stays";
  EXPECT_EQ(name("fill buffer", "fill"), "Memset (Device)");
  EXPECT_EQ(name("marker", "sync"), "");
  EXPECT_EQ(kineto::device_work("copy on device").name, "Memcpy DtoD (Device -> Device)");
  EXPECT_EQ(kineto::device_work("gemm").category, "kernel");
}

TEST(KinetoTest, CallsOfEveryInterfaceHaveTheNamesThatToolsLookFor) {
  const auto named = [](const char* name, const char* own) {
    const kineto::Names names = kineto::device_call(name, own);
    return std::string(names.category) + " " + std::string(names.name);
  };
  EXPECT_EQ(named("launch {}", "device"), "cuda_runtime cudaLaunchKernel");
  EXPECT_EQ(named("launch gemm", "device"), "cuda_runtime cudaLaunchKernel") << "of an import";
  EXPECT_EQ(named("submit", "device"), "cuda_runtime cudaLaunchKernel");
  EXPECT_EQ(named("queue unmap", "device"), "cuda_runtime cudaMemcpyAsync");
  EXPECT_EQ(named("queue fill", "device"), "cuda_runtime cudaMemsetAsync");
  EXPECT_EQ(named("wait for queue", "device"), "cuda_runtime cudaStreamSynchronize");
  EXPECT_EQ(named("cuLaunchKernel", "cuda"), "cuda_driver ");
  EXPECT_EQ(named("cuLaunchKernelEx", "cuda"), "cuda_driver cuLaunchKernel");
  EXPECT_EQ(named("cuMemcpyHtoDAsync", "cuda"), "cuda_runtime cudaMemcpyAsync");
  EXPECT_EQ(named("cuMemAlloc", "cuda"), "cuda_driver ");
  EXPECT_EQ(named("submit", "web"), " ");
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
