// Programs that annotate themselves with NVTX and know nothing of Kymo, under `kymo record`.
#include <algorithm>
#include <filesystem>

#include "ondemand.h"
#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

class NvtxTest : public EndToEnd {
 protected:
  void SetUp() override {
    if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
    if (!have_client()) GTEST_SKIP() << "NVTX's headers are not installed";
  }
  static bool have_client() { return access(program("nvtx_client").c_str(), X_OK) == 0; }

  std::string trace() const { return file("run.kymo"); }
  Ending record(const Words& words, const Words& options = {}, const Environment& environment = {}) {
    Words all{program("kymo"), "record", "-o", trace()};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", program("nvtx_client")});
    all.insert(all.end(), words.begin(), words.end());
    return run(all, {.environment = environment});
  }
};

TEST_F(NvtxTest, RangesMarksAndDepthsAreRecorded) {
  const Ending ending = record({"core"});
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_EQ(ending.out, "depths 0 1 1 0 -1\nrange has an id\n");
  const Readback trace = read_back(this->trace(), Detail::Arguments);
  EXPECT_TRUE(sound(trace));
  ASSERT_EQ(trace.count("outer"), 1u) << trace.summary();
  ASSERT_EQ(trace.count("inner ä"), 1u) << trace.summary();
  EXPECT_EQ(trace.ranges_named("inner ä")[0]->depth, 1);
  EXPECT_EQ(trace.detail_of(*trace.ranges_named("outer")[0]).category, "nvtx");
  EXPECT_EQ(trace.points_count("mark {0} {{"), 1u) << trace.summary();
  EXPECT_EQ(trace.points_count("wide mark"), 1u);
  EXPECT_EQ(trace.points_count("started"), 1u);
  EXPECT_EQ(trace.lost(trace::LossCause::UnmatchedPop), 1u) << "the extra pop of the program";
  EXPECT_EQ(trace.lost(), 1u) << trace.summary();
}

TEST_F(NvtxTest, DomainsNestOnTheirOwnAndHaveAttributes) {
  const Ending ending = record({"domains"});
  EXPECT_EQ(ending.out, "same domain 1\ndepths 0 0 1 1 0 0\n");
  const Readback trace = read_back(this->trace(), Detail::Arguments);
  EXPECT_TRUE(sound_and_complete(trace));
  const auto strings = trace.ranges_named("registered");
  ASSERT_EQ(strings.size(), 2u) << trace.summary();
  const EventDetail& rich = trace.detail_of(strings[0]->depth == 2 ? *strings[0] : *strings[1]);
  EXPECT_EQ(rich.category, "one");
  EXPECT_EQ(rich.colour, 0xffff8000u) << "an alpha of 0 means opaque";
  ASSERT_EQ(rich.arguments.size(), 2u);
  EXPECT_EQ(rich.arguments[0].text, "loading");
  EXPECT_EQ(static_cast<int64_t>(rich.arguments[1].bits), -5);
  ASSERT_EQ(trace.points_count("number {{value}}"), 1u);
  const EventDetail& number = trace.detail_of(*trace.points_named("number {{value}}")[0]);
  EXPECT_EQ(number.text, "number {value}") << "an argument of Kymo's does not get into a name of the program's";
  EXPECT_EQ(number.category, "two");
  EXPECT_EQ(number.arguments[0].bits, 9u) << "a category without a name";
  EXPECT_EQ(number.arguments[1].real, 0.5);
  EXPECT_EQ(trace.points_count("across"), 1u);
}

TEST_F(NvtxTest, RangesOfDomainsThatDoNotNestKeepTheirTimes) {
  record({"interleave"});
  const Readback trace = read_back(this->trace());
  EXPECT_TRUE(sound_and_complete(trace));
  ASSERT_EQ(trace.count("first"), 1u);
  ASSERT_EQ(trace.count("second"), 2u) << "split where the other range ends";
  const Event *first = trace.ranges_named("first")[0], *inside = trace.ranges_named("second")[0],
              *after = trace.ranges_named("second")[1];
  EXPECT_EQ(inside->end, first->end);
  EXPECT_EQ(after->start, first->end);
  EXPECT_EQ(after->depth, 0);
}

TEST_F(NvtxTest, LibrariesWithTheirOwnNvtxShareTheDepth) {
  const Ending ending = record({"plugins", program("nvtx_plugin_one.so"), program("nvtx_plugin_two.so")});
  EXPECT_EQ(ending.out,
            "program depth 0\nplugin depth 1\nplugin depth 2\nplugin depth 3\npop 3\npop 2\npop 1\npop 0\n");
  const Readback trace = read_back(this->trace());
  EXPECT_TRUE(sound_and_complete(trace));
  for (const char* name : {"in the program", "in plugin one", "in plugin two", "in plugin one again"})
    EXPECT_EQ(trace.count(name), 1u) << name;
}

