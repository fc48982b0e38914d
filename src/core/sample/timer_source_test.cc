// The memory that programs share with the recorder, with packets that a program could have written.
#include "sample/timer_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"
#include "sample/preload/packets.h"

namespace kymo::sample {
namespace {

class TimerSourceTest : public ::testing::Test {
 protected:
  TimerSourceTest() {
    const base::FileDescriptor file(open(source_.environment().at(0).second.c_str(), O_RDWR | O_CLOEXEC));
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0) return;
    bytes_ = static_cast<size_t>(status.st_size);
    memory_ = static_cast<std::byte*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
  }
  ~TimerSourceTest() override { munmap(memory_, bytes_); }

  kymo_packets& header() { return *reinterpret_cast<kymo_packets*>(memory_); }
  kymo_slot& slot(uint64_t index) {
    return *reinterpret_cast<kymo_slot*>(memory_ + KYMO_PACKETS_HEADER_BYTES + index * KYMO_SLOT_BYTES);
  }
  // A record of the exit of a thread.
  static std::vector<std::byte> exit_record(uint32_t tid, uint64_t cpu_ns) {
    struct {
      perf_event_header header;
      uint32_t pid, parent, tid, parent_tid;
      uint64_t time, cpu_ns;
      uint32_t trailer_pid, trailer_tid;
      uint64_t trailer_time;
    } record = {{PERF_RECORD_EXIT, 0, sizeof record}, 7, 0, tid, 0, 100, cpu_ns, 7, tid, 100};
    std::vector<std::byte> bytes(sizeof record);
    std::memcpy(bytes.data(), &record, sizeof record);
    return bytes;
  }
  void put(uint64_t index, uint64_t number, const std::vector<std::byte>& records) {
    std::memcpy(&slot(index) + 1, records.data(), records.size());
    slot(index).number = number;
    slot(index).bytes = records.size();
    slot(index).state = KYMO_SLOT_READY;
  }
  std::vector<Record> read(bool is_last = false) {
    std::vector<Record> all;
    source_.read(is_last, [&all](const Record& record) { all.push_back(record); });
    return all;
  }

  TimerSource source_{1000};
  std::byte* memory_ = nullptr;
  size_t bytes_ = 0;
};

TEST_F(TimerSourceTest, PacketsAreHandledInTheOrderOfTheirNumbers) {
  put(0, 12, exit_record(12, 5));
  put(3, 10, exit_record(10, 0));
  std::vector<std::byte> two = exit_record(11, 0);
  const std::vector<std::byte> second = exit_record(111, 0);
  two.insert(two.end(), second.begin(), second.end());
  put(1, 11, two);
  const std::vector<Record> records = read();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].tid, 10u);
  EXPECT_EQ(records[1].tid, 11u);
  EXPECT_EQ(records[2].tid, 111u);
  EXPECT_EQ(records[3].tid, 12u);
  EXPECT_EQ(records[3].cpu_ns, 5u);
  EXPECT_EQ(slot(0).state, uint64_t{KYMO_SLOT_FREE});
  EXPECT_TRUE(read().empty());
}

TEST_F(TimerSourceTest, DamagedPacketsAreCountedAndTheirSlotsAreFree) {
  std::vector<std::byte> longer = exit_record(1, 0);
  longer[offsetof(perf_event_header, size)] = std::byte{0xFF};
  put(0, 0, longer);
  put(1, 1, std::vector<std::byte>(5));
  put(2, 2, exit_record(2, 0));
  slot(2).bytes = ~uint64_t{0};  // what follows the record is not one
  uint64_t damaged = 0, exits = 0;
  for (const Record& record : read()) {
    damaged += record.kind == RecordKind::Damaged ? record.lost : 0;
    exits += record.kind == RecordKind::Exit ? 1 : 0;
  }
  EXPECT_EQ(damaged, 3u);
  EXPECT_EQ(exits, 1u);
  for (const uint64_t index : {0, 1, 2}) EXPECT_EQ(slot(index).state, uint64_t{KYMO_SLOT_FREE});
}

TEST_F(TimerSourceTest, SamplesWithoutSpaceAreLostOnce) {
  header().lost = 9;
  std::vector<Record> records = read();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kind, RecordKind::Lost);
  EXPECT_EQ(records[0].lost, 9u);
  EXPECT_TRUE(read().empty());
  header().lost = 11;
  records = read();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].lost, 2u);
}

TEST_F(TimerSourceTest, SlotOfAProcessThatWasKilledIsFreedAndCounted) {
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  waitpid(dead, nullptr, 0);
  const auto claimed = [](pid_t pid) { return static_cast<uint64_t>(pid) << KYMO_SLOT_PID_SHIFT | KYMO_SLOT_CLAIMED; };
  slot(0).state = claimed(dead);
  slot(1).state = claimed(getpid());
  const std::vector<Record> records = read();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kind, RecordKind::Lost);
  EXPECT_EQ(slot(0).state, uint64_t{KYMO_SLOT_FREE});
  EXPECT_EQ(slot(1).state, claimed(getpid())) << "this one may still be filled";
}

TEST_F(TimerSourceTest, MemoryCannotShrink) {
  const base::FileDescriptor file(open(source_.environment().at(0).second.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_NE(ftruncate(file.get(), 0), 0);
}

TEST_F(TimerSourceTest, RateIsThatOfTheClockOrLower) {
  EXPECT_LE(source_.hertz(), 1000u);
  EXPECT_EQ(TimerSource(10).hertz(), 10u);
  EXPECT_EQ(header().interval_ns, 1'000'000'000 / source_.hertz());
}

}  // namespace
}  // namespace kymo::sample
