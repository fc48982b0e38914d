#include "query/session.h"

#include <atomic>
#include <fstream>
#include <thread>

#include "query/engine.h"
#include "query/schema.h"
#include "query/test_session.h"

namespace kymo::query {
namespace {

using trace::FieldType;
using trace::PointKind;
using trace::testing::kRealtimeZero;
using trace::testing::TestRecorder;

enum Class : uint32_t { kStep = 1, kLoad, kKernel, kRequest, kDone, kLoss, kFlow, kMalloc, kFree, kFrame };
enum TrackId : uint32_t { kMain = 1, kWorker, kQueue };

// One process with all kinds of events.
void write_known_trace(const std::string& path, uint8_t writer = 1, uint64_t pid = 100) {
  TestRecorder recorder(path, writer, pid);
  recorder.add_thread(kMain, 100, "main");
  recorder.add_thread(kWorker, 101, "worker");
  trace::Track queue;
  queue.id = kQueue;
  queue.kind = trace::TrackKind::DeviceQueue;
  queue.clock = TestRecorder::kClock;
  queue.device_uuid = "u-1";
  queue.queue = 7;
  queue.name = "compute";
  recorder.add_track(queue);
  recorder.add_class(kStep, "step {}", "train", {{"", FieldType::Int}});
  recorder.add_class(kLoad, "load", "input", {{"bytes", FieldType::ByteCount}, {"from", FieldType::String}});
  recorder.add_class(kKernel, "gemm");
  recorder.add_class(kRequest, "request", "serve", {{"user", FieldType::Int}});
  recorder.add_class(kDone, "done");
  recorder.add_class(kLoss, "loss", "", {{"value", FieldType::Double}});
  recorder.add_class(kFlow, "hand over");
  recorder.add_class(kMalloc, "malloc", "", {{"bytes", FieldType::ByteCount}, {"device", FieldType::String}});
  recorder.add_class(kFree, "free");
  recorder.add_class(kFrame, "frame", "kymo.stack");

  recorder.begin(kMain, 1000, kStep, {int64_t{7}});
  recorder.begin(kMain, 1100, kLoad, {int64_t{4096}, std::string("disk \"a\"")});
  recorder.point(kMain, 1150, PointKind::Counter, kLoss, 0, {0.5});
  recorder.end(kMain, 1300);
  recorder.begin(kMain, 1400, kKernel, {}, 17);
  recorder.end(kMain, 1410);
  recorder.cut(kMain);  // the step ends in the next chunk
  recorder.end(kMain, 2000);
  recorder.begin(kMain, 2100, trace::kInlineName, {std::string("own name")});
  recorder.end(kMain, 2200);
  recorder.point(kMain, 2210, PointKind::Instant, kDone);
  recorder.point(kMain, 2220, PointKind::FlowBegin, kFlow, 3);
  recorder.point(kMain, 2230, PointKind::AsyncBegin, kRequest, 9, {int64_t{5}});
  recorder.point(kMain, 2240, PointKind::Allocation, kMalloc, 0x1000, {int64_t{64}, std::string("cuda:0")});
  recorder.point(kMain, 2250, PointKind::Free, kFree, 0x1000);
  recorder.begin(kMain, 2300, kStep, {int64_t{8}});
  recorder.cut(kMain);  // never ends

  recorder.point(kWorker, 2450, PointKind::Instant, kFrame);  // a definition, which is not shown
  recorder.point(kWorker, 2500, PointKind::FlowEnd, kFlow, 3);
  recorder.point(kWorker, 3000, PointKind::AsyncEnd, kRequest, 9);
  recorder.complete(kQueue, 1500, 1900, kKernel, 0, 0, 17);
  recorder.complete(kQueue, 1600, 1950, kKernel, 0, 1, 18);
  const trace::Loss loss{trace::LossCause::RingFull, kWorker, 42, 2000, 2100, ""};
  recorder.file().losses(recorder.id(), {&loss, 1});
  recorder.close();
}

class QueryTest : public testing::SessionTest {
 protected:
  std::string known() {
    if (path_.empty()) write_known_trace(path_ = folder_ / "run.kymo");
    return path_;
  }
  std::string query(const std::string& sql) {
    Session session(options({known()}));
    return rows(session, sql);
  }