TEST_F(NvtxTest, ThreadsHaveNamesAndRangesEndOnOtherThreads) {
  record({"threads", "8"});
  const Readback trace = read_back(this->trace());
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("work"), 8'000u);
  size_t workers = 0;
  for (const TrackInfo& track : trace.tracks) workers += track.track.name == "worker" ? 1 : 0;
  EXPECT_EQ(workers, 8u);
  EXPECT_EQ(trace.points_count("over threads"), 8u);
}

TEST_F(NvtxTest, AThreadGetsItsNameFromAnotherThread) {
  record({"names"});
  const Readback trace = read_back(this->trace());
  EXPECT_TRUE(sound_and_complete(trace));
  ASSERT_EQ(trace.count("after the name"), 1u);
  EXPECT_EQ(trace.tracks[trace.ranges_named("after the name")[0]->track].track.name, "named by main");
}

TEST_F(NvtxTest, TheFirstCallsOfManyThreadsAtOnce) {
  record({"race", "32"});
  const Readback trace = read_back(this->trace());
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("first"), 32u);
}

TEST_F(NvtxTest, AForkedChildKeepsItsDepth) {
  const Ending ending = record({"fork"});
  EXPECT_EQ(ending.out, "child depth 1\nchild 0, parent depth 0\n");
  const Readback trace = read_back(this->trace());
  EXPECT_TRUE(sound(trace));
  EXPECT_EQ(trace.count("before fork"), 1u);
  EXPECT_EQ(trace.count("in the child"), 1u);
}

TEST_F(NvtxTest, ExecStartsAnotherProcess) {
  record({"exec"});
  const Readback trace = read_back(this->trace());
  EXPECT_EQ(trace.count("before exec"), 1u);
  EXPECT_EQ(trace.count("outer"), 1u);
}

TEST_F(NvtxTest, AKilledProgramLosesNothing) {
  record({"kill"});
  const Readback trace = read_back(this->trace());
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.count("work"), 100u);
  EXPECT_EQ(trace.open_count("open at the end"), 1u);
}

TEST_F(NvtxTest, AnInterfaceThatIsNotWantedIsNotRecorded) {
  const Ending ending = record({"core"}, {"--without", "nvtx"});
  EXPECT_EQ(ending.out, "depths -2 -2 -2 -2 -2\nrange has no id\n");
  EXPECT_THAT(ending.err, HasSubstr("nothing was recorded: no program that ran is linked with Kymo"));
  EXPECT_THAT(ending.err, Not(HasSubstr("NVTX")));
}

TEST_F(NvtxTest, AProgramThatUsesNoInterfaceIsNotChanged) {
  const Ending ending = record({"none"});
  EXPECT_EQ(ending.out, "no calls\n");
  EXPECT_THAT(ending.err, HasSubstr("no program that ran is linked with Kymo, and none used NVTX"));
}

TEST_F(NvtxTest, PayloadsAndLocksAreRecorded) {
  const Ending ending = run({program("kymo"), "record", "-o", trace(), "--", program("nvtx_extensions")});
  EXPECT_EQ(ending.out, "depths 0 1 1 0\n") << ending.err;
  const Readback trace = read_back(this->trace(), Detail::Arguments);
  EXPECT_TRUE(sound_and_complete(trace));
  ASSERT_EQ(trace.count("with a payload"), 1u) << trace.summary();
  std::string shown;
  for (const Argument& one : trace.detail_of(*trace.ranges_named("with a payload")[0]).arguments)
    shown += one.name + "=" +
             (one.type == trace::FieldType::String   ? one.text
              : one.type == trace::FieldType::Double ? std::to_string(one.real)
                                                     : std::to_string(one.bits)) +
             " ";
  EXPECT_EQ(shown,
            "bytes=4096 share=0.250000 mode=read | write shape.rows=7 shape.columns=9 label=first counts=[1, 2, 3, 4] "
            "text=far away ");
  EXPECT_EQ(trace.count("operation"), 1u) << "named after its schema";
  ASSERT_EQ(trace.points_count("operation"), 1u);
  EXPECT_EQ(trace.detail_of(*trace.points_named("operation")[0]).arguments.size(), 7u) << "without the bad pointer";
  EXPECT_EQ(trace.count("acquire cache"), 2u);
  EXPECT_EQ(trace.points_count("failed to acquire cache"), 1u);
  EXPECT_EQ(trace.points_count("hold cache"), 1u);
  ASSERT_EQ(trace.points_count("name of {kind}: {name}"), 1u);
  EXPECT_EQ(trace.detail_of(*trace.points_named("name of {kind}: {name}")[0]).text, "name of CUDA stream: copies");
}

