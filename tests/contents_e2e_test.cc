// What is recorded is read back unchanged: names, arguments, counters, flows, threads; and within limits.
#include <algorithm>
#include <map>
#include <set>

#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

using trace::FieldType;
using trace::LossCause;
using trace::PointKind;

class ContentsTest : public EndToEnd {
 protected:
  Readback record(const std::string& what) {
    const Ending ending = run_traced(file("a.kymo"), {program("contents"), what});
    EXPECT_EQ(ending.code, 0) << ending.signal << ending.err;
    EXPECT_THAT(left_in_memory(), ::testing::IsEmpty());
    return read_back(file("a.kymo"), Detail::Arguments);
  }
};

TEST_F(ContentsTest, MoreNamesThanTheRegistryHoldsAreRecorded) {
  const Readback trace = record("names");
  EXPECT_TRUE(sound_and_complete(trace));
  constexpr size_t kNames = 100000, kLate = 400;
  std::vector<std::string> texts;
  for (const Event& event : trace.ranges) texts.push_back(trace.detail_of(event).text);
  std::erase(texts, "waiting for the collector");
  ASSERT_EQ(texts.size(), kNames + kLate);
  for (size_t i = 0; i < kNames; ++i) ASSERT_EQ(texts[i], "name " + std::to_string(i));
  for (size_t i = 0; i < kLate; ++i) ASSERT_EQ(texts[kNames + i], "late name " + std::to_string(i));
  ASSERT_EQ(trace.points.size(), 100u);
  for (size_t i = 0; i < 100; ++i) {
    const EventDetail& detail = trace.detail_of(trace.points[i]);
    EXPECT_EQ(detail.text, "mark " + std::to_string(1000 * i));
    EXPECT_EQ(detail.arguments.back().bits, 1000 * i);
  }
}

TEST_F(ContentsTest, TextsOfAMegabyteAreTruncatedAndCounted) {
  const Readback trace = record("long");
  EXPECT_TRUE(sound(trace));
  ASSERT_EQ(trace.ranges.size(), 12u);
  for (size_t i = 0; i < 10; ++i) {
    const std::string& text = trace.detail_of(trace.ranges[i]).text;
    EXPECT_GE(text.size(), 1024u);
    EXPECT_EQ(text, std::string(text.size(), 'n'));
  }
  EXPECT_EQ(trace.detail_of(trace.ranges[10]).text, std::string(1025, 'y'));
  EXPECT_EQ(trace.detail_of(trace.ranges[11]).text, std::string(1024, 'x'));
  ASSERT_EQ(trace.points_count("text"), 10u);
  for (const Event* event : trace.points_named("text")) {
    const auto& arguments = trace.detail_of(*event).arguments;
    ASSERT_EQ(arguments.size(), 2u);
    EXPECT_GE(arguments[0].text.size(), 1024u);
    EXPECT_EQ(arguments[1].bits, 7u) << "what comes after a text that was cut is whole";
  }
  EXPECT_EQ(trace.lost(LossCause::TextTruncated), 20u);
  EXPECT_EQ(trace.lost(), 20u);
}

TEST_F(ContentsTest, TooManyArgumentsAreCounted) {
  const Readback trace = record("arguments");
  EXPECT_TRUE(sound(trace));
  const auto few = trace.ranges_named("few"), many = trace.ranges_named("many");
  ASSERT_EQ(few.size(), 1u);
  ASSERT_EQ(many.size(), 1u) << trace.summary();
  EXPECT_EQ(trace.detail_of(*few[0]).arguments.size(), 20u);
  auto kept = trace.detail_of(*many[0]).arguments;
  std::erase_if(kept, [](const Argument& argument) { return argument.name.empty(); });  // its name, if carried
  ASSERT_GE(kept.size(), 31u);
  for (size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].name, "argument " + std::to_string(i));
    EXPECT_EQ(kept[i].bits, i);
  }
  EXPECT_TRUE(kept.size() == 40 || trace.lost() > 0) << "what is cut is counted";
}