 private:
  std::string path_;
};

TEST_F(QueryTest, RangesHaveNamesTimesAndPlaces) {
  const std::string zero = std::to_string(kRealtimeZero);
  EXPECT_EQ(query("SELECT name, full_name, category, start_ns - " + zero + ", end_ns - " + zero +
                  ", duration_ns, depth, lane, correlation, finished FROM ranges ORDER BY start_ns"),
            "step {}|step 7|train|1000|2000|1000|0|0|NULL|true\n"
            "load|load|input|1100|1300|200|1|0|NULL|true\n"
            "gemm|gemm|NULL|1400|1410|10|1|0|17|true\n"
            "gemm|gemm|NULL|1500|1900|400|0|0|17|true\n"
            "gemm|gemm|NULL|1600|1950|350|0|1|18|true\n"
            "own name|own name|NULL|2100|2200|100|0|0|NULL|true\n"
            "request|request|serve|2230|3000|770|NULL|NULL|NULL|true\n"
            "step {}|step 8|train|2300|3000|700|0|0|NULL|false\n");
  EXPECT_EQ(query("SELECT DISTINCT process, pid, thread, tid, device, track FROM ranges ORDER BY track"),
            "train|100|main|100|NULL|0\n"
            "train|100|compute|NULL|GPU 0 (u-1)|2\n");
}

TEST_F(QueryTest, ValuesAreJson) {
  EXPECT_EQ(query("SELECT args FROM ranges WHERE name = 'load'"), "{\"bytes\":4096,\"from\":\"disk \\\"a\\\"\"}\n");
  EXPECT_EQ(query("SELECT sum((args->>'bytes')::INT), max(args->>'user') FROM ranges"), "4096|5\n");
}

TEST_F(QueryTest, CountsNeedNoColumns) { EXPECT_EQ(query("SELECT count(*) FROM ranges"), "8\n"); }

TEST_F(QueryTest, NamesAreSortedAsTexts) {
  EXPECT_EQ(query("SELECT DISTINCT name FROM ranges ORDER BY name DESC"), "step {}\nrequest\nown name\nload\ngemm\n");
  EXPECT_EQ(query("SELECT count(*) FROM ranges WHERE name IN (SELECT name FROM names WHERE name LIKE 'g%')"), "3\n");
}

TEST_F(QueryTest, EventsHaveAllPoints) {
  const std::string zero = std::to_string(kRealtimeZero);
  EXPECT_EQ(query("SELECT kind, name, time_ns - " + zero + ", id, thread FROM events ORDER BY time_ns"),
            "counter|loss|1150|NULL|main\n"
            "instant|done|2210|NULL|main\n"
            "flow_begin|hand over|2220|3|main\n"
            "async_begin|request|2230|9|main\n"
            "allocation|malloc|2240|4096|main\n"
            "free|free|2250|4096|main\n"
            "flow_end|hand over|2500|3|worker\n"
            "async_end|request|3000|9|worker\n");
}

TEST_F(QueryTest, EachKindOfPointHasItsTable) {
  const std::string zero = std::to_string(kRealtimeZero);
  EXPECT_EQ(query("SELECT name, time_ns - " + zero + ", value FROM counters"), "loss|1150|0.5\n");
  EXPECT_EQ(query("SELECT kind, address, bytes, memory FROM allocations ORDER BY time_ns"),
            "allocation|4096|64|cuda:0\nfree|4096|0|host\n");
  EXPECT_EQ(query("SELECT kind, name, id, thread FROM flows ORDER BY time_ns"),
            "flow_begin|hand over|3|main\nflow_end|hand over|3|worker\n");
}

TEST_F(QueryTest, CatalogTables) {
  EXPECT_EQ(
      query("SELECT track, name, kind, process, pid, tid, device, queue, ranges, points FROM threads ORDER BY track"),
      "0|main|thread|train|100|100|NULL|NULL|4|6\n"
      "1|worker|thread|train|100|101|NULL|NULL|0|3\n"
      "2|compute|queue|train|100|NULL|GPU 0 (u-1)|7|2|0\n");
  EXPECT_EQ(query("SELECT device, uuid, queues, ranges FROM devices"), "GPU 0 (u-1)|u-1|1|2\n");
  EXPECT_EQ(query("SELECT name, pid, host, command_line, metadata->>'RANK' FROM processes"),
            "train|100|box|train --epochs 2|3\n");
  EXPECT_EQ(query("SELECT cause, count, pid, thread FROM losses"), "ring_full|42|100|worker\n");
}

// A life of 9,000 ns from 1,000 on; what the thread did from 6,000 to 9,500 is not known.
TEST_F(QueryTest, StatesFillTheLifeOfASampledThread) {
  const std::string path = folder_ / "sampled.kymo";
  {
    TestRecorder recorder(path);
    recorder.add_thread(kMain, 100, "main");
    recorder.add_class(1, "sample", "cpu", {{"node", FieldType::UInt}});
    recorder.add_class(2, "on CPU", "cpu", {{"ns", FieldType::UInt}});
    recorder.add_class(3, "off CPU", "cpu", {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}});
    recorder.add_class(4, "off CPU", "cpu",
                       {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}, {"node", FieldType::UInt}});
    recorder.add_class(5, "stack node", "kymo.stack",
                       {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}});
    recorder.add_class(6, "symbol", "kymo.stack", {{"address", FieldType::Pointer}, {"name", FieldType::String}});
    const auto name = [&](int64_t node, int64_t caller, int64_t address, const std::string& function) {
      recorder.point(kMain, 1'000, PointKind::Instant, 5, 0, {node, caller, address});
      recorder.point(kMain, 1'000, PointKind::Instant, 6, 0, {address, function});
    };
    name(16, 1, 0x1000, "load");
    name(17, 16, 0x2000, "nanosleep");
    recorder.point(kMain, 1'000, PointKind::Sample, 1, 0, {int64_t{16}});
    recorder.point(kMain, 2'000, PointKind::Sample, 4, 0, {int64_t{1'000}, int64_t{0}, int64_t{17}});
    recorder.point(kMain, 4'000, PointKind::Sample, 3, 0, {int64_t{500}, int64_t{1}});
    recorder.point(kMain, 5'000, PointKind::Sample, 3, 0, {int64_t{1'000}, int64_t{0}});
    recorder.point(kMain, 10'000, PointKind::Sample, 2, 0, {int64_t{3'000}});
    recorder.close();
  }
  Session session(options({path}));
  const std::string zero = std::to_string(kRealtimeZero);
  EXPECT_EQ(rows(session, "SELECT state, function, start_ns - " + zero + ", end_ns - " + zero +
                              ", duration_ns, thread, tid FROM states ORDER BY start_ns"),
            "running|NULL|1000|2000|1000|main|100\n"
            "waiting|load|2000|3000|1000|main|100\n"
            "running|NULL|3000|4000|1000|main|100\n"
            "ready|NULL|4000|4500|500|main|100\n"
            "running|NULL|4500|5000|500|main|100\n"
            "waiting|NULL|5000|6000|1000|main|100\n"
            "unknown|NULL|6000|9500|3500|main|100\n"
            "running|NULL|9500|10000|500|main|100\n");
}

