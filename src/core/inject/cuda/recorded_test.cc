// Records of CUPTI 13.0 on an H200, of a training step of PyTorch 2.11 and two copies. The file has for each record:
// two 16-bit numbers (the bytes of the record, the bytes of the kernel's name), the record, the name.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "base/test_tree.h"
#include "inject/cuda/kernel_names.h"
#include "inject/cuda/work.h"

namespace kymo::inject::cuda {
namespace {

TEST(CudaRecordedTest, RecordsOfARealDeviceAreRead) {
  std::ifstream file(base::in_tree("tests/data/cuda/pytorch-2.11-h200.cupti"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  size_t kernels = 0, copies = 0;
  std::set<uint32_t> correlations;
  uint64_t last_start = 0;
  for (size_t at = 0; at < bytes.size();) {
    uint16_t sizes[2];
    ASSERT_LE(at + sizeof sizes, bytes.size());
    memcpy(sizes, bytes.data() + at, sizeof sizes);
    at += sizeof sizes;
    ASSERT_LE(at + sizes[0] + sizes[1], bytes.size());
    std::string record = bytes.substr(at, sizes[0]);
    const std::string name = bytes.substr(at + sizes[0], sizes[1]);
    at += size_t{sizes[0]} + sizes[1];
    if (!name.empty()) {
      const char* const pointer = name.c_str();
      memcpy(record.data() + offsetof(cuda::Kernel, name), &pointer, sizeof pointer);
    }
    const auto work = work_from(record.data(), record.size());
    ASSERT_TRUE(work);
    EXPECT_TRUE(work->has_times());
    EXPECT_LT(work->end - work->start, 1'000'000u) << "small tensors";
    EXPECT_EQ(work->device, 0u);
    EXPECT_EQ(work->stream, 7u);
    EXPECT_TRUE(correlations.insert(work->correlation).second);
    if (work->kind == WorkKind::Kernel) {
      ++kernels;
      EXPECT_EQ(work->name, name);
      EXPECT_FALSE(readable_name(work->name).starts_with("_Z")) << work->name;
      EXPECT_GT(work->grid[0] * work->block[0], 0u);
      EXPECT_GT(work->start, last_start) << "one stream";
      last_start = work->start;
    } else {
      ++copies;
      EXPECT_EQ(work->bytes, 64u * 256 * 4);
    }
  }
  EXPECT_EQ(kernels, 60u);
  EXPECT_EQ(copies, 2u);
}

}  // namespace
}  // namespace kymo::inject::cuda
