// Traces of running programs on request: which programs, which time, which contents, and which files.
#include <algorithm>
#include <ctime>

#include "ondemand.h"
#include "readback.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class OnDemandTest : public WithDaemon {
 protected:
  static uint64_t seconds_from_now(uint64_t seconds) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return (static_cast<uint64_t>(now.tv_sec) + seconds) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  }
  // In the form that `--start-at` accepts.
  static std::string as_start(uint64_t ns) {
    std::string fraction = std::to_string(ns % 1'000'000'000);
    fraction.insert(0, 9 - fraction.size(), '0');
    return "@" + std::to_string(ns / 1'000'000'000) + "." + fraction;
  }
};

TEST_F(OnDemandTest, ConnectedProgramsAreListed) {
  EXPECT_THAT(kymo({"ps"}).err, HasSubstr("no program is connected; start one with KYMO_DAEMON=1"));
  const Process program = serve({}, {{"SLURM_JOB_ID", "77"}});
  const Ending listed = kymo({"ps"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr(std::to_string(program.pid())));
  EXPECT_THAT(listed.out, HasSubstr("idle"));
  EXPECT_THAT(listed.out, HasSubstr("serves"));
  EXPECT_THAT(listed.out, HasSubstr("77"));
  EXPECT_EQ(kymo({"ps", "--name", "nobody"}).code, 3);
  EXPECT_EQ(kymo({"ps", "--job", "77"}).code, 0);
}

TEST_F(OnDemandTest, TheListIsAvailableAsJson) {
  const Process program = serve({}, {{"SLURM_JOB_ID", "a \"b\""}});
  write_file(file("ps.json"), kymo({"ps", "--json"}).out);
  expect_python(
      "import json, os, sys\n"
      "one, = json.load(open(sys.argv[1]))\n"
      "assert one['pid'] == int(sys.argv[2]) and one['name'] == 'serves', one\n"
      "assert one['job'] == 'a \"b\"' and one['state'] == 'idle' and one['protocol'] == 'kymo', one\n"
      "assert one['uid'] == os.getuid() and one['started_at_ns'] > 0 and one['parents'], one\n",
      {file("ps.json"), std::to_string(program.pid())});
}

TEST_F(OnDemandTest, TheTraceExistsWhenTheCommandReturns) {
  const Process program = serve();
  const Ending done = kymo({"trigger", "--all", "--duration", "1s", "-o", pattern()});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_THAT(done.out, HasSubstr("finished"));
  EXPECT_THAT(done.out, HasSubstr(trace_of(program)));
  EXPECT_EQ(done.err, "");
  const Readback trace = read_back(trace_of(program));
  EXPECT_TRUE(sound(trace)) << trace.summary();
  EXPECT_GT(trace.count("request"), 0u);
  struct stat status {};
  ASSERT_EQ(stat(trace_of(program).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(doing(program.pid()), "idle");
  EXPECT_EQ(program.errors(), "") << "the library never prints";
}

// By the host's clock. On a busy machine a program may be late, and then its trace says so. It may also not run at the
// start or at the end of the time, so the edges are checked in several traces.
TEST_F(OnDemandTest, TracesOfManyProcessesCoverExactlyTheRequestedTime) {
  constexpr uint64_t kSpan = 200'000'000, kClockError = 10'000;
  std::vector<Process> programs;
  for (int i = 0; i < 3; ++i) programs.push_back(serve());
  wait_until("traces that meet both edges", [&] {
    uint64_t from = 0;
    Ending done;
    for (uint64_t ahead = 1; done.code != 0 && ahead < 100; ahead *= 5) {  // the command itself may take this long
      from = seconds_from_now(ahead);
      done =
          kymo({"trigger", "--name", "serves", "--start-at", as_start(from), "--duration", "200ms", "-o", pattern()});
    }
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    bool meets_edges = true;
    for (const Process& program : programs) {
      const Readback trace = read_back(trace_of(program));
      EXPECT_TRUE(sound(trace));
      EXPECT_EQ(trace.lost(), trace.lost(trace::LossCause::LateStart)) << trace.summary();
      const trace::Reader reader(trace_of(program));
      uint64_t first = UINT64_MAX, last = 0;
      for (const trace::EventChunk& chunk : reader.event_chunks()) {
        const trace::WriterInfo& writer = reader.writers().at(chunk.writer);
        const trace::ClockMap clock = trace::clock_map(writer.clocks.at(writer.tracks.at(chunk.track).clock));
        first = std::min(first, static_cast<uint64_t>(clock.to_realtime_ns(chunk.first)));
        last = std::max(last, static_cast<uint64_t>(clock.to_realtime_ns(chunk.last)));
      }
      EXPECT_GE(first, from - kClockError);
      EXPECT_LE(last, from + kSpan + kClockError);
      meets_edges = meets_edges && trace.lost() == 0 && first < from + kSpan / 4 && last > from + kSpan * 3 / 4;
    }
    return meets_edges || HasFailure();
  });
}

TEST_F(OnDemandTest, IterationsAreCountedByStepsOrByRanges) {
  const Process counted = serve();
  const Process seen = serve({"ranges"});
  const Ending done = kymo({"trigger", "--all", "--iterations", "10", "--roundup", "5", "-o", pattern()});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  const Readback trace = read_back(trace_of(counted));
  ASSERT_EQ(trace.count("request"), 10u);
  EXPECT_EQ(trace.ranges_named("request").front()->number % 5, 0u) << "a multiple of the roundup";
  const size_t steps = read_back(trace_of(seen)).count("step");
  EXPECT_GE(steps, 10u);
  EXPECT_LE(steps, 11u) << "the next one begins where the last one ends";
}

TEST_F(OnDemandTest, AFlightRecorderProvidesThePast) {
  const Process flying = serve({}, {{"KYMO_FLIGHT", "10s"}});
  const Process plain = serve();
  Ending done;
  wait_until("a request in the past", [&] {
    done = kymo({"trigger", "--all", "--last", "30s", "-o", pattern()});
    return read_back(trace_of(flying)).count("request") > 0;
  });
  EXPECT_EQ(done.code, 1) << done.out << done.err;
  EXPECT_THAT(done.out, HasSubstr("KYMO_FLIGHT")) << "the message names what the other program lacks";
  EXPECT_FALSE(std::filesystem::exists(trace_of(plain)));
}

TEST_F(OnDemandTest, AProgramGetsTheListOfWhatTheTraceMustContain) {
  const Process program = serve();
  const auto reported = [&](const Words& flags) {
    Words words = {"trigger", "--all", "--iterations", "20", "-o", pattern()};
    words.insert(words.end(), flags.begin(), flags.end());
    std::filesystem::remove(trace_of(program));  // otherwise the next one has another name
    const Ending done = kymo(words);
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    const Readback trace = read_back(trace_of(program), Detail::Arguments);
    uint64_t bits = 0;
    for (const Event* request : trace.ranges_named("request"))
      for (const Argument& argument : trace.detail_of(*request).arguments)
        if (argument.name == "asked for") bits |= argument.bits;
    return bits;
  };
  EXPECT_EQ(reported({}), 0u);
  EXPECT_EQ(reported({"--shapes"}), 1u);
  EXPECT_EQ(reported({"--memory"}), 2u);
  EXPECT_EQ(reported({"--stack"}), 4u);
  EXPECT_EQ(reported({"--flops"}), 8u);
  EXPECT_EQ(reported({"--modules"}), 16u);
  EXPECT_EQ(reported({"--shapes", "--memory", "--stack", "--flops", "--modules"}), 31u);
}

TEST_F(OnDemandTest, TheFileExtensionSelectsTheFormat) {
  const Process program = serve();
  const auto trigger = [&](const std::string& ending) {
    const Ending done = kymo({"trigger", "--all", "--iterations", "20", "-o", pattern(ending)});
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    return trace_of(program, ending);
  };
  const std::string has_requests =
      "import gzip, json, sys\n"
      "file = gzip.open(sys.argv[1]) if sys.argv[1].endswith('gz') else open(sys.argv[1])\n"
      "assert any(e['name'] == 'request' for e in json.load(file)['traceEvents'])\n";
  expect_python(has_requests, {trigger(".json")});
  expect_python(has_requests, {trigger(".json.gz")});
  EXPECT_THAT(contents_of(trigger(".csv")), HasSubstr("request"));
  EXPECT_THAT(contents_of(trigger(".pftrace")), StartsWith("\n")) << "a message of field 1";
  for (const auto& entry : std::filesystem::directory_iterator(folder()))
    EXPECT_NE(entry.path().extension(), ".part") << "left behind: " << entry.path();
}

TEST_F(OnDemandTest, MemoryProfilesAreWrittenInTheirFormats) {
  const Process program = serve({"allocates"});
  const auto profile = [&](const std::string& ending) {
    const Ending done = kymo({"trigger", "--all", "--memory-profile", "--duration", "500ms", "-o", pattern(ending)});
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    return trace_of(program, ending);
  };
  expect_python(
      "import pickle, sys\n"
      "snapshot = pickle.load(open(sys.argv[1], 'rb'))\n"
      "assert any(e['action'] == 'alloc' for trace in snapshot['device_traces'] for e in trace), snapshot\n",
      {profile(".pickle")});
  expect_python("import json, sys\nassert json.load(open(sys.argv[1]))\n", {profile(".json")});
  EXPECT_THAT(contents_of(profile(".html")), HasSubstr("<html"));
  EXPECT_THAT(run({kymo::e2e::program("kymo"), "memory", profile(".kymo")}).out, HasSubstr("never freed"));
}

TEST_F(OnDemandTest, ThePatternNamesTheFiles) {
  const Process program = serve();
  std::filesystem::create_directory(file("serves"));
  const Ending done = kymo({"trigger", "--all", "--duration", "10ms", "-o", file("{name}/{pid} {time}.kymo")});
  ASSERT_EQ(done.code, 0) << done.out << done.err;
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(file("serves"))) {
    ++files;
    EXPECT_THAT(entry.path().filename().string(),
                ::testing::MatchesRegex(std::to_string(program.pid()) + " [0-9]{8}-[0-9]{6}.*\\.kymo"));
  }
  EXPECT_EQ(files, 1u);
}

TEST_F(OnDemandTest, ForkedChildrenAreProgramsWithTheSameName) {
  const Process parent = serve({"forks"});
  const auto listed = [this] {
    const std::string out = kymo({"ps", "--name", "serves"}).out;
    return std::count(out.begin(), out.end(), '\n') - 1;
  };
  wait_until("both children at the daemon", [&] { return listed() == 3; });
  const Ending done = kymo({"trigger", "--name", "serves", "--iterations", "20", "-o", pattern()});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  size_t traces = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() != ".kymo") continue;
    ++traces;
    const Readback trace = read_back(entry.path());
    EXPECT_TRUE(sound(trace)) << trace.summary();
    EXPECT_GT(trace.count("request"), 0u) << entry.path();
  }
  EXPECT_EQ(traces, 3u);
  EXPECT_EQ(kymo({"ps", "--pid", std::to_string(parent.pid())}).code, 0);
}

}  // namespace
}  // namespace kymo::e2e
