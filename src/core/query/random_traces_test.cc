// Random traces: the rows of SQL are the events that convert/events.h visits, and damaged traces do not crash.
#include <algorithm>
#include <fstream>
#include <random>

#include "convert/events.h"
#include "query/test_session.h"
#include "trace/test_support.h"
#include "trace/writer.h"

namespace kymo::query {
namespace {

using trace::testing::TestRecorder;

class RandomTracesTest : public testing::SessionTest {};

// A program with nested ranges, ranges across threads and counters, in chunks of random size, some of which are lost.
void write_random_trace(const std::string& path, uint64_t seed) {
  std::mt19937_64 random(seed);
  TestRecorder recorder(path);
  recorder.add_class(1, "step {}", "train", {{"", trace::FieldType::Int}});
  recorder.add_class(2, "load", "", {{"from", trace::FieldType::String}});
  recorder.add_class(3, "plain", "other");
  for (uint32_t track = 1; track <= 3; ++track) {
    recorder.add_thread(track, 100 + track, "thread");
    uint64_t now = 1000, depth = 0;
    for (int i = 0; i < 300; ++i) {
      now += random() % 20;
      switch (random() % 10) {
        case 0:
          recorder.begin(track, now, 1, {int64_t(random() % 5)}, random() % 3);
          ++depth;
          break;
        case 1:
          recorder.begin(track, now, 2, {std::string(random() % 30, 'x')});
          ++depth;
          break;
        case 2:
          recorder.begin(track, now, trace::kInlineName, {std::string(1, static_cast<char>('a' + random() % 5))});
          ++depth;
          break;
        case 3:
          recorder.point(track, now, trace::PointKind::AsyncBegin, 3, 1 + random() % 20);
          break;
        case 4:
          recorder.point(track, now, trace::PointKind::AsyncEnd, 3, 1 + random() % 20);
          break;
        case 5:
          recorder.point(track, now, trace::PointKind::Instant, 1, 0, {int64_t(random() % 5)});
          break;
        case 6:
          if (random() % 8 == 0) recorder.cut(track);
          if (random() % 40 == 0) recorder.lose(track);
          break;
        default:
          if (depth != 0) recorder.end(track, now), --depth;
      }
    }
  }
  recorder.close();
}

class Rows : public convert::EventVisitor {
 public:
  void range(const convert::Range& range) override {
    add(range, range.start_ns, range.end_ns, std::to_string(range.depth), range.finished);
  }
  void async_range(const convert::AsyncRange& range) override {
    add(range, range.start_ns, range.end_ns, "NULL", range.finished);
  }
  void point(const convert::Point& point) override {
    points.push_back(std::string(point.name) + "|" + std::to_string(point.time_ns));
  }

  std::vector<std::string> ranges, points;

