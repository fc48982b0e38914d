#include "wire/fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/test_tree.h"
#include "wire/test_bytes.h"

namespace kymo::wire {
namespace {

using ::testing::ElementsAre;
using testing::from_hex;
using ::testing::HasSubstr;
using testing::with;

// Datagrams that an unmodified program sent: the last column of each line. The columns before it are type, number of
// pids, job and the length of the config in the answer.
struct Captured {
  uint32_t ready_for = 0;
  size_t pids = 0;
  int64_t job = 0;
  std::vector<std::byte> datagram;
};

std::vector<Captured> captured_datagrams() {
  std::ifstream file(kymo::base::in_tree("tests/data/kineto/ondemand-datagrams.txt"));
  std::vector<Captured> all;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream columns(line);
    std::string time, type, sender, hex;
    size_t answer = 0;
    Captured one;
    columns >> time >> type >> sender >> one.ready_for >> one.pids >> one.job >> answer >> hex;
    one.datagram = from_hex(hex);
    all.push_back(one);
  }
  return all;
}

std::vector<std::byte> a_poll() { return *fabric_datagram(FabricRequest(FabricPoll{2, 7, {100, 50, 10}})); }

TEST(FabricTest, RealDatagramsAreReadAndWrittenTheSame) {
  const auto all = captured_datagrams();
  ASSERT_EQ(all.size(), 4u);
  for (const Captured& one : all) {
    const auto request = read_fabric_request(one.datagram);
    ASSERT_TRUE(request) << request.reason();
    const auto& poll = std::get<FabricPoll>(*request);
    EXPECT_EQ(poll.ready_for, one.ready_for);
    EXPECT_EQ(poll.job, one.job);
    EXPECT_THAT(poll.pids, ElementsAre(400, 395, 394, 390));
    EXPECT_EQ(poll.wants_activities(), one.ready_for == 3);
    EXPECT_EQ(*fabric_datagram(*request), one.datagram);
  }
}

TEST(FabricTest, RequestsAndRepliesReadBackTheSame) {
  for (const FabricRequest& request :
       {FabricRequest(FabricContext{3, 1234, -1}), FabricRequest(FabricPoll{0, 5'000'000'000, {1}})}) {
    const auto again = read_fabric_request(*fabric_datagram(request));
    ASSERT_TRUE(again) << again.reason();
    EXPECT_EQ(*again, request);
  }
  for (const FabricReply& reply :
       {FabricReply(FabricRegistered{8}), FabricReply(FabricConfig{"A=b\n"}), FabricReply(FabricConfig{})}) {
    const auto again = read_fabric_reply(*fabric_datagram(reply));
    ASSERT_TRUE(again) << again.reason();
    EXPECT_EQ(*again, reply);
  }
}

TEST(FabricTest, EmptyConfigIsOnlyAHeader) {
  EXPECT_EQ(fabric_datagram(FabricReply(FabricConfig{}))->size(), kFabricHeaderBytes);
}

TEST(FabricTest, TruncatedDatagramIsRefused) {
  for (const auto& whole : {a_poll(), *fabric_datagram(FabricRequest(FabricContext{0, 1, 0}))}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(read_fabric_request(base::Bytes(whole).first(size))) << size;
      EXPECT_FALSE(read_fabric_reply(base::Bytes(whole).first(size))) << size;
    }
  }
}

TEST(FabricTest, SizeInTheHeaderIsCheckedAgainstTheDatagram) {
  for (const uint64_t claimed : {uint64_t{1} << 62, ~uint64_t{0}, uint64_t{0}, uint64_t{27}, uint64_t{29}}) {
    const auto refused = read_fabric_request(with(a_poll(), 0, claimed));
    ASSERT_FALSE(refused) << claimed;
    EXPECT_THAT(refused.reason(), HasSubstr(std::to_string(claimed)));
    EXPECT_THAT(refused.reason(), HasSubstr("28 follow"));
  }
}

TEST(FabricTest, NumberOfPidsIsCheckedAgainstTheDatagram) {
  constexpr size_t kAt = kFabricHeaderBytes + 4;
  for (const int32_t pids : {-5, 0, 1, 2, 4, 64, 65, INT32_MAX, INT32_MIN}) {
    EXPECT_FALSE(read_fabric_request(with(a_poll(), kAt, static_cast<uint32_t>(pids)))) << pids;
  }
  EXPECT_THAT(read_fabric_request(with(a_poll(), kAt, static_cast<uint32_t>(-5))).reason(), HasSubstr("-5 processes"));
}

TEST(FabricTest, InvalidPidIsRefused) {
  EXPECT_FALSE(read_fabric_request(with(a_poll(), kFabricHeaderBytes + 20, uint32_t{0})));
  EXPECT_FALSE(read_fabric_request(with(a_poll(), kFabricHeaderBytes + 20, ~uint32_t{0})));
  EXPECT_FALSE(read_fabric_request(*fabric_datagram(FabricRequest(FabricContext{0, -3, 0}))));
}

TEST(FabricTest, RefusalNamesAnUnknownType) {
  auto other = a_poll();
  other[11] = std::byte{'\x07'};  // "req" and a bell
  EXPECT_THAT(read_fabric_request(other).reason(), HasSubstr("\"req?\""));
  for (size_t i = 8; i < kFabricHeaderBytes; ++i) other[i] = std::byte{'r'};  // without an end
  EXPECT_FALSE(read_fabric_request(other));
}

TEST(FabricTest, BytesAfterTheEndOfTheTypeAreIgnored) {
  EXPECT_TRUE(read_fabric_request(with(a_poll(), 12, ~uint64_t{0})));
}

TEST(FabricTest, SizesAboveTheLimitAreNotReadAndNotWritten) {
  const FabricReply most = FabricConfig{std::string(kFabricLargestPayload, 'a')};
  EXPECT_EQ(*read_fabric_reply(*fabric_datagram(most)), most);
  EXPECT_FALSE(fabric_datagram(FabricReply(FabricConfig{std::string(kFabricLargestPayload + 1, 'a')})));
  std::vector<std::byte> long_one(kFabricLargestDatagram + 1);
  EXPECT_FALSE(read_fabric_reply(with(long_one, 0, uint64_t{kFabricLargestPayload + 1})));
  EXPECT_FALSE(fabric_datagram(FabricRequest(FabricPoll{2, 0, {}})));
  EXPECT_FALSE(fabric_datagram(FabricRequest(FabricPoll{2, 0, std::vector<int32_t>(kFabricMaxPids + 1, 1)})));
}

TEST(FabricTest, RegistrationAnswerHasFourBytesAndNoNegativeCount) {
  const auto good = *fabric_datagram(FabricReply(FabricRegistered{2}));
  EXPECT_FALSE(read_fabric_reply(with(good, kFabricHeaderBytes, ~uint32_t{0})));
  EXPECT_FALSE(read_fabric_reply(*fabric_datagram(FabricRequest(FabricContext{0, 1, 0}))));  // 16 bytes
}

}  // namespace
}  // namespace kymo::wire
