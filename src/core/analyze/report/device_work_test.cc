#include "analyze/report/device_work.h"

#include <gtest/gtest.h>

namespace kymo::analyze {
namespace {

TEST(WorkKindTest, MarkersAndBarriersAreWaitingNotComputing) {
  EXPECT_EQ(work_kind("sync", "marker"), WorkKind::Wait);  // of OpenCL
  EXPECT_EQ(work_kind("cuda_sync", "Stream Wait Event"), WorkKind::Wait);
  EXPECT_EQ(work_kind("kernel", "marker"), WorkKind::Compute);
  EXPECT_EQ(work_kind("copy", "map"), WorkKind::Copy);
  EXPECT_FALSE(work_kind("device range", "frame").has_value());
}

}  // namespace
}  // namespace kymo::analyze
