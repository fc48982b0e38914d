// The slow path of a store. This test acts as the collector: it moves the tails, or does not.
#include "record/slow_path.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/test_wait.h"
#include "record/layout.h"
#include "record/ring.h"
#include "record/slots.h"
#include "record/store.h"

namespace kymo::record {
namespace {

struct Record {
  Kind kind;
  uint32_t class_id;
  uint64_t place, cells;
  std::vector<uint64_t> payload;
};

class SlowPathTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (folder_.empty()) return;
    stop_recording(shared_);
    shared_.segment = nullptr;
    unmap_segment(shared_.mapping);
    shared_.mapping = {};
    unsetenv("KYMO_SHM_DIR");
    std::filesystem::remove_all(folder_);
  }

  // Starts a recording with the smallest rings, and calls `body` on a thread that ends before it does.
  void record_with(RingPolicy policy, const std::function<void()>& body) {
    char pattern[] = "/tmp/kymo-slow-path-test-XXXXXX";
    folder_ = mkdtemp(pattern);
    setenv("KYMO_SHM_DIR", folder_.c_str(), 1);
    shared_.options = {};
    shared_.options.policy = policy;
    shared_.options.ring_bytes = kMinRingBytes;
    const Outcome made = ensure_segment(shared_);
    ASSERT_TRUE(made) << made.why();
    start_recording(shared_);
    std::thread([&] {
      slot_ = find_slot();
      ASSERT_NE(slot_, nullptr);
      body();
    }).join();
  }

  SegmentHeader& header() { return *shared_.segment.load(); }
  uint64_t capacity() const { return slot_->mask + 1; }
  uint64_t block() const { return capacity() / kBlocks; }
  uint32_t lost(uint32_t cause) const { return slot_->losses[cause].load(); }

  // Like a store when the fast path finds no space. False: the record must not be stored.
  bool store(Kind kind, uint32_t payload_cells = 0, uint32_t class_id = 1) {
    slot_->busy = 1;
    Slot* const with_room = make_room(slot_, kind, 0, 1 + payload_cells);
    if (with_room == nullptr) {
      EXPECT_EQ(slot_->busy, 0u);
      return false;
    }
    slot_ = with_room;
    EXPECT_EQ(slot_->busy, 1u);
    const std::vector<uint64_t> payload(2 * size_t{payload_cells}, 42);
    push_cells(*slot_, kind, class_id, payload.data(), payload_cells);
    slot_->busy = 0;
    return true;
  }
  // Stores until the ring is full. Returns the number of stored records.
  uint64_t fill(Kind kind = Kind::Instant) {
    uint64_t stored = 0;
    while (store(kind)) {
      if (++stored > 2 * capacity()) {
        ADD_FAILURE() << "the ring is never full";
        break;
      }
    }
    return stored;
  }

  void read_everything() { slot_->tail = slot_->head.load(); }
  // The records in the ring from `from` on, without padding.
  std::vector<Record> records(uint64_t from) const {
    std::vector<Record> found;
    for (uint64_t at = from; at < slot_->head;) {
      const uint64_t word = slot_->cells[at & slot_->mask].word;
      Record record{kind_of(word), class_of(word), at, 1 + uint64_t{payload_cells_of(word)}, {}};
      for (uint64_t i = 1; record.kind != Kind::Pad && i < record.cells; ++i) {
        record.payload.push_back(slot_->cells[(at + i) & slot_->mask].time);
        record.payload.push_back(slot_->cells[(at + i) & slot_->mask].word);
      }
      at += record.cells;
      if (record.kind != Kind::Pad) found.push_back(record);
    }
    return found;
  }
  static std::vector<Kind> kinds(const std::vector<Record>& records) {
    std::vector<Kind> kinds;
    for (const Record& record : records) kinds.push_back(record.kind);
    return kinds;
  }

  Process& shared_ = *process();
  Slot* slot_ = nullptr;
  std::string folder_;
};

TEST_F(SlowPathTest, TheFirstRecordOfAThreadIdentifiesTheOwnerOfTheRing) {
  record_with(RingPolicy::Block, [&] {
    ASSERT_TRUE(store(Kind::Instant, 1, 9));
    const std::vector<Record> all = records(0);
    ASSERT_EQ(kinds(all), (std::vector{Kind::Sync, Kind::ThreadBegin, Kind::ThreadName, Kind::Instant}));
    EXPECT_EQ(all[0].payload[0], header().epoch.load());
    EXPECT_EQ(all[1].payload[0], slot_->tid.load());
    EXPECT_EQ(all[3].class_id, 9u);
    EXPECT_EQ(all[3].payload, (std::vector<uint64_t>{42, 42}));
  });
}

