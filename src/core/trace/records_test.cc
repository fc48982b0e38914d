#include "trace/records.h"

#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::trace {
namespace {

template <typename T>
void expect_back(const std::vector<T>& records) {
  base::ByteWriter out;
  write_records<T>(out, records);
  base::ByteReader in(out.bytes());
  EXPECT_EQ(read_records<T>(in), records);
  EXPECT_EQ(in.left(), 0u);
}

const Origin kOrigin{"5e55",
                     10,
                     1,
                     "host",
                     "boot",
                     "/bin/a",
                     {"a", "--b"},
                     1700000000000000000,
                     "block",
                     "0.1.0",
                     {{"k", "v"}, {"", ""}}};

TEST(RecordsTest, EveryKindOfRecordRoundTrips) {
  expect_back<Origin>({kOrigin, Origin{}});
  expect_back<EventClass>(
      {{1, "step {}", "train", 0xff00ff00, {{"", FieldType::Int}, {"bytes", FieldType::ByteCount}}}});
  expect_back<Track>({{1, TrackKind::Thread, 1, 4711, "main", "", 0, 0},
                      {2, TrackKind::DeviceQueue, 2, 0, "queue", "GPU-1", ~uint64_t{0}, 7, "NVIDIA H200"}});
  expect_back<ClockDomain>({{1, ClockKind::Tsc, "boot", 1000, 2995, 64, {{5, 6, 7, 8, 9}, {9, 10, 11, 12, ~0ull}}}});
  expect_back<Module>({{1, "/lib/a.so", std::string("\x01\x00\xff", 3), 0x7f0000000000, 4096}});
  expect_back<Frame>({{1, 2, 3, "f()", "f.cc", 4}});
  expect_back<Stack>({{1, {3, 2, 1}}, {2, {}}});
  expect_back<Loss>({{LossCause::LateStart, 1, 2, 3, 4, "detail"}});
  expect_back<Cost>({{1, 2, 3, 4, 5}});
  expect_back<Window>({{1, 2}, {~uint64_t{0}, 0}});
  expect_back<Cost>({});
}

TEST(RecordsTest, FieldsOfANewerVersionAreSkipped) {
  base::ByteWriter out;
  out.varint(2);
  for (int i = 0; i < 2; ++i) {
    base::ByteWriter record;
    for (uint64_t field : {1, 2, 3, 4, 5, 666, 777}) record.varint(field);
    out.varint(record.size());
    out.append(record.bytes());
  }
  base::ByteReader in(out.bytes());
  EXPECT_EQ(read_records<Cost>(in), std::vector<Cost>(2, Cost{1, 2, 3, 4, 5}));
}

TEST(RecordsTest, ClockPairsOfOlderVersionsHaveNoSuspendedTime) {
  base::ByteWriter record, out;
  for (const uint64_t field : {1, 1}) record.varint(field);  // id, kind
  record.string("boot");
  for (const uint64_t field : {1, 1, 64}) record.varint(field);                      // period, wrap bits
  for (const uint64_t field : {2, 5, 6, 7, 8, 9, 10, 11, 12}) record.varint(field);  // two pairs
  out.varint(1);
  out.varint(record.size());
  out.append(record.bytes());
  base::ByteReader in(out.bytes());
  const std::vector<ClockDomain> clocks = read_records<ClockDomain>(in);
  ASSERT_EQ(clocks.size(), 1u);
  EXPECT_EQ(clocks[0].pairs, (std::vector<ClockPair>{{5, 6, 7, 8, 0}, {9, 10, 11, 12, 0}}));
  EXPECT_EQ(clocks[0].pairs[1].boottime_ns(), clocks[0].pairs[1].monotonic_ns);
}

TEST(RecordsTest, TruncatedRecordIsRefusedAtEveryLength) {
  base::ByteWriter out;
  write_records<Origin>(out, std::vector{kOrigin});
  for (size_t size = 0; size < out.size(); ++size) {
    base::ByteReader in(out.bytes().first(size));
    EXPECT_THROW(read_records<Origin>(in), Error) << size;
  }
}

TEST(RecordsTest, IdBeyond32BitsIsRefused) {
  base::ByteWriter record, out;
  record.varint(uint64_t{1} << 32);
  record.varint(0);
  out.varint(1);
  out.varint(record.size());
  out.append(record.bytes());
  base::ByteReader in(out.bytes());
  EXPECT_THROW(read_records<Stack>(in), Error);
}

}  // namespace
}  // namespace kymo::trace
