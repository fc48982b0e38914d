#include "cli/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace kymo::cli {
namespace {

using testing::HasSubstr;

constexpr int64_t kBegin = 1'700'000'000'000'000'000;

analyze::LossSummary loss_of(trace::LossCause cause, uint64_t count) {
  analyze::LossSummary loss;
  loss.cause = cause;
  loss.pid = 42;
  loss.track = "worker";
  loss.count = count;
  loss.first_realtime_ns = kBegin + 1'200'000'000;
  loss.last_realtime_ns = kBegin + 1'350'000'000;
  return loss;
}

analyze::Summary summary_with(analyze::LossSummary loss) {
  analyze::Summary summary;
  summary.begin_realtime_ns = kBegin;
  summary.processes.resize(1);
  summary.losses = {std::move(loss)};
  return summary;
}

std::string shown(const Ledger& ledger) {
  testing::internal::CaptureStderr();
  ledger.show();
  return testing::internal::GetCapturedStderr();
}

TEST(LedgerTest, EmptyLedgerPrintsNothing) {
  const Ledger ledger(analyze::Summary{});
  EXPECT_TRUE(ledger.empty());
  EXPECT_EQ(shown(ledger), "");
}

TEST(LedgerTest, LossIsPrinted) {
  const Ledger ledger(summary_with(loss_of(trace::LossCause::RingFull, 1'024)));
  EXPECT_FALSE(ledger.empty());
  EXPECT_EQ(shown(ledger),
            "lost: 1,024 events on thread 'worker' because its ring was full (policy drop), "
            "between +1.20 s and +1.35 s\n");
}

TEST(LedgerTest, ProcessIsNamedIfThereAreSeveral) {
  analyze::Summary summary = summary_with(loss_of(trace::LossCause::UnmatchedPop, 1));
  summary.processes.resize(2);
  EXPECT_THAT(shown(Ledger(summary)), HasSubstr("1 pop on thread 'worker' of process 42 without a push"));
}

TEST(LedgerTest, UnknownTimeIsOmitted) {
  analyze::LossSummary loss = loss_of(trace::LossCause::Clock, 2);
  loss.first_realtime_ns = loss.last_realtime_ns = 0;
  loss.detail = "device \x1b[0m";
  EXPECT_EQ(shown(Ledger(summary_with(loss))),
            "lost: 2 events on thread 'worker' because the time is not known or could not be converted: device "
            "\\x1b[0m\n");
}

TEST(LedgerTest, ALossBeforeTheFirstEventHasNoNegativeTime) {
  analyze::LossSummary loss = loss_of(trace::LossCause::RingFull, 3);
  loss.first_realtime_ns = kBegin - 5'000;
  EXPECT_THAT(shown(Ledger(summary_with(loss))), HasSubstr("(policy drop), from before the first event to +1.35 s\n"));
  loss.last_realtime_ns = kBegin - 1;
  EXPECT_THAT(shown(Ledger(summary_with(loss))), HasSubstr("(policy drop), before the first event\n"));
}

TEST(LedgerTest, LossesOfOneCauseAndProcessAreOneLine) {
  analyze::Summary summary = summary_with(loss_of(trace::LossCause::RingFull, 1));
  for (int i = 0; i < 1000; ++i) {
    summary.losses.push_back(loss_of(trace::LossCause::RingFull, 1));
    summary.losses.back().track = "worker " + std::to_string(i % 63);
    summary.losses.back().last_realtime_ns += i * 1'000'000;
  }
  const Ledger ledger(summary);
  EXPECT_EQ(
      shown(ledger),
      "lost: 1,001 events on 64 threads because their rings were full (policy drop), between +1.20 s and +2.35 s\n");
  EXPECT_EQ(ledger.count(trace::LossCause::RingFull), 1001u);
}

TEST(LedgerTest, DeviceQueueIsCalledQueue) {
  analyze::LossSummary loss = loss_of(trace::LossCause::RingFull, 1);
  loss.track_kind = trace::TrackKind::DeviceQueue;
  EXPECT_THAT(shown(Ledger(summary_with(loss))), HasSubstr("1 event on queue 'worker' because"));
}

TEST(LedgerTest, CauseOfANewerVersionIsStillPrinted) {
  EXPECT_THAT(shown(Ledger(summary_with(loss_of(trace::LossCause{999}, 3)))),
              HasSubstr("3 events on thread 'worker' for a reason this version does not know"));
}

TEST(LedgerTest, DamageIsPrinted) {
  analyze::Summary summary;
  summary.problems = {{4'096, 120, "120 bytes at 4096 are damaged"}};
  EXPECT_EQ(shown(Ledger(summary)), "damaged: 120 bytes at 4096 are damaged\n");
}

TEST(LedgerTest, LongLedgerIsTruncatedWithANote) {
  analyze::Summary summary;
  summary.problems.assign(30, {0, 1, "torn"});
  const std::string text = shown(Ledger(summary));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 20);
  EXPECT_THAT(text, HasSubstr("… and 11 more"));
}

TEST(LedgerTest, JsonHasTheFieldsOfALoss) {
  base::JsonWriter json(base::JsonWriter::Layout::OneLine);
  json.begin_object();
  Ledger(summary_with(loss_of(trace::LossCause::RingFull, 7))).write(json);
  json.end_object();
  EXPECT_THAT(json.text(), HasSubstr(R"("cause": "ring_full", "count": 7, "pid": 42, "track": "worker")"));
  EXPECT_THAT(json.text(), HasSubstr(R"("first_ns": 1200000000, "last_ns": 1350000000)"));
  EXPECT_THAT(json.text(), HasSubstr(R"("problems": [])"));
}

}  // namespace
}  // namespace kymo::cli