TEST_F(QueryTest, StatesNeedSamples) { EXPECT_EQ(query("SELECT * FROM states"), ""); }

TEST_F(QueryTest, SeveralFilesAreOneTable) {
  const std::string other = folder_ / "other.kymo";
  write_known_trace(other, 2, 200);
  Session session(options({known(), other}));
  EXPECT_EQ(rows(session, "SELECT pid, count(*), count(DISTINCT track) FROM ranges GROUP BY pid ORDER BY pid"),
            "100|8|2\n200|8|2\n");
  EXPECT_EQ(rows(session, "SELECT count(DISTINCT file) FROM threads"), "2\n");
  EXPECT_EQ(rows(session, "SELECT count(*) FROM '" + other + "'"), "8\n");
  EXPECT_EQ(rows(session, "SELECT count(*) FROM events('" + other + "')"), "8\n");
}

TEST_F(QueryTest, AFileIsOpenedOnce) {
  SessionOptions counted = options({known()});
  int opened = 0;
  counted.open = [&](const std::string& path) {
    ++opened;
    return trace::Reader(path);
  };
  Session session(counted);
  rows(session, "SELECT count(*) FROM ranges JOIN events USING (track)");
  rows(session, "SELECT count(*) FROM '" + known() + "'");
  EXPECT_EQ(opened, 1);
}

