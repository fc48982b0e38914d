#include "profiler/text.h"

#include <gtest/gtest.h>

namespace kymo::profiler {
namespace {

TEST(SignpostTextTest, SizesAreBytesBelowAKibibyteAndHaveTwoDecimalsAbove) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1024), "1024 B");
  EXPECT_EQ(size_text(1536), "1.50 KiB");
  EXPECT_EQ(size_text(5 << 20), "5.00 MiB");
  EXPECT_EQ(size_text(uint64_t{3} << 30), "3.00 GiB");
  EXPECT_EQ(size_text(UINT64_MAX), "16.00 EiB");
}

TEST(SignpostTextTest, MessagesHaveOnlyKnownTimes) {
  EXPECT_EQ(operation_message("scale:opencl:0:f32[4]", "K2", 7, {}), "scale:opencl:0:f32[4] (id=K2, run=7)");
  EXPECT_EQ(operation_message("scale", "K2", 7, {123'456, 0}), "scale (id=K2, run=7, gpu=0.123 ms)");
  EXPECT_EQ(operation_message("scale", "G1", 1, {123'456, 4'000}), "scale (id=G1, run=1, gpu=0.123 ms, cpu=0.004 ms)");
  EXPECT_EQ(copy_message("BlitCopy: a --> b", 64, {2'000'000, 0}), "BlitCopy: a --> b (len=64 B, gpu=2.000 ms)");
  EXPECT_EQ(fallback_message("sort", 1, 3, 4096, {0, 52'000}),
            "Host Fallback::sort (id=1, run=3, CopyOverhead=4.00 KiB, cpu=0.052 ms)");
}

TEST(SignpostTextTest, EmptyTensorIsUndefined) {
  const device::Tensor nothing;
  EXPECT_EQ(tensor_text(nothing, true), "undefined");
  const device::Tensor* const tensors[] = {&nothing, nullptr};
  EXPECT_EQ(scope_key("sort", tensors, false), "sort:undefined");
}

TEST(SignpostTextTest, HostSideOfACopyIsItsAddress) {
  device::Operation copy;
  copy.kind = device::OperationKind::CopyHostToDevice;
  copy.host = reinterpret_cast<const void*>(0x7f00);
  EXPECT_EQ(copy_key(copy, "opencl:0", false), "BlitCopy: host:0x7f00 --> opencl:0");
  copy.kind = device::OperationKind::CopyDeviceToHost;
  copy.blocking = true;
  EXPECT_EQ(copy_key(copy, "opencl:0", false), "BlitCopySync: opencl:0 --> host:0x7f00");
  copy.kind = device::OperationKind::CopyOnDevice;
  EXPECT_EQ(copy_key(copy, "opencl:0", false), "BlitCopySync: opencl:0 --> opencl:0");
}

}  // namespace
}  // namespace kymo::profiler