TEST_F(ContentsTest, ArgumentsOfEveryTypeAreRecorded) {
  const Readback trace = record("types");
  EXPECT_TRUE(sound_and_complete(trace));
  ASSERT_EQ(trace.points_count("types"), 1u);
  std::map<std::string, Argument> by_name;
  for (const Argument& argument : trace.detail_of(*trace.points_named("types")[0]).arguments)
    by_name[argument.name] = argument;
  EXPECT_EQ(by_name.size(), 14u);
  const auto expect_bits = [&](const std::string& name, FieldType type, uint64_t bits) {
    EXPECT_EQ(by_name[name].type, type) << name;
    EXPECT_EQ(by_name[name].bits, bits) << name;
  };
  expect_bits("int", FieldType::Int, static_cast<uint64_t>(-5));
  expect_bits("long", FieldType::Int, uint64_t{3} << 62);
  expect_bits("unsigned", FieldType::UInt, ~uint64_t{0});
  expect_bits("bytes", FieldType::ByteCount, 4096);
  expect_bits("yes", FieldType::Bool, 1);
  expect_bits("no", FieldType::Bool, 0);
  expect_bits("enum", FieldType::UInt, 200);
  EXPECT_EQ(by_name["char"].bits, static_cast<uint64_t>('c'));
  EXPECT_EQ(by_name["double"].type, FieldType::Double);
  EXPECT_EQ(by_name["double"].real, 0.1);
  EXPECT_EQ(by_name["float"].real, 0.5);
  EXPECT_EQ(by_name["text"].type, FieldType::String);
  EXPECT_EQ(by_name["text"].text, "text");
  EXPECT_EQ(by_name["string"].text, std::string("a\0b", 3));
  EXPECT_EQ(by_name["empty"].type, FieldType::String);
  EXPECT_EQ(by_name["empty"].text, "");
  EXPECT_EQ(by_name["pointer"].type, FieldType::Pointer);
  ASSERT_EQ(trace.points_count("types again"), 1u);
  EXPECT_EQ(by_name["pointer"].bits, trace.points_named("types again")[0]->number);
}

TEST_F(ContentsTest, PlaceholdersInANameAreFilledByTheReader) {
  const Readback trace = record("types");
  const auto steps = trace.ranges_named("step {} of {}: {}");
  ASSERT_EQ(steps.size(), 3u) << trace.summary();
  for (size_t i = 0; i < steps.size(); ++i) {
    const EventDetail& detail = trace.detail_of(*steps[i]);
    EXPECT_EQ(detail.text, "step " + std::to_string(i) + " of 3: ok");
    ASSERT_EQ(detail.arguments.size(), 4u);
    EXPECT_EQ(detail.arguments[3].name, "extra");
    EXPECT_EQ(detail.arguments[3].real, 1.5 * static_cast<double>(i));
  }
  std::vector<std::string> texts;
  for (const Event& event : trace.points) texts.push_back(trace.detail_of(event).text);
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "1 and {} and {}"), 1);
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "one 1"), 1);
  EXPECT_EQ(trace.count("called"), 1u);
}

TEST_F(ContentsTest, CategoriesAndColoursAreRecorded) {
  const Readback trace = record("types");
  const auto coloured = trace.ranges_named("coloured");
  ASSERT_EQ(coloured.size(), 2u);
  EXPECT_EQ(trace.detail_of(*coloured[0]).category, "a category");
  EXPECT_EQ(trace.detail_of(*coloured[0]).colour, 0xff00897bu);
  EXPECT_EQ(trace.detail_of(*coloured[1]).category, "another category");
  EXPECT_EQ(trace.detail_of(*coloured[1]).colour, 0u);
}

TEST_F(ContentsTest, CountersFlowsAndThreadNamesAreRecorded) {
  const Readback trace = record("moments");
  EXPECT_TRUE(sound_and_complete(trace));
  const auto queue = trace.points_named("queue"), load = trace.points_named("load"), size = trace.points_named("size");
  ASSERT_EQ(queue.size(), 100u);
  ASSERT_EQ(load.size(), 100u);
  ASSERT_EQ(size.size(), 100u);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(queue[i]->kind, PointKind::Counter);
    EXPECT_EQ(static_cast<int64_t>(queue[i]->number), static_cast<int64_t>(i) - 50);
    EXPECT_EQ(trace.detail_of(*load[i]).arguments.at(0).real, static_cast<double>(i) / 8.0);
    EXPECT_EQ(size[i]->number, i << 40);
  }
  std::set<PointKind> kinds;
  for (const Event* event : trace.points_named("request")) {
    EXPECT_EQ(event->id, 42u);
    kinds.insert(event->kind);
  }
  EXPECT_EQ(kinds, (std::set{PointKind::FlowBegin, PointKind::FlowStep, PointKind::FlowEnd}));
  std::set<std::string> names;
  for (const TrackInfo& info : trace.tracks) names.insert(info.track.name);
  EXPECT_EQ(names, (std::set<std::string>{"the main thread, whose name is much too long to", "renamed"}));
}