// DuckDB would read it as JSON; the file of the session comes first.
TEST_F(QueryTest, AFileOfTheSessionMayHaveAnyName) {
  const std::string path = folder_ / "run.json";
  write_known_trace(path);
  Session session(options({path}));
  EXPECT_EQ(rows(session, "SELECT count(*) FROM '" + path + "'"), "8\n");
}

TEST_F(QueryTest, ValuesOfAllTypesAreText) {
  EXPECT_EQ(query("SELECT true, -7::TINYINT, 200::UTINYINT, -12345678901234567890123::HUGEINT, 1.5::DECIMAL(9,3), "
                  "-0.05::DECIMAL(4,2), 0.1::DOUBLE, 'nan'::DOUBLE, NULL"),
            "true|-7|200|-12345678901234567890123|1.500|-0.05|0.1|NaN|NULL\n");
  EXPECT_EQ(query("SELECT DATE '2024-05-06', [1, 2], {'a': 'x'}, INTERVAL 1 DAY, 'a text that is not short'"),
            "2024-05-06|[1,2]|{\"a\":\"x\"}|1 day|a text that is not short\n");
  EXPECT_EQ(query("SELECT name, [depth] AS depths FROM ranges WHERE depth IS NOT NULL ORDER BY start_ns DESC LIMIT 2"),
            "step {}|[0]\nown name|[0]\n");
}

TEST_F(QueryTest, ErrorsAreThoseOfDuckDb) {
  Session session(options({known()}));
  EXPECT_TRUE(error(session, "SELEC 1").starts_with("Parser Error: syntax error at or near \"SELEC\""));
  EXPECT_TRUE(error(session, "SELECT nope FROM ranges").starts_with("Binder Error: Referenced column \"nope\""));
  EXPECT_TRUE(error(session, "SELECT * FROM nope").starts_with("Catalog Error: Table with name nope does not exist"));
  EXPECT_TRUE(error(session, "SELECT 'a'::INT FROM ranges").starts_with("Conversion Error"));
  EXPECT_EQ(rows(session, "SELECT 1"), "1\n");  // it still works
}

TEST_F(QueryTest, AFileThatIsNotATraceIsAnError) {
  const std::string path = folder_ / "text.kymo";
  std::ofstream(path) << "not a trace at all\n";
  Session session(options({known()}));
  EXPECT_NE(error(session, "SELECT * FROM '" + path + "'").find("is not a Kymo trace"), std::string::npos);
}

