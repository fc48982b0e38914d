#include "sample/perf_record.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <string>
#include <string_view>
#include <vector>

namespace kymo::sample {
namespace {

// Records that a kernel (6.18, x86-64) wrote for `sh -c '/bin/true; …'`, with copies of stacks of 32 bytes.
const RecordLayout kLayout{PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
                               PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
                           3};
constexpr std::string_view kExec = "0300000000202800c3430000c34300007368000000000000c3430000c3430000c1fc3a3652370000";
constexpr std::string_view kMap =
    "0a00000002406800c3430000c343000000005489395600000030010000000000004000000000000014000000be6397ddffc3e384c505d7de"
    "ab3bed190c884df905000000020000002f7573722f62696e2f64617368000000c3430000c3430000f3613b3652370000";
constexpr std::string_view kKernelSample =
    "090000000100b0006c8f7b81ffffffffc3430000c34300002c033e3652370000070000000000000080ffffffffffffff6c8f7b81ffffffff"
    "4deb6b81ffffffffd9ee6b81ffffffffa3f56b81ffffffff11a01e82ffffffff30010081ffffffff0200000000000000f8a1bfc4d07f0000"
    "181ed75efd7f00002a69bec4d07f000020000000000000005c09bdc4d07f0000000000000000000000000000000000000000000000000000"
    "2000000000000000";
constexpr std::string_view kSample =
    "0900000002007800900bbec4d07f0000c3430000c3430000e800413652370000000000000000000002000000000000000000000000000000"
    "402dd75efd7f0000900bbec4d07f000020000000000000000300000000000000563ad75efd7f0000593ad75efd7f00005c3ad75efd7f0000"
    "2000000000000000";
constexpr std::string_view kFork =
    "0700000000003000c4430000c3430000c4430000c3430000f47e423652370000c3430000c34300005e7d423652370000";
constexpr std::string_view kSwitchOut = "0e00000000201800c3430000c343000087a1423652370000";
constexpr std::string_view kSwitchIn = "0e00000000001800c4430000c44300000ba5423652370000";
constexpr std::string_view kExit =
    "0400000000003000c4430000c3430000c4430000c343000082c5473652370000c4430000c4430000adc4473652370000";

std::vector<std::byte> bytes_of(std::string_view hexadecimal) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hexadecimal.substr(i, 2)), nullptr, 16)));
  return bytes;
}

// Keeps the bytes that the record points into.
struct Decoded {
  explicit Decoded(std::string_view hexadecimal)
      : bytes(bytes_of(hexadecimal)), record(*decode_record(bytes, kLayout)) {}
  std::vector<std::byte> bytes;
  Record record;
};

TEST(PerfRecordTest, NameOfAProgram) {
  const Decoded exec(kExec);
  EXPECT_EQ(exec.record.kind, RecordKind::Name);
  EXPECT_TRUE(exec.record.is_exec);
  EXPECT_EQ(exec.record.text, "sh");
  EXPECT_EQ(exec.record.pid, 0x43c3u);
  EXPECT_EQ(exec.record.tid, 0x43c3u);
  EXPECT_EQ(exec.record.time, 0x3752363afcc1u);
}

TEST(PerfRecordTest, MappedFileHasItsBuildId) {
  const Decoded map(kMap);
  EXPECT_EQ(map.record.kind, RecordKind::Map);
  EXPECT_TRUE(map.record.is_code);
  EXPECT_EQ(map.record.text, "/usr/bin/dash");
  EXPECT_EQ(map.record.begin, 0x563989540000u);
  EXPECT_EQ(map.record.length, 0x13000u);
  EXPECT_EQ(map.record.file_offset, 0x4000u);
  ASSERT_EQ(map.record.build_id.size(), 20u);
  EXPECT_EQ(map.record.build_id[0], std::byte{0xbe});
  EXPECT_EQ(map.record.build_id[19], std::byte{0xf9});
  EXPECT_EQ(map.record.inode, 0u);
}

TEST(PerfRecordTest, SampleInTheKernelHasBothParts) {
  const Decoded sample(kKernelSample);
  EXPECT_EQ(sample.record.kind, RecordKind::Sample);
  EXPECT_EQ(sample.record.instruction, 0xffffffff817b8f6cu);
  ASSERT_EQ(sample.record.chain.size(), 7u);
  EXPECT_EQ(sample.record.chain[0], static_cast<uint64_t>(PERF_CONTEXT_KERNEL));
  EXPECT_EQ(sample.record.chain[6], 0xffffffff81000130u);
  ASSERT_EQ(sample.record.registers.size(), 3u);
  EXPECT_EQ(sample.record.registers[1], 0x7ffd5ed71e18u) << "the stack pointer";
  EXPECT_EQ(sample.record.registers[2], 0x7fd0c4be692au) << "the instruction";
  EXPECT_EQ(sample.record.stack.size(), 32u);
  EXPECT_TRUE(sample.record.is_cut);
}