#if defined(__x86_64__)
TEST_F(SlowPathTest, WithoutACounterTheFastPathStoresNothing) {
  record_with(RingPolicy::Block, [&] {
    const bool before = tsc_is_invariant;
    ASSERT_TRUE(store(Kind::Instant));
    EXPECT_TRUE(!before || try_store<0>(slot_, Kind::Instant, 1, nullptr));
    tsc_is_invariant = false;
    ASSERT_TRUE(store(Kind::Instant));
    EXPECT_FALSE(try_store<0>(slot_, Kind::Instant, 1, nullptr));
    ASSERT_TRUE(store(Kind::Instant, 2));
    EXPECT_FALSE(try_store<0>(slot_, Kind::Instant, 1, nullptr));
    EXPECT_FALSE(try_store<1>(slot_, Kind::Instant, 1, std::array<uint64_t, 2>{}.data()));
    tsc_is_invariant = before;
  });
}
#endif

TEST_F(SlowPathTest, NoRecordCrossesTheEndOfABlock) {
  record_with(RingPolicy::Block, [&] {
    uint64_t stored = 0, seen = 0, from = 0;
    for (int round = 0; round < 300; ++round) {
      for (uint32_t payload : {0, 2, 6, 30}) {
        ASSERT_TRUE(store(Kind::Instant, payload));
        ++stored;
      }
      for (const Record& record : records(from)) {
        EXPECT_EQ(record.place / block(), (record.place + record.cells - 1) / block());
        seen += record.kind == Kind::Instant ? 1 : 0;
      }
      from = slot_->head;
      read_everything();
    }
    EXPECT_EQ(seen, stored);
    EXPECT_GT(from, 2 * capacity()) << "several times around";
  });
}

TEST_F(SlowPathTest, AFullRingDropsAndTheNextRecordThatFitsReportsTheCount) {
  record_with(RingPolicy::Drop, [&] {
    const uint64_t stored = fill();
    EXPECT_LE(stored, capacity());
    EXPECT_GT(stored, capacity() - block());
    EXPECT_FALSE(store(Kind::Instant));
    EXPECT_EQ(lost(kLossRingFull), 2u);
    const uint64_t head = slot_->head;
    read_everything();
    ASSERT_TRUE(store(Kind::Instant));
    const std::vector<Record> after = records(head);
    ASSERT_EQ(kinds(after), (std::vector{Kind::Loss, Kind::Instant}));
    EXPECT_EQ(after[0].payload[0], kLossRingFull);
    EXPECT_EQ(after[0].payload[1], 2u);
    EXPECT_LE(after[0].payload[2], after[0].payload[3]);
    EXPECT_EQ(lost(kLossRingFull), 0u);
  });
}

TEST_F(SlowPathTest, ARangeWhoseStartWasDroppedIsDroppedCompletely) {
  record_with(RingPolicy::Drop, [&] {
    fill();
    EXPECT_FALSE(store(Kind::Begin));
    read_everything();
    const uint64_t head = slot_->head;
    EXPECT_FALSE(store(Kind::Begin)) << "a range within it, though there is room now";
    EXPECT_FALSE(store(Kind::End));
    EXPECT_FALSE(store(Kind::End));
    ASSERT_TRUE(store(Kind::Begin));
    ASSERT_TRUE(store(Kind::End));
    EXPECT_EQ(kinds(records(head)), (std::vector{Kind::Loss, Kind::Begin, Kind::End}));
    EXPECT_EQ(records(head)[0].payload[1], 3u) << "one instant and two ranges; ends are not events";
  });
}

TEST_F(SlowPathTest, TheEndOfARangeInTheRingIsNeverLost) {
  record_with(RingPolicy::Drop, [&] {
    constexpr uint64_t kOpen = 3 * kSideCells;  // more ends than fit into the side buffer
    for (uint64_t i = 0; i < kOpen; ++i) ASSERT_TRUE(store(Kind::Begin));
    fill();
    for (uint64_t i = 0; i < kOpen; ++i) EXPECT_FALSE(store(Kind::End));
    EXPECT_EQ(slot_->side_count, kSideCells);
    EXPECT_EQ(slot_->lost_ends, kOpen - kSideCells);
    const uint64_t head = slot_->head;
    read_everything();
    ASSERT_TRUE(store(Kind::Instant));
    const std::vector<Kind> after = kinds(records(head));
    EXPECT_EQ(std::count(after.begin(), after.end(), Kind::End), static_cast<ptrdiff_t>(kOpen));
    EXPECT_EQ(after.back(), Kind::Instant);
    EXPECT_EQ(lost(kLossRingFull) + lost(kLossSignalBufferFull), 0u);
  });
}

