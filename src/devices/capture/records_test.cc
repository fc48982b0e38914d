#include "capture/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/test_capture.h"
#include "kymo/error.h"

namespace kymo::capture::tests {
namespace {

using Kind = device::KernelArgument::Kind;

std::vector<std::byte> bytes_of(const Record& record) {
  base::ByteWriter out;
  encode(record, out);
  return {out.bytes().begin(), out.bytes().end()};
}

// Writes and reads the record. Checks that writing it again gives the same bytes.
Record there_and_back(const Record& record) {
  const auto bytes = bytes_of(record);
  base::ByteReader in(bytes);
  Record read = decode(in);
  EXPECT_EQ(in.left(), 0u);
  EXPECT_EQ(read.index(), record.index());
  EXPECT_EQ(bytes_of(read), bytes);
  return read;
}

TEST(RecordsTest, EveryKindOfArgumentIsReadBack) {
  LaunchCall launch;
  launch.kernel = 3;
  launch.stream = 2;
  launch.threads = {1000, 20, 3};
  launch.group = {16, 4, 1};
  launch.operation = 7;
  TensorRef strided = tensor_ref(5, {2, 3}, DType::BF16);
  strided.offset = 1 << 20;
  strided.strides[0] = 100;
  ArgumentValue number, list, tensors;
  number.bits = static_cast<uint64_t>(int64_t{-5});
  list.kind = Kind::List;
  list.type = DType::I16;
  list.list.assign(6, std::byte{9});
  tensors.kind = Kind::Tensors;
  tensors.tensors = {strided, tensor_ref(1, {})};
  ArgumentValue bytes;
  bytes.kind = Kind::Bytes;
  bytes.list.assign(5, std::byte{7});
  ArgumentValue unsigned_number = number, real = number;
  unsigned_number.kind = Kind::Unsigned;
  real.kind = Kind::Float;
  launch.arguments = {tensor_argument(strided), number, unsigned_number, real, list, tensors, bytes};

  const auto read = std::get<LaunchCall>(there_and_back(launch));
  EXPECT_EQ(read.kernel, 3u);
  EXPECT_EQ(read.threads, launch.threads);
  EXPECT_EQ(read.operation, 7u);
  ASSERT_EQ(read.arguments.size(), 7u);
  EXPECT_EQ(read.arguments[6].kind, Kind::Bytes);
  EXPECT_EQ(read.arguments[6].list, bytes.list);
  EXPECT_EQ(read.arguments[0].tensors[0].strides, strided.strides);
  EXPECT_EQ(read.arguments[0].tensors[0].offset, strided.offset);
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(read.arguments[i].bits, number.bits);
  EXPECT_EQ(read.arguments[4].list, list.list);
  EXPECT_EQ(read.arguments[5].tensors.size(), 2u);
}

TEST(RecordsTest, RandomFillsAreReadBack) {
  RandomCall call{1, tensor_ref(0, {10}), {}};
  call.fill = {device::RandomFill::Kind::Integers, 0.5, -2, -7, INT64_MAX, UINT64_MAX, 1234567890123};
  const auto read = std::get<RandomCall>(there_and_back(call));
  EXPECT_EQ(read.fill.kind, device::RandomFill::Kind::Integers);
  EXPECT_EQ(read.fill.a, 0.5);
  EXPECT_EQ(read.fill.b, -2);
  EXPECT_EQ(read.fill.low, -7);
  EXPECT_EQ(read.fill.high, INT64_MAX);
  EXPECT_EQ(read.fill.seed, UINT64_MAX);
  EXPECT_EQ(read.fill.offset, 1234567890123u);
}

// Tried with any length and with any first byte.
TEST(RecordsTest, TruncatedAndUnknownRecordsAreRefused) {
  const auto whole = bytes_of(CopyCall{0, tensor_ref(0, {4, 4}), tensor_ref(1, {4, 4})});
  for (size_t size = 0; size < whole.size(); ++size) {
    base::ByteReader in(base::Bytes(whole).first(size));
    EXPECT_THROW(decode(in), Error) << size;
  }
  for (int kind = 0; kind < 256; ++kind) {
    auto other = whole;
    other[0] = static_cast<std::byte>(kind);
    base::ByteReader in(other);
    try {
      EXPECT_EQ(decode(in).index() + 1, static_cast<size_t>(kind));
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace kymo::capture::tests