TEST_F(ContentsTest, RangesAcrossThreadsAreRecorded) {
  const Readback trace = record("across");
  EXPECT_TRUE(sound_and_complete(trace));
  std::map<uint64_t, std::pair<uint32_t, uint64_t>> started;  // by handle: where and when
  for (const Event* event : trace.points_named("across {}")) {
    EXPECT_EQ(event->kind, PointKind::AsyncBegin);
    EXPECT_TRUE(started.emplace(event->id, std::pair(event->track, event->start)).second) << "a handle given twice";
  }
  EXPECT_EQ(started.size(), 3000u);
  std::map<uint32_t, size_t> ended;  // by track
  for (const Event& event : trace.points) {
    if (event.kind != PointKind::AsyncEnd) continue;
    ASSERT_TRUE(started.contains(event.id));
    EXPECT_NE(event.track, started[event.id].first);
    EXPECT_GE(event.start, started[event.id].second);
    started.erase(event.id);
    ++ended[event.track];
  }
  EXPECT_TRUE(started.empty());
  EXPECT_EQ(ended.size(), 3u);
}

TEST_F(ContentsTest, MistakesAreInTheLedgerAndDoNoHarm) {
  const Readback trace = record("mistakes");
  EXPECT_TRUE(sound(trace));
  EXPECT_EQ(trace.lost(LossCause::UnknownRange), 5u) << trace.summary();
  EXPECT_EQ(trace.lost(LossCause::UnmatchedPop), 5u);
  EXPECT_EQ(trace.lost(), 10u);
  EXPECT_EQ(trace.count("fine"), 1u);
}

TEST_F(ContentsTest, AProgramInCIsRecorded) {
  const Ending ending = run_traced(file("a.kymo"), {program("plain")});
  EXPECT_EQ(ending.code, 0) << ending.signal << ending.err;
  const Readback trace = read_back(file("a.kymo"), Detail::Arguments);
  EXPECT_TRUE(sound(trace));
  EXPECT_EQ(trace.lost(), trace.lost(LossCause::UnmatchedPop));
  EXPECT_EQ(trace.lost(), 1u);
  EXPECT_EQ(trace.count("outer"), 1u);
  ASSERT_EQ(trace.count("inner"), 1u);
  EXPECT_EQ(trace.ranges_named("inner")[0]->depth, 1);
  EXPECT_EQ(trace.points_count("instant"), 1u);
  EXPECT_EQ(trace.points_count("flow"), 3u);
  EXPECT_EQ(trace.points_count("started"), 1u);
  ASSERT_EQ(trace.points_count("whole"), 1u);
  EXPECT_EQ(static_cast<int64_t>(trace.points_named("whole")[0]->number), -3);
  ASSERT_EQ(trace.points_count("real"), 1u);
  EXPECT_EQ(trace.detail_of(*trace.points_named("real")[0]).arguments.at(0).real, 2.5);
  EXPECT_EQ(trace.count("at a site"), 10u);
  const auto labelled = trace.points_named("labelled {}");
  ASSERT_EQ(labelled.size(), 10u);
  for (size_t i = 0; i < labelled.size(); ++i) {
    EXPECT_EQ(labelled[i]->number, i);
    EXPECT_EQ(trace.detail_of(*labelled[i]).text, "labelled text");
    EXPECT_EQ(trace.detail_of(*labelled[i]).category, "c");
  }
  ASSERT_EQ(trace.tracks.size(), 1u);
  EXPECT_EQ(trace.tracks[0].track.name, "plain C");
  EXPECT_EQ(run({program("plain")}).code, 0) << "and unrecorded";
}

}  // namespace
}  // namespace kymo::e2e