TEST_F(SlowPathTest, PolicyOverwriteAlwaysHasSpace) {
  record_with(RingPolicy::Overwrite, [&] {
    for (uint64_t i = 0; i < 3 * capacity(); ++i) ASSERT_TRUE(store(Kind::Instant));
    EXPECT_GT(slot_->head, 3 * capacity());
    EXPECT_EQ(slot_->tail, 0u);
    EXPECT_EQ(slot_->loss_pending, 0u);
  });
}

TEST_F(SlowPathTest, PolicyBlockWaitsWhileTheCollectorMakesProgress) {
  record_with(RingPolicy::Block, [&] {
    ASSERT_TRUE(store(Kind::Instant));
    while (slot_->head + 1 <= capacity()) ASSERT_TRUE(store(Kind::Instant));
    const uint64_t head = slot_->head;
    std::thread collector([&] {
      base::wait_until("a blocked thread", [&] { return header().blocked_producers != 0; });
      ++header().progress;
      read_everything();
      ++header().progress;
    });
    EXPECT_TRUE(store(Kind::Instant));
    collector.join();
    EXPECT_EQ(kinds(records(head)), (std::vector{Kind::Blocked, Kind::Instant}));
    EXPECT_GT(slot_->blocked_ticks, 0u);
    EXPECT_EQ(slot_->loss_pending, 0u);
  });
}

TEST_F(SlowPathTest, AThreadWaitsOnlyOnceForAStalledCollector) {
  record_with(RingPolicy::Block, [&] {
    while (slot_->index == kPrivateSlot || slot_->head + 1 <= capacity()) ASSERT_TRUE(store(Kind::Instant));
    EXPECT_FALSE(store(Kind::Instant)) << "after a second of patience";
    const uint64_t before = base::monotonic_ns();
    constexpr int kMore = 1000;
    for (int i = 0; i < kMore; ++i) EXPECT_FALSE(store(Kind::Instant));
    EXPECT_LT(base::monotonic_ns() - before, kMore * kStallTimeoutNs / 10) << "not a second for each";
    EXPECT_EQ(lost(kLossCollectorStalled), 1u + kMore);
    const uint64_t head = slot_->head;
    read_everything();
    EXPECT_TRUE(store(Kind::Instant)) << "it moves again";
    EXPECT_EQ(kinds(records(head)), (std::vector{Kind::Loss, Kind::Instant}));
  });
}

TEST_F(SlowPathTest, AClosedSegmentEndsTheRecording) {
  record_with(RingPolicy::Block, [&] {
    while (slot_->index == kPrivateSlot || slot_->head + 1 <= capacity()) ASSERT_TRUE(store(Kind::Instant));
    header().closed = 1;
    EXPECT_FALSE(store(Kind::Instant));
    EXPECT_FALSE(recording());
    EXPECT_EQ(slot_->loss_pending, 0u) << "there is nobody to count it for";
  });
}

TEST_F(SlowPathTest, RecordsInTheSideBufferGoFirst) {
  record_with(RingPolicy::Block, [&] {
    ASSERT_TRUE(store(Kind::Instant));
    const uint64_t head = slot_->head;
    slot_->busy = 1;  // the handler finds its thread inside a store
    const uint64_t payload[2] = {7, 8};
    store_aside(*slot_, Kind::Counter, 5, payload, 1);
    EXPECT_EQ(slot_->side_count, 2u);
    EXPECT_EQ(slot_->limit, 0u) << "so that the next store looks";
    EXPECT_EQ(slot_->busy, 1u);
    ASSERT_TRUE(store(Kind::Instant));
    const std::vector<Record> after = records(head);
    ASSERT_EQ(kinds(after), (std::vector{Kind::Counter, Kind::Instant}));
    EXPECT_EQ(after[0].class_id, 5u);
    EXPECT_EQ(after[0].payload, (std::vector<uint64_t>{7, 8}));
    EXPECT_EQ(slot_->side_count, 0u);
  });
}

