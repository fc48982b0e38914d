#include "device/cuda/program.h"

#include <gtest/gtest.h>

namespace kymo::device::cuda {
namespace {

TEST(ProgramBinaryTest, PackedBinaryIsUnpacked) {
  const std::vector<std::string> names{"saxpy", "", "_Z4overPf"};
  const std::vector<std::byte> cubin(1000, std::byte{7});
  const std::vector<std::byte> bytes = pack_binary(names, true, cubin);
  const auto unpacked = unpack_binary(bytes);
  ASSERT_TRUE(unpacked);
  EXPECT_EQ(unpacked->names, names);
  EXPECT_TRUE(unpacked->stamps);
  EXPECT_TRUE(std::equal(cubin.begin(), cubin.end(), unpacked->cubin.begin(), unpacked->cubin.end()));
}

TEST(ProgramBinaryTest, TruncatedOrOtherBytesAreRejected) {
  const std::vector<std::string> names{"saxpy", "scale"};
  std::vector<std::byte> bytes = pack_binary(names, false, std::vector<std::byte>(16));
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(unpack_binary(std::span(bytes).first(length))) << length;
  bytes[9] = std::byte{0x7f};  // the number of kernels
  EXPECT_FALSE(unpack_binary(bytes));
  bytes[0] = std::byte{'X'};
  EXPECT_FALSE(unpack_binary(bytes));
}

}  // namespace
}  // namespace kymo::device::cuda