TEST_F(QueryTest, SqlCannotReadOrWriteFiles) {
  const std::string out = folder_ / "out";
  std::ofstream(folder_ / "in.csv") << "a,b\n1,2\n";
  const std::string in = folder_ / "in.csv";
  Session session(options({known()}));
  for (const std::string& sql : std::vector<std::string>{
           "COPY (SELECT 1) TO '" + out + "'", "COPY ranges TO '" + out + "' (FORMAT parquet)", "ATTACH '" + out + "'",
           "EXPORT DATABASE '" + out + "'", "SELECT * FROM read_csv('" + in + "')", "SELECT * FROM '" + in + "'",
           "SELECT * FROM read_text('" + in + "')", "SELECT * FROM read_blob('" + in + "')",
           "SELECT * FROM glob('" + in + "')", std::string("INSTALL httpfs"), std::string("LOAD httpfs"),
           "CREATE PERSISTENT SECRET s (TYPE http, BEARER_TOKEN 'x')",
           "CALL ENABLE_LOGGING(storage_path='" + out + "')"})
    EXPECT_TRUE(error(session, sql).starts_with("Permission Error")) << sql << ": " << error(session, sql);
  for (const std::string& sql : std::vector<std::string>{
           std::string("SET enable_external_access = true"), "SET temp_directory = '" + out + "'",
           "SET profiling_output = '" + out + "'", "SET log_query_path = '" + out + "'",
           std::string("RESET enable_external_access"), std::string("SET lock_configuration = false")})
    EXPECT_NE(error(session, sql).find("locked"), std::string::npos) << sql << ": " << error(session, sql);
  EXPECT_FALSE(std::ifstream(out).is_open());
  EXPECT_EQ(rows(session, "SELECT count(*) FROM ranges"), "8\n");
}

TEST_F(QueryTest, MemoryIsLimited) {
  SessionOptions limited = options({known()});
  limited.memory_limit = 64 << 20;
  Session session(limited);
  EXPECT_TRUE(error(session, "SELECT list(range) FROM range(100_000_000)").starts_with("Out of Memory Error"));
  EXPECT_EQ(rows(session, "SELECT count(*) FROM ranges"), "8\n");
}

TEST_F(QueryTest, AStatementCanBeInterrupted) {
  Session session(options({known()}));
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done.load()) session.interrupt();
  });
  std::string message;
  try {
    rows(session, "SELECT count(*) FROM range(1_000_000_000_000) AS a(x) WHERE hash(x) % 7 = 3");
  } catch (const QueryError& error) {
    message = error.what();
    EXPECT_TRUE(error.interrupted()) << message;
  }
  done.store(true);
  other.join();
  EXPECT_NE(message, "");
}

TEST_F(QueryTest, ExamplesOfTheSchemaRun) {
  Session session(options({known()}));
  for (const Example& example : examples()) {
    std::string sql(example.sql);
    const std::string name = "'run.kymo'";
    if (const size_t at = sql.find(name); at != sql.npos) sql.replace(at, name.size(), "'" + known() + "'");
    std::string result;
    EXPECT_NO_THROW(result = rows(session, sql)) << sql;
    if (sql.find("EXCEPT") == sql.npos && sql.find("function") == sql.npos) {  // the trace has no samples
      EXPECT_NE(result, "") << sql;
    }
  }
}

TEST_F(QueryTest, RangesHaveParentsSelfTimesAndIterations) {
  Session session(options({known(), known()}));
  EXPECT_EQ(rows(session,
                 "SELECT DISTINCT child.full_name, child.depth, parent.full_name, child.self_ns, child.iteration "
                 "FROM ranges AS child LEFT JOIN ranges AS parent ON child.parent = parent.id ORDER BY ALL"),
            "gemm|0|gemm|350|0\n"  // most of it ran while the other one did
            "gemm|0|NULL|100|0\n"
            "gemm|1|step 7|10|0\n"
            "load|1|step 7|200|0\n"
            "own name|0|NULL|100|NULL\n"
            "request|NULL|NULL|770|NULL\n"
            "step 7|0|NULL|790|0\n"
            "step 8|0|NULL|700|NULL\n");
  EXPECT_EQ(rows(session, "SELECT count(*), count(DISTINCT id) FROM ranges"), "16|16\n");
}