TEST_F(SlowPathTest, TheSideBufferTakesARangeOnlyWithSpaceForItsEnd) {
  record_with(RingPolicy::Block, [&] {
    ASSERT_TRUE(store(Kind::Instant));
    const uint64_t head = slot_->head;
    constexpr uint32_t kTaken = kSideCells / 2, kTried = kTaken + 5;
    slot_->busy = 1;
    for (uint32_t i = 0; i < kTried; ++i) store_aside(*slot_, Kind::Begin, 1, nullptr, 0);
    EXPECT_EQ(slot_->side_count, kTaken);
    EXPECT_EQ(lost(kLossSignalBufferFull), kTried - kTaken);
    for (uint32_t i = 0; i < kTried; ++i) store_aside(*slot_, Kind::End, 0, nullptr, 0);
    EXPECT_EQ(slot_->side_count, kSideCells);
    EXPECT_EQ(slot_->lost_ends, 0u);
    ASSERT_TRUE(store(Kind::Instant));
    const std::vector<Kind> after = kinds(records(head));
    EXPECT_EQ(std::count(after.begin(), after.end(), Kind::Begin), std::count(after.begin(), after.end(), Kind::End));
    EXPECT_EQ(std::count(after.begin(), after.end(), Kind::Loss), 1);
  });
}

TEST_F(SlowPathTest, AHandlerInsideAHandlerIsCounted) {
  record_with(RingPolicy::Block, [&] {
    ASSERT_TRUE(store(Kind::Instant));
    slot_->busy = 2;  // the second handler interrupts the store of the first one
    store_aside(*slot_, Kind::Instant, 1, nullptr, 0);
    EXPECT_EQ(slot_->side_count, 0u);
    EXPECT_EQ(lost(kLossSignalBufferFull), 1u);
    EXPECT_EQ(slot_->busy, 2u);
    slot_->busy = 0;
  });
}

TEST_F(SlowPathTest, ANewRecordingStartsWithTheDepth) {
  record_with(RingPolicy::Block, [&] {
    ASSERT_TRUE(store(Kind::Instant));
    const uint64_t head = slot_->head;
    slot_->depth = 4;
    start_recording(shared_);
    ASSERT_TRUE(store(Kind::Instant));
    slot_->depth = 0;
    const std::vector<Record> after = records(head);
    ASSERT_EQ(kinds(after), (std::vector{Kind::Sync, Kind::ThreadBegin, Kind::ThreadName, Kind::Instant}));
    EXPECT_EQ(after[0].payload, (std::vector<uint64_t>{header().epoch, 4}));
  });
}

TEST_F(SlowPathTest, TheEndOfAThreadWritesItsPendingRecords) {
  record_with(RingPolicy::Block, [&] {
    ASSERT_TRUE(store(Kind::Instant));
    const uint64_t head = slot_->head;
    count_loss(*slot_, kLossUnmatchedPop, 3);
    slot_->busy = 1;
    store_aside(*slot_, Kind::Instant, 2, nullptr, 0);
    slot_->busy = 0;
    end_owner(*slot_, header());
    const std::vector<Record> after = records(head);
    ASSERT_EQ(kinds(after), (std::vector{Kind::Instant, Kind::Loss, Kind::ThreadEnd}));
    EXPECT_EQ(after[1].payload[0], kLossUnmatchedPop);
    EXPECT_EQ(after[1].payload[1], 3u);
  });
}

TEST_F(SlowPathTest, ThreadsOneAfterTheOtherShareARingThatNobodyReads) {
  record_with(RingPolicy::Block, [&] { ASSERT_TRUE(store(Kind::Instant)); });
  Slot* const first = slot_;
  const auto run_thread = [&] {
    std::thread([&] {
      slot_ = find_slot();
      ASSERT_TRUE(store(Kind::Instant));
    }).join();
  };
  for (int i = 0; i < 20; ++i) {
    run_thread();
    EXPECT_EQ(slot_, first);
  }
  EXPECT_EQ(header().slots_used, 1u);
  EXPECT_EQ(header().retired_slots, 1u);
  // The next owner must not overtake the reader.
  while (first->head * 2 < capacity()) run_thread();
  run_thread();
  EXPECT_NE(slot_, first);
  EXPECT_EQ(header().slots_used, 2u);
}

TEST_F(SlowPathTest, RingOfAFlightRecorderKeepsTheRecordsOfAnEndedThread) {
  record_with(RingPolicy::Overwrite, [&] { ASSERT_TRUE(store(Kind::Instant)); });
  Slot* const first = slot_;
  std::thread([&] {
    slot_ = find_slot();
    ASSERT_TRUE(store(Kind::Instant));
  }).join();
  EXPECT_NE(slot_, first);
}

}  // namespace
}  // namespace kymo::record