TEST(PerfRecordTest, SampleOfAProgram) {
  const Decoded sample(kSample);
  EXPECT_EQ(sample.record.time, 0x3752364100e8u);
  EXPECT_EQ(sample.record.chain.size(), 0u);
  EXPECT_EQ(sample.record.registers[2], sample.record.instruction);
  EXPECT_EQ(base::load<uint64_t>(sample.record.stack.data()), 3u);
}

// Made by hand: the number of the event, the instruction, process and thread, time, address.
TEST(PerfRecordTest, SampleHasTheCauseOfItsEvent) {
  const RecordLayout layout{
      PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
      0,
      {{7, Cause::Wait}, {9, Cause::Wait}}};
  const auto sample_of = [&](const std::string& event) {
    const std::vector<std::byte> bytes = bytes_of("0900000002003000" + event + "00000000000000" + "0010000000000000" +
                                                  "0100000002000000" + "0300000000000000" + "00f0000000000000");
    return *decode_record(bytes, layout);
  };
  EXPECT_EQ(sample_of("08").cause, Cause::Clock);
  EXPECT_EQ(sample_of("07").cause, Cause::Wait);
  EXPECT_EQ(sample_of("09").cause, Cause::Wait);
  EXPECT_EQ(sample_of("09").tid, 2u);
}

// Made by hand: the number of the event, process and thread, time, and the data of the tracepoint with their length.
TEST(PerfRecordTest, WakeUpHasBothThreads) {
  const RecordLayout layout{PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_PERIOD,
                            3,
                            {{7, Cause::WakeUp}},
                            {1, 0, 4}};
  const std::string head =
      "0900000002003000"
      "0700000000000000"
      "0100000002000000"
      "0300000000000000";
  const std::vector<std::byte> bytes = bytes_of(head +
                                                "0c000000"
                                                "000000000500000000000000");
  const std::optional<Record> record = decode_record(bytes, layout);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->cause, Cause::WakeUp);
  EXPECT_EQ(record->pid, 1u);
  EXPECT_EQ(record->tid, 2u);
  EXPECT_EQ(record->time, 3u);
  EXPECT_EQ(record->woken, 5u);
  const std::optional<Record> timer = decode_record(bytes_of(head + "0c000000"
                                                                    "080000000500000000000000"),
                                                    layout);
  ASSERT_TRUE(timer);
  EXPECT_EQ(timer->tid, 0u);
  EXPECT_EQ(timer->woken, 5u);
  EXPECT_FALSE(decode_record(bytes_of(head + "ffffffff"
                                             "000000000500000000000000"),
                             layout));
}

TEST(PerfRecordTest, LifeOfAThread) {
  const Decoded fork(kFork), out(kSwitchOut), in(kSwitchIn), exit(kExit);
  EXPECT_EQ(fork.record.kind, RecordKind::Fork);
  EXPECT_EQ(fork.record.pid, 0x43c4u);
  EXPECT_EQ(fork.record.parent_pid, 0x43c3u);
  EXPECT_EQ(out.record.kind, RecordKind::SwitchOut);
  EXPECT_EQ(out.record.tid, 0x43c3u);
  EXPECT_FALSE(out.record.is_preempted);
  EXPECT_EQ(in.record.kind, RecordKind::SwitchIn);
  EXPECT_LT(out.record.time, in.record.time);
  EXPECT_EQ(exit.record.kind, RecordKind::Exit);
  EXPECT_EQ(exit.record.tid, 0x43c4u);
}

TEST(PerfRecordTest, LossesAreCounted) {
  // Made by hand: type 2, 40 bytes, id 7, 5 records lost, then whom and when.
  const Decoded lost("0200000000002800070000000000000005000000000000000100000002000000aa00000000000000");
  EXPECT_EQ(lost.record.kind, RecordKind::Lost);
  EXPECT_EQ(lost.record.lost, 5u);
  EXPECT_EQ(lost.record.tid, 2u);
}

TEST(PerfRecordTest, RecordThatIsCutOffAnywhereIsRefusedOrShort) {
  for (const std::string_view text : {kExec, kMap, kKernelSample, kSample, kFork, kSwitchOut, kExit}) {
    const std::vector<std::byte> whole = bytes_of(text);
    for (size_t length = 0; length < whole.size(); ++length) {
      const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
      const auto record = decode_record(part, kLayout);
      if (record && record->kind == RecordKind::Sample) ADD_FAILURE() << "a sample of " << length << " bytes";
    }
  }
}

TEST(PerfRecordTest, LengthsThatDoNotFitAreRefused) {
  std::vector<std::byte> chain = bytes_of(kKernelSample);
  base::store<uint64_t>(chain.data() + 32, uint64_t{1} << 61);
  EXPECT_FALSE(decode_record(chain, kLayout));
  std::vector<std::byte> stack = bytes_of(kSample);
  base::store<uint64_t>(stack.data() + 72, ~uint64_t{0});
  EXPECT_FALSE(decode_record(stack, kLayout));
}

TEST(PerfRecordTest, LayoutWithUnknownFieldsIsRefused) {
  EXPECT_FALSE(decode_record(bytes_of(kSample), {PERF_SAMPLE_BRANCH_STACK, 0}));
}

}  // namespace
}  // namespace kymo::sample
