#include "base/environment.h"

#include <gtest/gtest.h>

namespace kymo::base {
namespace {

TEST(RunVariablesTest, WhatChangesHowAProgramRunsDescribesIt) {
  EXPECT_TRUE(describes_run("OMP_NUM_THREADS=4"));
  EXPECT_TRUE(describes_run("CUDA_VISIBLE_DEVICES=0"));
  EXPECT_TRUE(describes_run("RANK=3"));
  EXPECT_TRUE(describes_run("KYMO_TRACE=libkymo_work.kymo"));
  EXPECT_FALSE(describes_run("AWS_SECRET_ACCESS_KEY=x"));
  EXPECT_FALSE(describes_run("OMP_NUM_THREADS"));
  EXPECT_FALSE(describes_run(""));
}

TEST(RunVariablesTest, WhatKymoRecordSetsDoesNot) {
  EXPECT_FALSE(describes_run("KYMO_SESSION_FILE=/x/run.kymo"));
  EXPECT_FALSE(describes_run("KYMO_INTERFACES=nvtx,cuda"));
  EXPECT_FALSE(describes_run("KYMO_MALLOC=all"));
  EXPECT_FALSE(describes_run("KYMO_PYTHON_FUNCTIONS=1"));
  EXPECT_FALSE(describes_run("LD_PRELOAD=/usr/lib/libkymo_malloc.so"));
  EXPECT_FALSE(describes_run("CUDA_INJECTION64_PATH=/usr/lib/libkymo_inject.so"));
  EXPECT_FALSE(describes_run("OMP_TOOL_LIBRARIES=libkymo_inject.so"));
  EXPECT_FALSE(describes_run("VK_INSTANCE_LAYERS=VK_LAYER_KYMO_record"));
  EXPECT_FALSE(describes_run("VK_ADD_LAYER_PATH=/usr/lib/kymo/vulkan"));
}

TEST(RunVariablesTest, LibrariesOfTheUserStay) {
  EXPECT_TRUE(describes_run("LD_PRELOAD=/usr/lib/libkymo_malloc.so:/usr/lib/libjemalloc.so"));
  EXPECT_TRUE(describes_run("LD_PRELOAD=/usr/lib/libjemalloc.so /usr/lib/libkymo_malloc.so"));
  EXPECT_TRUE(describes_run("LD_PRELOAD=/home/libkymo_user/libmine.so"));
  EXPECT_TRUE(describes_run("VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation"));
}

}  // namespace
}  // namespace kymo::base
