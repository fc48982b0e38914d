#include "wire/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/test_bytes.h"
#include "wire/test_messages.h"

namespace kymo::wire {
namespace {

using testing::full_messages;
using ::testing::HasSubstr;
using testing::with;

std::vector<std::byte> with_fields(std::vector<std::byte> packet, std::initializer_list<uint16_t> more) {
  for (const uint16_t word : more) {
    packet.push_back(static_cast<std::byte>(word & 0xff));
    packet.push_back(static_cast<std::byte>(word >> 8));
  }
  return with(packet, 8, static_cast<uint32_t>(packet.size() - kMessageHeaderBytes));
}

Packet read_history_with(std::initializer_list<uint16_t> more) {
  return read_message(with_fields(*message_packet(History{7}), more));
}

TEST(MessageTest, EveryMessageReadsBackTheSame) {
  EXPECT_EQ(full_messages().size(), std::variant_size_v<Message>);
  for (const Message& message : full_messages()) {
    const auto packet = message_packet(message, 0xfeedbeef);
    ASSERT_TRUE(packet) << packet.reason();
    const Packet again = read_message(*packet);
    ASSERT_EQ(again.kind, PacketKind::Good) << again.reason;
    EXPECT_EQ(again.message, message) << name_of(static_cast<MessageType>(again.type));
    EXPECT_EQ(again.serial, 0xfeedbeef);
    EXPECT_NE(name_of(static_cast<MessageType>(again.type)), "?");
  }
}

TEST(MessageTest, TruncatedPacketIsRefused) {
  for (const Message& message : full_messages()) {
    const auto whole = *message_packet(message);
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_EQ(read_message(base::Bytes(whole).first(size)).kind, PacketKind::Foreign);
      if (size < kMessageHeaderBytes) continue;
      // Truncated, with the new length in the header: fields may be missing, but nothing else may go wrong.
      std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      read_message(with(cut, 8, static_cast<uint32_t>(size - kMessageHeaderBytes)));
    }
  }
}

TEST(MessageTest, HeaderIsCheckedAgainstThePacket) {
  const auto good = *message_packet(History{7}, 3);
  EXPECT_THAT(read_message(with(good, 0, uint32_t{0})).reason, HasSubstr("not Kymo's"));
  EXPECT_THAT(read_message(with(good, 6, uint16_t{2})).reason, HasSubstr("layout 2"));
  for (const uint32_t length : {0u, 11u, 13u, 0x7fffffffu, 0xffffffffu}) {
    EXPECT_EQ(read_message(with(good, 8, length)).kind, PacketKind::Foreign) << length;
  }
  std::vector<std::byte> large(kLargestMessage + 1);
  std::copy(good.begin(), good.end(), large.begin());
  EXPECT_THAT(read_message(with(large, 8, uint32_t{kLargestMessage + 1 - kMessageHeaderBytes})).reason,
              HasSubstr("longer than 65536"));
}

TEST(MessageTest, UnknownMessageTypeIsDetectedAndAnswered) {
  const Packet packet = read_message(with(*message_packet(History{7}, 3), 4, uint16_t{999}));
  EXPECT_EQ(packet.kind, PacketKind::Unknown);
  EXPECT_EQ(packet.type, 999);
  EXPECT_EQ(packet.serial, 3u);
  const Refused refused = refusal_of(packet);
  EXPECT_EQ(refused.code, RefusedCode::Unknown);
  EXPECT_EQ(refused.message_type, 999u);
  EXPECT_TRUE(message_packet(refused, packet.serial));
}

TEST(MessageTest, FieldsOfANewerPeerAreSkipped) {
  for (const Packet& packet :
       {read_history_with({63, 2, 0xffff}), read_history_with({999, 0}), read_history_with({0, 0})}) {
    ASSERT_EQ(packet.kind, PacketKind::Good) << packet.reason;
    EXPECT_EQ(std::get<History>(packet.message).trigger_id, 7u);
  }
}

TEST(MessageTest, InvalidFieldsAreRefusedByName) {
  EXPECT_EQ(read_history_with({1, 8, 0, 0, 0, 0}).reason, "History: trigger_id is there twice");
  EXPECT_EQ(read_history_with({2}).reason, "History: a field is cut off");
  EXPECT_EQ(read_history_with({2, 4, 0}).reason, "History: a field is longer than its message");
  EXPECT_EQ(read_message(with(*message_packet(CancelTrigger{7}), 16, uint16_t{5})).reason,
            "CancelTrigger: trigger_id is missing");
  const auto start = *message_packet(Start{1, {.duration_ns = 1, .output = "/tmp/a"}});
  EXPECT_EQ(read_message(with_fields(start, {4, 2, 0})).reason, "Start: pid is no number of 8 bytes");
  EXPECT_EQ(read_message(with_fields(start, {4, 8, 0, 0, 1, 0})).reason, "Start: pid is out of range");
  const auto list = *message_packet(ListReply{});
  EXPECT_EQ(read_message(with_fields(list, {1, 0})).reason, "ListReply: processes pid is missing");
  const Packet refused = read_message(with_fields(start, {4, 8, 0, 0, 1, 0}));
  EXPECT_EQ(refused.kind, PacketKind::Malformed);
  EXPECT_EQ(refusal_of(refused).code, RefusedCode::Malformed);
}

TEST(MessageTest, BooleanIsZeroOrOne) {
  auto packet = *message_packet(ListReply{{}, true});
  EXPECT_TRUE(std::get<ListReply>(read_message(packet).message).more);
  EXPECT_EQ(read_message(with(packet, 20, uint64_t{2})).reason, "ListReply: more is out of range");
}

TEST(MessageTest, AStateOfANewerPeerIsKept) {
  const Packet packet = read_message(*message_packet(Status{7, static_cast<RequestState>(42), 0, ""}));
  ASSERT_EQ(packet.kind, PacketKind::Good) << packet.reason;
  EXPECT_EQ(name_of(std::get<Status>(packet.message).state), "?");
}

TEST(MessageTest, KindOfANewerPeerIsKeptAndReportedAsUnknown) {
  Start start{1, {.duration_ns = 1, .output = "/tmp/a"}, static_cast<RequestKind>(9)};
  const Packet packet = read_message(*message_packet(start));
  ASSERT_EQ(packet.kind, PacketKind::Good) << packet.reason;
  EXPECT_EQ(std::get<Start>(packet.message), start);
  EXPECT_FALSE(is_known(start.kind));
  EXPECT_TRUE(is_known(RequestKind::Trace) && is_known(RequestKind::Memory));
}

TEST(MessageTest, WriterEnforcesTheLimits) {
  EXPECT_TRUE(message_packet(Refused{RefusedCode::Busy, 0, std::string(kLongestText, 'x')}));
  EXPECT_THAT(message_packet(Refused{RefusedCode::Busy, 0, std::string(kLongestText + 1, 'x')}).reason(),
              HasSubstr("Refused: text is too long"));
  EXPECT_FALSE(message_packet(Refused{RefusedCode::Busy, 0, std::string("a\0b", 3)}));
  ListReply reply;
  reply.processes.resize(kMaxItems + 1);
  EXPECT_THAT(message_packet(reply).reason(), HasSubstr("too many items"));
  reply.processes.resize(100);
  for (ProcessEntry& entry : reply.processes) entry.command_line = std::string(2000, 'x');
  EXPECT_THAT(message_packet(reply).reason(), HasSubstr("send less at once"));
  Trigger trigger{.options = {.duration_ns = 1, .output = "/tmp/a"}};
  trigger.selection.names.assign(20, std::string(kLongestText, 'x'));
  EXPECT_THAT(message_packet(trigger).reason(), HasSubstr("selection is too long"));
}

TEST(MessageTest, ReaderEnforcesTheLimits) {
  constexpr uint16_t kTooMany = 8 * (kMaxItems + 1);
  base::ByteWriter out;
  out.append(*message_packet(History{1}));
  out.truncate(kMessageHeaderBytes);
  for (const uint16_t word : {uint16_t{1}, static_cast<uint16_t>(4 + kTooMany), uint16_t{1}, kTooMany}) out.fixed(word);
  for (size_t i = 0; i <= kMaxItems; ++i) out.fixed(uint64_t{1});
  std::vector<std::byte> list(out.bytes().begin(), out.bytes().end());
  list = with(list, 4, static_cast<uint16_t>(MessageType::List));
  EXPECT_EQ(read_message(with_fields(list, {})).reason, "List: selection pids has too many items");
}

TEST(MessageTest, ExactlyOneKindOfWindowIsAllowed) {
  TraceOptions options;
  options.output = "/tmp/a.kymo";
  EXPECT_THAT(message_packet(Start{1, options}).reason(), HasSubstr("0 of duration, iterations and last"));
  options.duration_ns = 1;
  EXPECT_TRUE(message_packet(Start{1, options}));
  EXPECT_THAT(message_packet(Start{0, options}).reason(), HasSubstr("id is not 0"));
  options.iteration_roundup = 5;
  EXPECT_FALSE(message_packet(Start{1, options}));
  options.iterations = 5;
  EXPECT_FALSE(message_packet(Start{1, options}));
  options.duration_ns = 0;
  EXPECT_TRUE(message_packet(Start{1, options}));
  options = {.last_ns = kLongestTraceNs + 1, .output = "/tmp/a.kymo"};
  EXPECT_THAT(message_packet(Start{1, options}).reason(), HasSubstr("seven days"));
  options = {.start_at_ns = 1, .last_ns = 5, .output = "/tmp/a.kymo"};
  EXPECT_FALSE(message_packet(Start{1, options}));
  options = {.duration_ns = 5, .output = "a.kymo"};
  EXPECT_THAT(message_packet(Start{1, options}).reason(), HasSubstr("absolute path"));
}

TEST(MessageTest, ContradictoryMessagesAreRefused) {
  EXPECT_FALSE(message_packet(Hello{}));  // without a pid
  EXPECT_FALSE(message_packet(Hello{.version = 1, .oldest_version = 2, .pid = 5}));
  EXPECT_FALSE(message_packet(Status{1, RequestState::Writing, 1001, ""}));
  EXPECT_FALSE(message_packet(Done{{.state = RequestState::Recording}, 1}));
  const TraceOptions by_iterations{.iterations = 1, .output = "/tmp/a"};
  EXPECT_FALSE(message_packet(Start{1, by_iterations, RequestKind::Memory}));
  EXPECT_FALSE(message_packet(Trigger{.options = by_iterations, .kind = RequestKind::Memory}));
}

TEST(MessageTest, CommonVersionIsTheNewestThatBothSupport) {
  const Hello hello{.version = 5, .oldest_version = 3, .pid = 1};
  EXPECT_EQ(common_version(hello, 1, 4), 4u);
  EXPECT_EQ(common_version(hello, 1, 9), 5u);
  EXPECT_EQ(common_version(hello, 1, 2), 0u);
  EXPECT_EQ(common_version(hello, 6, 9), 0u);
  EXPECT_EQ(common_version(Hello{}), kProtocolVersion);
}

TEST(MessageTest, DifferentVersionsAreExplainedInOneLine) {
  EXPECT_EQ(versions_differ("the program", 1, "kymod", 2),
            "the program has version 1 of Kymo's protocol, but kymod has version 2; update the program");
  EXPECT_EQ(versions_differ("the program", 3, "kymod", 2),
            "the program has version 3 of Kymo's protocol, but kymod has version 2; update kymod");
}

}  // namespace
}  // namespace kymo::wire