TEST_F(NvtxTest, AToolThatWasThereKeepsItsPlace) {
  const std::string tool = program("nvtx_tool.so");
  const Ending ending = record({"domains"}, {}, {{"NVTX_INJECTION64_PATH", tool}, {"NVTX_TOOL_LOG", file("heard")}});
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_THAT(contents_of(file("heard")), HasSubstr("push"));
  EXPECT_THAT(ending.err, HasSubstr("NVTX is not recorded: NVTX_INJECTION64_PATH names another tool, " + tool));
}

TEST_F(NvtxTest, InfoShowsTheInterface) {
  record({"threads", "2"});
  const Ending ending = run({program("kymo"), "info", trace()});
  EXPECT_THAT(ending.out, testing::ContainsRegex("interfaces +nvtx 2,002 events"));
}

TEST_F(NvtxTest, AProgramThatAlsoUsesKymoHasOneTrack) {
  const Ending ending = run({program("kymo"), "record", "-o", trace(), "--", program("nvtx_and_kymo")});
  EXPECT_EQ(ending.out, "depths 0 0 1\n") << "each counts its own ranges";
  const Readback trace = read_back(this->trace());
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.tracks.size(), 1u);
  EXPECT_EQ(trace.origins.size(), 1u);
  int depth = 0;
  for (const char* name : {"by Kymo", "by NVTX", "by Kymo, inside", "by NVTX, inside"}) {
    ASSERT_EQ(trace.count(name), 1u) << name;
    EXPECT_EQ(trace.ranges_named(name)[0]->depth, depth++) << name;
  }
}

// The sink sends Kymo's annotations to NVTX, which leads back here.
TEST_F(NvtxTest, KymosOwnAnnotationsAreRecordedOnce) {
  run({program("kymo"), "record", "-o", trace(), "--", program("nvtx_and_kymo")},
      {.environment = {{"KYMO_SINKS", "nvtx"}}});
  const Readback trace = read_back(this->trace());
  EXPECT_EQ(trace.count("by Kymo"), 1u) << trace.summary();
  EXPECT_EQ(trace.count("by NVTX"), 1u);
}

TEST_F(NvtxTest, PythonCallsTheSharedLibraryOfNvtx) {
  const char* library = nullptr;
  for (const char* candidate : {"/usr/local/cuda/lib64/libnvtx3interop.so", "/usr/local/cuda/lib/libnvtx3interop.so"})
    if (access(candidate, R_OK) == 0) library = candidate;
  if (library == nullptr) GTEST_SKIP() << "libnvtx3interop.so is not installed";
  const std::string code = std::string("import ctypes; nvtx = ctypes.CDLL('") + library +
                           "'); print(nvtx.nvtxRangePushA(b'outer'), nvtx.nvtxRangePushA(b'inner'), "
                           "nvtx.nvtxRangePop(), nvtx.nvtxRangePop())";
  const Ending ending = run({program("kymo"), "record", "-o", trace(), "--", "python3", "-c", code});
  EXPECT_EQ(ending.out, "0 1 1 0\n") << ending.err;
  const Readback trace = read_back(this->trace());
  EXPECT_EQ(trace.count("outer"), 1u) << trace.summary();
  EXPECT_EQ(trace.count("inner"), 1u);
}

TEST_F(NvtxTest, WithoutTheLibraryTheProgramRunsAsWithoutKymo) {
  std::filesystem::create_directory(file("bin"));
  std::filesystem::copy_file(program("kymo"), file("bin/kymo"));
  const Ending ending = run({file("bin/kymo"), "record", "-o", trace(), "--", program("nvtx_client"), "core"});
  EXPECT_EQ(ending.code, 0);
  EXPECT_EQ(ending.out, "depths -2 -2 -2 -2 -2\nrange has no id\n");
  EXPECT_THAT(ending.err, HasSubstr("programs that do not know Kymo are not recorded: libkymo_inject.so not found"));
}

