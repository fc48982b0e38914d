#include "wire/dyno/rpc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "wire/dyno/test_dyno.h"
#include "wire/test_bytes.h"

namespace kymo::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RpcTest, FrameIsReadWhenItIsComplete) {
  const auto whole = *rpc_frame(R"({"fn":"getStatus"})");
  ASSERT_EQ(whole.size(), 22u);
  EXPECT_EQ(whole[0], std::byte{18});
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto part = read_rpc_frame(base::Bytes(whole).first(size));
    ASSERT_TRUE(part) << size;
    EXPECT_FALSE(*part) << size;
  }
  EXPECT_EQ(**read_rpc_frame(whole), R"({"fn":"getStatus"})");
}

TEST(RpcTest, ImpossibleFrameLengthIsRefusedAtOnce) {
  for (const uint32_t length : {0x7fffffffu, 0xffffffffu, 0x80000000u, uint32_t{kRpcLargest + 1}}) {
    std::array<std::byte, 4> start;
    base::store(start.data(), length);
    EXPECT_FALSE(read_rpc_frame(start)) << length;
  }
  auto longer = *rpc_frame("{}");
  longer.push_back(std::byte{'x'});
  EXPECT_FALSE(read_rpc_frame(longer));
  EXPECT_FALSE(rpc_frame(std::string(kRpcLargest + 1, ' ')));
  EXPECT_TRUE(rpc_frame(std::string(kRpcLargest, ' ')));
}