TEST_F(QueryTest, UnfinishedRangesAreParents) {
  const std::string path = folder_ / "open.kymo";
  TestRecorder recorder(path);
  recorder.add_class(1, "run");
  recorder.add_class(2, "inner");
  recorder.add_class(3, "done");
  recorder.add_thread(1, 1, "main");
  recorder.begin(1, 0, 1);
  recorder.begin(1, 100, 2);
  recorder.begin(1, 110, 3), recorder.end(1, 140);
  recorder.cut(1);
  recorder.begin(1, 150, 3), recorder.end(1, 200);
  recorder.cut(1);
  recorder.close();
  Session session(options({path}));
  EXPECT_EQ(rows(session,
                 "SELECT child.name, parent.name, child.duration_ns, child.self_ns FROM ranges AS child LEFT JOIN "
                 "ranges AS parent ON child.parent = parent.id ORDER BY child.start_ns"),
            "run|NULL|200|100\ninner|run|100|20\ndone|inner|30|30\ndone|inner|50|50\n");
}

TEST_F(QueryTest, SamplesHaveFunctionsAndOperationsHaveShapes) {
  const std::string path = folder_ / "samples.kymo";
  TestRecorder recorder(path);
  recorder.add_class(1, "sample", "cpu", {{"node", FieldType::UInt}});
  recorder.add_class(2, "stack node", "kymo.stack",
                     {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}});
  recorder.add_class(3, "symbol", "kymo.stack", {{"address", FieldType::Pointer}, {"name", FieldType::String}});
  recorder.add_class(4, "aten::mm", "cpu_op", {{"Input Dims", FieldType::String}});
  recorder.add_thread(1, 1, "main");
  constexpr int64_t kOuter = INT64_MIN + 0x1000, kInner = INT64_MIN + 0x2000;
  recorder.point(1, 0, PointKind::Instant, 3, 0, {kOuter, std::string("sys_read")});
  recorder.point(1, 0, PointKind::Instant, 3, 0, {kInner, std::string("copy")});
  recorder.point(1, 0, PointKind::Instant, 2, 0, {int64_t{16}, int64_t{1}, kOuter});
  recorder.point(1, 0, PointKind::Instant, 2, 0, {int64_t{17}, int64_t{16}, kInner});
  recorder.point(1, 10, PointKind::Sample, 1, 0, {int64_t{17}});
  recorder.begin(1, 20, 4, {std::string("[[8, 3], [3]]")});
  recorder.end(1, 30);
  recorder.close();
  Session session(options({path}));
  EXPECT_EQ(rows(session, "SELECT kind, function, stack FROM events"), "sample|copy|sys_read;copy\n");
  EXPECT_EQ(rows(session, "SELECT name, shapes FROM ranges"), "aten::mm|[[8, 3], [3]]\n");
}

TEST_F(QueryTest, ParquetFilesHaveAllRows) {
  const std::string path = folder_ / "it's.parquet";
  Session session(options({known()}));
  session.write_parquet("ranges", path);
  EXPECT_THROW(session.write_parquet("nope", path), InvalidArgument);

  class NoTraces : public TraceSource {
    LoadedTraces& traces(const std::string&) override { throw Error("no traces"); }
  } none;
  Engine engine(none, 0, FileAccess::On);
  engine.execute("CREATE TABLE t AS SELECT * FROM read_parquet(" + sql_literal(path) + ")");
  EXPECT_NO_THROW(engine.execute("SELECT CASE WHEN (SELECT count(*) FROM t) <> 8 THEN error('rows') END"));
  EXPECT_NO_THROW(engine.execute("SELECT CASE WHEN (SELECT sum(duration_ns) FROM t) <> 3530 THEN error('sum') END"));
  EXPECT_NO_THROW(engine.execute("SELECT CASE WHEN (SELECT max(name) FROM t) <> 'step {}' THEN error('name') END"));
}

TEST_F(QueryTest, AFileThatCannotBeOpenedIsAnError) {
  EXPECT_THROW(Session(options({folder_ / "missing.kymo"})), Error);
}

TEST_F(QueryTest, AParquetFileThatFailsLeavesNothing) {
  SessionOptions limited = options({known()});
  limited.memory_limit = 1 << 20;  // too little to write anything
  Session session(limited);
  const std::string path = folder_ / "x.parquet";
  EXPECT_THROW(session.write_parquet("ranges", path), Error);
  EXPECT_FALSE(std::ifstream(path).is_open());
}

}  // namespace
}  // namespace kymo::query
