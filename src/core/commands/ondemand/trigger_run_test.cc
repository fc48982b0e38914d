#include "commands/ondemand/trigger_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kymo::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using wire::RequestState;

constexpr uint64_t kProgressSecond = 1'000'000'000;

std::vector<wire::TriggerReply> two_targets() {
  return {{5, {{77, 9, RequestState::Queued, "/tmp/a-77.kymo", ""}}, "", true},
          {5, {{78, 10, RequestState::Queued, "/tmp/a-78.kymo", ""}}, "", false}};
}

TriggerProgress progress_of(const wire::TraceOptions& options, const std::vector<wire::TriggerReply>& replies) {
  TriggerProgress progress(options);
  progress.add(replies);
  return progress;
}

wire::TriggerUpdate update_of(int32_t pid, RequestState state, uint32_t left = 1) {
  return {{.state = state}, 5, pid, 0, left};
}

TEST(TriggerProgressTest, OverWhenEveryProcessHasEnded) {
  TriggerProgress progress = progress_of({.duration_ns = kProgressSecond}, two_targets());
  EXPECT_THAT(progress.trigger_ids(), ::testing::ElementsAre(5u));
  EXPECT_FALSE(progress.is_over());
  progress.take(update_of(77, RequestState::Finished), 1);
  EXPECT_FALSE(progress.is_over());
  progress.take(update_of(78, RequestState::Finished, 0), 1);
  EXPECT_TRUE(progress.is_over());
  EXPECT_TRUE(progress.all_good());
}

TEST(TriggerProgressTest, BusyProcessIsNotSuccess) {
  TriggerProgress progress = progress_of({.duration_ns = kProgressSecond}, two_targets());
  progress.take(update_of(77, RequestState::Finished), 1);
  progress.take(update_of(78, RequestState::Busy, 0), 1);
  EXPECT_TRUE(progress.is_over());
  EXPECT_FALSE(progress.all_good());
}

TEST(TriggerProgressTest, BarFollowsTheClockIfProcessesReportNoProgress) {
  TriggerProgress progress = progress_of({.duration_ns = 10 * kProgressSecond}, two_targets());
  EXPECT_EQ(progress.bar(0), "░░░░░░░░░░░░░░░░░░░░   0 %  queued, 0 of 2 done");
  progress.take(update_of(77, RequestState::Recording), 100 * kProgressSecond);
  progress.take(update_of(78, RequestState::Recording), 100 * kProgressSecond);
  EXPECT_EQ(progress.bar(105 * kProgressSecond), "█████████░░░░░░░░░░░  45 %  recording, 0 of 2 done");
  progress.take(update_of(77, RequestState::Finished), 110 * kProgressSecond);
  progress.take(update_of(78, RequestState::Writing), 110 * kProgressSecond);
  EXPECT_EQ(progress.bar(111 * kProgressSecond), "███████████████████░  95 %  writing, 1 of 2 done");
}

TEST(TriggerProgressTest, NarrowTerminalShowsOnlyTheText) {
  const TriggerProgress progress = progress_of({.duration_ns = kProgressSecond}, two_targets());
  EXPECT_EQ(progress.bar(0, 40), "   0 %  queued, 0 of 2 done");
}

TEST(TriggerProgressTest, BarCountsDownToTheRequestedStart) {
  TriggerProgress progress =
      progress_of({.start_at_ns = 100 * kProgressSecond, .duration_ns = kProgressSecond}, two_targets());
  progress.take(update_of(77, RequestState::Waiting), 90 * kProgressSecond);
  progress.take(update_of(78, RequestState::Waiting), 90 * kProgressSecond);
  EXPECT_THAT(progress.bar(95 * kProgressSecond), HasSubstr("starts in 5.00 s, 0 of 2 done"));
}

TEST(TriggerProgressTest, TableHasALineForEachProcess) {
  TriggerProgress progress = progress_of({.duration_ns = kProgressSecond}, two_targets());
  auto written = update_of(77, RequestState::Finished);
  written.bytes = 1'200'000;
  written.events = 34'512;
  written.losses = 3;
  written.late_ns = 1'500'000;
  progress.take(written, 1);
  auto failed = update_of(78, RequestState::Failed, 0);
  failed.text = "the disk is full\n\x1b[31m";
  progress.take(failed, 1);
  EXPECT_EQ(progress.table(),
            "pid  state       size  events  lost     late  file or error\n"
            " 77  finished  1.2 MB  34,512     3  1.50 ms  /tmp/a-77.kymo\n"
            " 78  failed                                   the disk is full\\n\\x1b[31m\n");
}

TEST(TriggerProgressTest, ProcessesAreSortedByPid) {
  const TriggerProgress progress =
      progress_of({}, {{5, {{78, 9, RequestState::Queued, "", ""}, {7, 9, RequestState::Queued, "", ""}}}});
  ASSERT_EQ(progress.targets().size(), 2u);
  EXPECT_EQ(progress.targets()[0].pid, 7);
}