 private:
  void add(const convert::Event& event, int64_t start, int64_t end, const std::string& depth, bool finished) {
    ranges.push_back(std::string(event.name) + "|" + std::to_string(event.place->track->tid) + "|" +
                     std::to_string(start) + "|" + std::to_string(end) + "|" + depth + "|" +
                     (finished ? "true" : "false"));
  }
};

std::string sorted(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string sorted(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return sorted(lines);
}

TEST_F(RandomTracesTest, RowsAreTheEventsOfTheTrace) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string path = folder_ / "random.kymo";
    write_random_trace(path, seed);
    const trace::Reader reader(path);
    const convert::Places places(reader);
    Rows expected;
    convert::visit_events(reader, places, convert::TimeBase::Realtime, expected);
    Session session(options({path}));
    EXPECT_EQ(sorted(rows(session, "SELECT full_name, tid, start_ns, end_ns, depth, finished FROM ranges")),
              sorted(expected.ranges))
        << seed;
    EXPECT_EQ(sorted(rows(session, "SELECT full_name, time_ns FROM events WHERE kind = 'instant'")),
              sorted(expected.points))
        << seed;
    EXPECT_EQ(rows(session, "SELECT count(*) FROM ranges"), std::to_string(expected.ranges.size()) + "\n");
    EXPECT_EQ(rows(session, "SELECT count(DISTINCT id) FROM ranges"), std::to_string(expected.ranges.size()) + "\n");
    EXPECT_EQ(rows(session,
                   "SELECT child.full_name FROM ranges AS child LEFT JOIN ranges AS parent ON child.parent = parent.id "
                   "WHERE child.parent IS NOT NULL AND (parent.id IS NULL OR child.depth <> parent.depth + 1 OR "
                   "child.start_ns < parent.start_ns OR child.end_ns > parent.end_ns)"),
              "")
        << seed;
    EXPECT_EQ(rows(session, "SELECT full_name FROM ranges WHERE self_ns < 0 OR self_ns > duration_ns"), "") << seed;
    EXPECT_EQ(rows(session, "SELECT count(*) FROM ranges WHERE name = 'step {}'"),
              rows(session, "SELECT count(*) FROM ranges WHERE full_name LIKE 'step _'"));
    EXPECT_EQ(rows(session, "SELECT count(*) FROM ranges WHERE name = 'a'"),
              rows(session, "SELECT count(*) FROM ranges WHERE full_name = 'a'"));
  }
}

void read_all_tables(Session& session, const std::function<void(const std::string&)>& read) {
  (void)session;
  for (const char* table : {"ranges", "events", "counters", "allocations", "flows", "states", "threads", "devices",
                            "processes", "losses", "names"})
    read(std::string("SELECT * FROM ") + table);
  read("SELECT count(*), sum(duration_ns::HUGEINT), max(depth), max(lane) FROM ranges");
}

// No program records such events: any times, depths, classes and values.
TEST_F(RandomTracesTest, HostileEventsDoNotCrash) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 10; ++round) {
    const std::string path = folder_ / "wild.kymo";
    {
      TestRecorder recorder(path);
      recorder.add_thread(1, 1, std::string("a\0b\xff", 4));
      recorder.add_class(1, "x {} {}\xff", "\xc3", {{"", trace::FieldType::Int}, {"", trace::FieldType::String}});
      recorder.add_class(2, std::string("nul\0", 4), "", {{"bytes", trace::FieldType::ByteCount}});
      recorder.add_class(0, "forged", "");
      recorder.add_class(4'000'000'000, "far", "");
      for (int i = 0; i < 5; ++i) {
        trace::EventBatch batch = trace::testing::wild_batch(random);
        batch.track = 1;
        for (uint32_t& id : batch.ranges.class_id) id %= 4;
        recorder.file().events(recorder.id(), batch);
      }
      recorder.close();
    }
    Session session(options({path}));
    read_all_tables(session, [&](const std::string& sql) { EXPECT_NO_THROW(rows(session, sql)) << sql; });
  }
}

TEST_F(RandomTracesTest, DamagedFilesDoNotCrash) {
  const std::string path = folder_ / "random.kymo", damaged = folder_ / "damaged.kymo";
  write_random_trace(path, 3);
  std::ifstream file(path, std::ios::binary);
  const std::string contents{std::istreambuf_iterator<char>(file), {}};
  std::mt19937_64 random(11);
  for (int round = 0; round < 30; ++round) {
    std::string bytes = contents;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    std::ofstream(damaged, std::ios::binary) << bytes;
    Session session(options({damaged}));
    read_all_tables(session, [&](const std::string& sql) {
      try {
        rows(session, sql);
      } catch (const QueryError&) {  // nothing in it can be read
      }
    });
  }
}

TEST_F(RandomTracesTest, DamagedChunksAreReported) {
  const std::string path = folder_ / "random.kymo";
  write_random_trace(path, 3);
  const trace::EventChunk chunk = trace::Reader(path).event_chunks().at(1);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(chunk.offset + chunk.length - 20));
  file.put('\x55');
  file.put('\xaa');
  file.close();
  Session session(options({path}));
  rows(session, "SELECT * FROM ranges");
  const LoadedTraces& traces = *session.traces().at(0);
  EXPECT_EQ(traces.problems(traces.all().front()).size(), 1u);
}

}  // namespace
}  // namespace kymo::query