TEST_F(NvtxTest, AStaticProgramIsNamed) {
  if (access(program("heap_static").c_str(), X_OK) != 0) GTEST_SKIP() << "there is no static C library";
  const Ending ending = run({program("kymo"), "record", "--no-sample", "-o", trace(), "--", program("heap_static")});
  EXPECT_THAT(ending.err, HasSubstr("nothing was recorded: "));
  EXPECT_THAT(ending.err, HasSubstr("heap_static is linked statically, and Kymo's libraries do not work in such a"));
  EXPECT_THAT(ending.err, testing::Not(HasSubstr("none used NVTX")));
}

TEST_F(NvtxTest, AStaticProgramThatUsesNvtxGetsOneLine) {
  if (access(program("nvtx_static").c_str(), X_OK) != 0) GTEST_SKIP() << "there is no static C library, or no NVTX";
  const Ending ending =
      run({program("kymo"), "record", "--no-sample", "-o", trace(), "--", program("nvtx_static"), "core"});
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_THAT(ending.err, HasSubstr("nvtx_static is linked statically, and Kymo's libraries do not work in such a"));
  EXPECT_EQ(std::ranges::count(ending.err, '\n'), 1) << ending.err;
}

TEST_F(NvtxTest, AnUnknownInterfaceIsRefused) {
  const Ending ending = record({"core"}, {"--with", "nvtz"});
  EXPECT_EQ(ending.code, 2);
  EXPECT_THAT(ending.err, HasSubstr("'nvtz' is not an interface; use nvtx"));
}

TEST_F(NvtxTest, AProgramThatChoosesItsToolKeepsIt) {
  const Ending ending = record({"own", "/nonexistent/tool.so"});
  EXPECT_EQ(ending.code, 0);
  EXPECT_EQ(ending.out, "depths -2 -2 -2 -2 -2\nrange has no id\n");
}

class NvtxOnDemandTest : public WithDaemon {};

TEST_F(NvtxOnDemandTest, ADormantProgramIsListedAndTracedOnRequest) {
  if (access(program("nvtx_client").c_str(), X_OK) != 0) GTEST_SKIP() << "NVTX's headers are not installed";
  const std::string start_it = "eval \"$(" + program("kymo") + " env --socket " + socket() + ")\"; exec " +
                               program("nvtx_client") + " serve " + program("nvtx_plugin_one.so") + " > " +
                               file("said");
  Process client = start({"/bin/sh", "-c", start_it});
  wait_until("a dormant program", [&] { return contents_of(file("said")) == "dormant\n"; });
  wait_until_connected(client);
  const Ending done = kymo({"trigger", "--all", "--duration", "300ms", "-o", pattern()});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  wait_until("a dormant program again", [&] { return contents_of(file("said")) == "dormant\nactive\ndormant\n"; });
  const Readback trace = read_back(trace_of(client), Detail::Arguments);
  EXPECT_TRUE(sound(trace));
  ASSERT_GT(trace.count("request"), 0u) << trace.summary();
  EXPECT_EQ(trace.detail_of(*trace.ranges_named("request")[0]).category, "server") << "named before the trace";
  EXPECT_EQ(trace.lost(), 0u) << trace.summary();
  const Ending again = kymo({"trigger", "--all", "--duration", "100ms", "-o", file("again-{pid}.kymo")});
  EXPECT_EQ(again.code, 0) << again.out << again.err;
}

TEST_F(NvtxOnDemandTest, IterationsOfADormantProgramAreCounted) {
  if (access(program("nvtx_client").c_str(), X_OK) != 0) GTEST_SKIP() << "NVTX's headers are not installed";
  const std::string start_it =
      "eval \"$(" + program("kymo") + " env --socket " + socket() + ")\"; exec " + program("nvtx_client") + " steps";
  for (const char* with : {"text", "registered"}) {
    Process client = start({"/bin/sh", "-c", start_it + " " + with});
    wait_until_connected(client);
    for (const char* name : {"first", "second"}) {  // what was recorded once is counted too
      const std::string path = file(std::string(name) + "-{pid}.kymo");
      const Ending done = kymo({"trigger", "--pid", std::to_string(client.pid()), "--iterations", "5", "-o", path});
      EXPECT_EQ(done.code, 0) << done.out << done.err;
      const Readback trace =
          read_back(file(std::string(name) + "-" + std::to_string(client.pid()) + ".kymo"), Detail::Arguments);
      EXPECT_TRUE(sound(trace));
      EXPECT_EQ(trace.count("work"), 5u) << trace.summary();
      EXPECT_EQ(trace.lost(), 0u) << trace.summary();
    }
  }
}

}  // namespace
}  // namespace kymo::e2e
