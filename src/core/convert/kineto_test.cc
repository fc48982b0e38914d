#include "convert/kineto.h"

#include <gtest/gtest.h>

namespace kymo::convert {
namespace {

TEST(KinetoTest, MarkersOfOpenClAreSynchronization) {
  EXPECT_EQ(kineto::device_work("marker", "sync").category, "cuda_sync");
  EXPECT_EQ(kineto::device_work("marker", "sync").name, "") << "its own name stays";
  EXPECT_EQ(kineto::device_work("fill", "fill").category, "gpu_memset");
  EXPECT_EQ(kineto::device_work("scale", "kernel").category, "kernel");
}

}  // namespace
}  // namespace kymo::convert