TEST(RpcTest, ReadsARequestAsDynoWritesIt) {
  const auto reading = read_rpc_request(R"(
{
    "fn": "setKinetOnDemandRequest",
    "config": "ACTIVITIES_LOG_FILE=/tmp/a.json\nPROFILE_START_TIME=0",
    "job_id": 5000000000,
    "pids": [12,34],
    "process_limit": 3
})");
  ASSERT_TRUE(reading.request) << reading.reason;
  const auto& trigger = std::get<RpcTrigger>(*reading.request);
  EXPECT_EQ(trigger.config, "ACTIVITIES_LOG_FILE=/tmp/a.json\nPROFILE_START_TIME=0");
  EXPECT_EQ(trigger.job, 5'000'000'000);
  EXPECT_THAT(trigger.pids, ElementsAre(12, 34));
  EXPECT_EQ(trigger.process_limit, 3);
}

TEST(RpcTest, OptionalFieldsHaveDefaults) {
  const auto reading = read_rpc_request(R"({"fn":"setKinetOnDemandRequest","config":"","pids":[],"new":{"a":[1]}})");
  ASSERT_TRUE(reading.request) << reading.reason;
  EXPECT_EQ(std::get<RpcTrigger>(*reading.request), (RpcTrigger{"", {}, 0, 1000}));
}

TEST(RpcTest, RequestsReadBackTheSame) {
  for (const RpcRequest& request :
       {RpcRequest(RpcTrigger{"A=\"b\\c\"\n\xc3\xa4", {0}, -1, 7}), RpcRequest(RpcGetStatus{}),
        RpcRequest(RpcGetVersion{}), RpcRequest(RpcPauseCounters{300}), RpcRequest(RpcResumeCounters{})}) {
    const auto reading = read_rpc_request(rpc_request(request));
    ASSERT_TRUE(reading.request) << reading.reason;
    EXPECT_EQ(*reading.request, request);
  }
}

TEST(RpcTest, UnreadableRequestIsNotAnswered) {
  for (const char* text : {"", "nonsense", "[]", "{}", R"({"fn":1})", R"({"fn":"shutdown"})", R"({"fn":"getStatus"} x)",
                           R"({"fn":"getStatus","a":18446744073709551616})", "{\"fn\":\"getStatus\",\"a\":\"\xff\"}"}) {
    const auto reading = read_rpc_request(text);
    EXPECT_FALSE(reading.request) << text;
    EXPECT_FALSE(reading.reason.empty()) << text;
    EXPECT_EQ(reading.answer, "") << text;
  }
  EXPECT_FALSE(read_rpc_request(std::string(kRpcLargest + 1, ' ')).request);
  EXPECT_FALSE(read_rpc_request(std::string(100'000, '[')).request);
}

TEST(RpcTest, AMissingFieldIsAnsweredAsFailed) {
  for (const char* text : {R"({"fn":"setKinetOnDemandRequest","pids":[]})",
                           R"({"fn":"setKinetOnDemandRequest","config":""})", R"({"fn":"dcgmProfPause"})"}) {
    const auto reading = read_rpc_request(text);
    EXPECT_FALSE(reading.request) << text;
    EXPECT_EQ(reading.answer, R"({"status":"failed"})") << text;
  }
}

TEST(RpcTest, AFieldOfTheWrongKindIsAnsweredWithTheReason) {
  for (const char* fields :
       {R"("config":1,"pids":[])", R"("config":"","pids":0)", R"("config":"","pids":["1"])",
        R"("config":"","pids":[4294967297])", R"("config":"","pids":[1.5])", R"("config":"","pids":[],"job_id":"x")",
        R"("config":"","pids":[],"job_id":9223372036854775808)", R"("config":"","pids":[],"process_limit":"x")",
        R"("config":"a\u0000b","pids":[])"}) {
    const auto reading = read_rpc_request(std::string(R"({"fn":"setKinetOnDemandRequest",)") + fields + "}");
    EXPECT_FALSE(reading.request) << fields;
    EXPECT_THAT(reading.answer, HasSubstr(R"({"status":"failed with exception = )")) << fields;
  }
}

TEST(RpcTest, NegativeNumbersAndRepeatedNamesAreReadAsDynologReadsThem) {
  const auto reading = read_rpc_request(
      R"({"fn":"x","config":"a","config":"b","pids":[1],"pids":[-1],"process_limit":-1,"fn":"setKinetOnDemandRequest"})");
  ASSERT_TRUE(reading.request) << reading.reason;
  const auto& trigger = std::get<RpcTrigger>(*reading.request);
  EXPECT_EQ(trigger.config, "b") << "the last one counts";
  EXPECT_THAT(trigger.pids, ElementsAre(-1));
  EXPECT_EQ(trigger.process_limit, -1);
  const std::array<int32_t, 1> pids = {100};
  EXPECT_FALSE(rpc_selects({"", {-1}, 0, 3}, 0, pids));
  EXPECT_TRUE(rpc_selects({"", {0, 0}, 0, 3}, 0, pids)) << "pids are a set";
}

TEST(RpcTest, RepliesHaveTheirKeysInOrder) {
  EXPECT_EQ(rpc_triggered({{1, 2}, {1}, 1, {}, 0}),
            R"({"activityProfilersBusy":1,"activityProfilersTriggered":[1],"eventProfilersBusy":0,)"
            R"("eventProfilersTriggered":[],"processesMatched":[1,2]})");
  EXPECT_EQ(rpc_status(int64_t{1}), R"({"status":1})");
  EXPECT_EQ(rpc_status(true), R"({"status":true})");
  EXPECT_EQ(rpc_version("0.6.0"), R"({"version":"0.6.0"})");
}

TEST(RpcTest, RepliesReadBackTheSame) {
  const RpcTriggered triggered{{1, 2, 3}, {1, 3}, 1, {2}, 4};
  EXPECT_EQ(*read_rpc_triggered(rpc_triggered(triggered)), triggered);
  EXPECT_EQ(*read_rpc_status(rpc_status(int64_t{-2})), -2);
  EXPECT_EQ(*read_rpc_version(rpc_version("1 \"x\"")), "1 \"x\"");
  EXPECT_THAT(read_rpc_triggered(R"({"status":"failed"})").reason(), HasSubstr("it failed"));
  EXPECT_FALSE(read_rpc_triggered("{}"));
  EXPECT_FALSE(read_rpc_status("[1]"));
  EXPECT_FALSE(read_rpc_version(std::string(kRpcLargest + 1, ' ')));
}

TEST(RpcTest, AProcessIsSelectedByItsJobAndAnyOfItsParents) {
  const std::array<int32_t, 3> pids = {100, 50, 10};
  EXPECT_TRUE(rpc_selects({"", {}, 0, 3}, 0, pids));
  EXPECT_TRUE(rpc_selects({"", {0}, 0, 3}, 0, pids));
  EXPECT_FALSE(rpc_selects({"", {}, 1, 3}, 0, pids));
  EXPECT_TRUE(rpc_selects({"", {7, 10}, 5'000'000'000, 3}, 5'000'000'000, pids));
  EXPECT_FALSE(rpc_selects({"", {7}, 0, 3}, 0, pids));
  EXPECT_FALSE(rpc_selects({"", {0, 7}, 0, 3}, 0, pids));
}

}  // namespace
}  // namespace kymo::wire