TEST(TriggerProgressTest, TableShowsWhyATraceIsShorterThanRequested) {
  TriggerProgress progress = progress_of({.duration_ns = kProgressSecond}, two_targets());
  auto written = update_of(77, RequestState::Finished);
  written.text = "the program ended";
  progress.take(written, 1);
  EXPECT_THAT(progress.table(), HasSubstr("/tmp/a-77.kymo (the program ended)\n"));
}

TEST(TriggerProgressTest, UnknownCountsAreShownAsADashOrNull) {
  TriggerProgress progress = progress_of({.duration_ns = kProgressSecond}, two_targets());
  auto written = update_of(77, RequestState::Finished);
  written.events = written.losses = wire::kUnknownCount;
  progress.take(written, 1);
  EXPECT_THAT(progress.table(), HasSubstr("finished   0 B       -     -  /tmp/a-77.kymo\n"));
  base::JsonWriter json(base::JsonWriter::Layout::OneLine);
  json.begin_object();
  progress.write(json);
  json.end_object();
  EXPECT_THAT(json.text(), HasSubstr(R"("events": null, "lost": null)"));
}

TEST(TriggerProgressTest, UpdatesOfOtherTriggersAndProcessesAreDropped) {
  TriggerProgress progress = progress_of({.duration_ns = kProgressSecond}, two_targets());
  auto foreign = update_of(77, RequestState::Finished, 0);
  foreign.trigger_id = 6;
  progress.take(foreign, 1);
  progress.take(update_of(79, RequestState::Finished), 1);
  EXPECT_FALSE(progress.is_over());
  EXPECT_EQ(progress.targets().size(), 2u);
  EXPECT_THAT(progress.bar(1), HasSubstr("0 of 2"));
}

TEST(TriggerProgressTest, JsonHasTheContentOfTheTable) {
  TriggerProgress progress = progress_of({.duration_ns = kProgressSecond}, two_targets());
  progress.take(update_of(77, RequestState::Finished), 1);
  base::JsonWriter json(base::JsonWriter::Layout::OneLine);
  json.begin_object();
  progress.write(json);
  json.end_object();
  EXPECT_THAT(json.text(), HasSubstr(R"("file": "/tmp/a-77.kymo")"));
  EXPECT_THAT(json.text(), HasSubstr(R"("state": "queued")"));
  EXPECT_THAT(json.text(), Not(HasSubstr("text")));
}

TEST(TriggerProgressTest, ProcessesOfTwoDaemonsAreKeptApart) {
  TriggerProgress progress = progress_of({.duration_ns = kProgressSecond}, two_targets());
  progress.add({{5, {{77, 9, RequestState::Queued, "/tmp/b-77.json", ""}}, "", false}});
  EXPECT_EQ(progress.targets().size(), 3u);
  progress.take(update_of(77, RequestState::Finished, 0), 1, 1);
  EXPECT_TRUE(progress.is_over_at(1));
  EXPECT_FALSE(progress.is_over_at(0));
  EXPECT_FALSE(progress.is_over());
  progress.take(update_of(77, RequestState::Failed), 1);
  progress.take(update_of(78, RequestState::Finished, 0), 1);
  EXPECT_TRUE(progress.is_over());
  EXPECT_FALSE(progress.all_good());
}

TEST(TriggerProgressTest, HintNamesAProcessThatWaitsForAnIteration) {
  TriggerProgress progress = progress_of({.iterations = 3}, two_targets());
  EXPECT_EQ(progress.hint(), "");
  auto waiting = update_of(78, RequestState::Waiting);
  waiting.text = "waits for an iteration to start";
  progress.take(waiting, 1);
  EXPECT_THAT(progress.hint(), HasSubstr("78 waits for an iteration to start; an iteration is a call of kymo::step()"));
  progress.take(update_of(78, RequestState::Recording), 1);
  EXPECT_EQ(progress.hint(), "");
  EXPECT_EQ(progress_of({.duration_ns = kProgressSecond}, two_targets()).hint(), "");
}

TEST(TriggerProgressTest, ProcessesThatPollAreNotWaitedForAfterAStop) {
  TriggerProgress progress =
      progress_of({.duration_ns = kProgressSecond},
                  {{5, {{77, 9, RequestState::Queued, "/tmp/a", "or /tmp/b", true}, {78, 10}}, "", false}});
  EXPECT_FALSE(progress.is_answered());
  progress.take(update_of(78, RequestState::Recording), 1);
  EXPECT_TRUE(progress.is_answered());
  EXPECT_THAT(progress.table(), HasSubstr("/tmp/a (or /tmp/b)\n"));
  EXPECT_FALSE(progress.is_over_except_polls());
  progress.take(update_of(78, RequestState::Finished), 1);
  EXPECT_TRUE(progress.is_over_except_polls());
  EXPECT_FALSE(progress.is_over());
}

}  // namespace
}  // namespace kymo::cli
