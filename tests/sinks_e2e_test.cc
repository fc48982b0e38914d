// Sinks with their tools: each tool receives the annotations of a program, in its own form.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>

#include "base/test_tree.h"
#include "kymo/sink.h"
#include "support.h"

namespace kymo::e2e {
namespace {

using ::testing::HasSubstr;

bool on_path(const std::string& tool) { return std::system(("command -v " + tool + " >/dev/null 2>&1").c_str()) == 0; }

std::string why_absent(const std::string& sink) {
  for (const SinkReport& report : list_sinks())
    if (report.name == sink) return report.absent;
  return "there is no such sink";
}

std::string library() { return kymo::base::built("lib/libkymo.so"); }

class SinksE2eTest : public EndToEnd {
 protected:
  Ending annotate(const std::string& sinks, const std::string& name = "annotates", Environment more = {}) {
    more.emplace_back("KYMO_SINKS", sinks);
    return run({program(name)}, {.environment = more});
  }
  Words shell(const std::string& script) { return {"/bin/bash", "-c", script}; }
  // With its own mounts, which end with it: the mounts of the machine do not change. Needs root.
  Words shell_apart(const std::string& script) { return {"/usr/bin/unshare", "--mount", "/bin/bash", "-ec", script}; }
  bool can_mount_tracing() {
    return geteuid() == 0 && run(shell_apart("mount -t tracefs nodev /sys/kernel/tracing")).code == 0;
  }
};

#define KYMO_SKIP_WITHOUT(sink, tool)                                              \
  if (const std::string why = why_absent(sink); !why.empty()) GTEST_SKIP() << why; \
  if (!on_path(tool)) GTEST_SKIP() << tool " is not installed"

// ---- KYMO_SINKS ----------------------------------------------------------------------------------------------------

TEST_F(SinksE2eTest, AnInvalidNamePrintsOneLineAndTheProgramContinues) {
  for (const char* name : {"annotates", "annotates_static"}) {
    const Ending ending = annotate("usdt, nonsense", name);
    EXPECT_EQ(ending.code, 0);
    EXPECT_EQ(ending.err, "kymo: KYMO_SINKS: \"nonsense\" is no sink; there are: usdt, lttng, trace-marker, nvtx\n");
  }
}

TEST_F(SinksE2eTest, ASinkWithoutAListenerDoesNoHarm) {
  for (const SinkReport& report : list_sinks()) {
    if (!report.absent.empty()) continue;
    EXPECT_EQ(annotate(report.name).code, 0) << report.name;
    EXPECT_EQ(annotate(report.name).err, "") << report.name;
  }
}

TEST_F(SinksE2eTest, ARecordingAndSinksGetTheSame) {
  if (!why_absent("usdt").empty()) GTEST_SKIP() << why_absent("usdt");
  const Ending ending = run_traced(file("a.kymo"), {program("annotates")}, {{"KYMO_SINKS", "usdt"}});
  EXPECT_EQ(ending.code, 0);
  EXPECT_EQ(ending.err, "");
  if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
  const Ending stats = run({program("kymo"), "stats", file("a.kymo")});
  EXPECT_THAT(stats.out, HasSubstr("step {}"));
}

// ---- usdt ----------------------------------------------------------------------------------------------------------

TEST_F(SinksE2eTest, ReadelfListsTheProbes) {
  KYMO_SKIP_WITHOUT("usdt", "readelf");
  for (const std::string& binary : {library(), program("annotates_static")}) {
    const std::string notes = run(shell("readelf -n " + binary)).out;
    EXPECT_THAT(notes, HasSubstr("Provider: kymo"));
    for (const char* probe : {"range_push", "range_pop", "range_start", "range_end", "mark", "counter",
                              "interval_begin", "interval_end", "event"})
      EXPECT_THAT(notes, HasSubstr(std::string("Name: ") + probe + "\n")) << binary;
  }
}

TEST_F(SinksE2eTest, GdbStopsAtTheProbesAndReadsTheText) {
  KYMO_SKIP_WITHOUT("usdt", "gdb");
  for (const char* name : {"annotates", "annotates_static"}) {
    const Ending ending = run(shell(
        "KYMO_SINKS=usdt gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'set breakpoint pending on' "
        "-ex 'break -probe-stap kymo:range_push' -ex 'break -probe-stap kymo:interval_end' "
        "-ex run -ex 'printf \"push %s\\n\", $_probe_arg0' -ex 'delete 1' "
        "-ex continue -ex 'printf \"%d %s %d %d %d %d\\n\", $_probe_arg0, $_probe_arg1, $_probe_arg2, $_probe_arg3, "
        "$_probe_arg4, $_probe_arg5' --args " +
        program(name)));
    if (ending.out.find("ptrace") != std::string::npos || ending.err.find("ptrace") != std::string::npos)
      GTEST_SKIP() << "gdb may not trace here: " << ending.err;
    EXPECT_THAT(ending.out, HasSubstr("push step 7\n")) << ending.err;
    EXPECT_THAT(ending.out, HasSubstr("77 scale 3 2 1000 2500\n")) << ending.err;
  }
}

TEST_F(SinksE2eTest, PerfCountsTheProbes) {
  KYMO_SKIP_WITHOUT("usdt", "perf");
  if (!can_mount_tracing()) GTEST_SKIP() << "perf needs root and the kernel's tracing file system";
  const std::string perf = "perf --buildid-dir " + file("debug");
  const Ending ending = run(shell_apart(
      "mount -t tracefs nodev /sys/kernel/tracing; " + perf + " buildid-cache --add $(readlink -f " + library() +
      "); trap \"" + perf + " probe -q -d 'sdt_kymo:*'\" EXIT; " + perf + " probe -q sdt_kymo:range_push; " + perf +
      " probe -q sdt_kymo:interval_end; KYMO_SINKS=usdt " + perf + " record -q -e 'sdt_kymo:*' -o " + file("data") +
      " " + program("annotates") + "; " + perf + " script -i " + file("data") + " -F event,trace"));
  if (ending.code != 0 && ending.err.find("Failed to") != std::string::npos)
    GTEST_SKIP() << "perf cannot set probes here: " << ending.err;
  ASSERT_EQ(ending.code, 0) << ending.err;
  const std::regex push("sdt_kymo:range_push:"),
      end("sdt_kymo:interval_end: .*arg1=77 .*arg3=3 arg4=2 arg5=1000 arg6=2500");
  const auto count = [&](const std::regex& what) {
    return std::distance(std::sregex_iterator(ending.out.begin(), ending.out.end(), what), std::sregex_iterator());
  };
  EXPECT_EQ(count(push), 2) << ending.out;
  EXPECT_EQ(count(end), 1) << ending.out;
}

TEST_F(SinksE2eTest, BpftraceReadsTheTexts) {
  KYMO_SKIP_WITHOUT("usdt", "bpftrace");
  if (!can_mount_tracing()) GTEST_SKIP() << "bpftrace needs root and the kernel's tracing file system";
  const std::string probe = "usdt:" + library() + ":kymo:";
  write_file(file("script.bt"), probe + "range_push { printf(\"push %s\\n\", str(arg0)); }\n" + probe +
                                    "interval_end { printf(\"%s ran %d ns\\n\", str(arg1), arg5 - arg4); }\n");
  Process tracer = start(shell_apart("mount -t tracefs nodev /sys/kernel/tracing; exec bpftrace -o " +
                                     file("received") + " " + file("script.bt")));
  bool received = false;
  wait_until("bpftrace to receive it", [&] {
    annotate("usdt");  // runs until bpftrace has attached itself
    received = contents_of(file("received")).find("scale ran 1500 ns") != std::string::npos;
    return received || tracer.ended();
  });
  if (!received) GTEST_SKIP() << "bpftrace cannot run here: " << tracer.errors();
  EXPECT_THAT(contents_of(file("received")), HasSubstr("push step 7\n"));
}

// ---- lttng ---------------------------------------------------------------------------------------------------------

TEST_F(SinksE2eTest, LttngRecordsTheTracepoints) {
  KYMO_SKIP_WITHOUT("lttng", "lttng-sessiond");
  if (!on_path("lttng") || !on_path("babeltrace2")) GTEST_SKIP() << "lttng or babeltrace2 is not installed";
  for (const char* name : {"annotates", "annotates_static"}) {
    const std::string home = file(std::string("lttng-") + name), trace = home + "/trace";
    // The test's own session daemon: it has its own home and, for root, whose daemon is the system's, its own /run.
    const std::string script = "export LTTNG_HOME=" + home + "; mkdir " + home +
                               "; lttng-sessiond --no-kernel --background --pidfile=" + home + "/pid >" + home +
                               "/log 2>&1; trap 'kill $(cat " + home +
                               "/pid)' EXIT; lttng create kymo --output=" + trace +
                               " && lttng enable-event -u 'kymo:*' && lttng start && KYMO_SINKS=lttng " +
                               program(name) + " && lttng destroy && babeltrace2 " + trace;
    const Ending ending = geteuid() == 0
                              ? run(shell_apart("mount -t tmpfs none /run; mount -t tmpfs none /dev/shm; " + script))
                              : run(shell(script));
    ASSERT_EQ(ending.code, 0) << ending.out << ending.err << contents_of(home + "/log");
    std::string received;
    const std::regex event("kymo:(\\w+): \\{[^}]*\\}, \\{ ([^}]*)\\}");
    for (std::sregex_iterator at(ending.out.begin(), ending.out.end(), event), none; at != none; ++at)
      received += at->str(1) + " " + std::regex_replace(at->str(2), std::regex("handle = \\d+"), "handle") + "\n";
    EXPECT_EQ(received,
              "range_push text = \"step 7\" \n"
              "range_push text = \"scope|of two\\nlines\" \n"
              "mark text = \"cache miss\" \n"
              "counter text = \"queue\", value = 2.5 \n"
              "range_pop \n"
              "range_start text = \"request GET /\", handle \n"
              "range_end handle \n"
              "range_pop \n"
              "interval_begin execution = 77, _name_length = 5, name = \"scale\", id = 3, run = 2 \n"
              "interval_end execution = 77, _name_length = 5, name = \"scale\", id = 3, run = 2, start_ns = 1000, "
              "end_ns = 2500, _message_length = 37, message = \"scale:opencl:0:f32[16] (id=K3, run=2)\" \n"
              "event id = 3, _name_length = 5, name = \"scale\", run = 2, start_ns = 1000, end_ns = 2500, "
              "_message_length = 37, message = \"scale:opencl:0:f32[16] (id=K3, run=2)\" \n")
        << ending.out;
  }
}

// ---- trace-marker --------------------------------------------------------------------------------------------------

TEST_F(SinksE2eTest, TheKernelTraceHasTheLines) {
  if (!can_mount_tracing()) GTEST_SKIP() << "needs root and the kernel's tracing file system";
  const Ending ending =
      run(shell_apart("mount -t tracefs nodev /sys/kernel/tracing; KYMO_SINKS=trace-marker " + program("annotates") +
                      " & wait $!; pid=$!; sed -n \"s/.*tracing_mark_write: \\(.\\)|$pid/\\1/p\" "
                      "/sys/kernel/tracing/trace | sed 's/|[0-9]\\{3,\\}$/|HANDLE/'"));
  ASSERT_EQ(ending.code, 0) << ending.err;
  EXPECT_EQ(ending.out,
            "B|step 7\n"
            "B|scope/of two lines\n"
            "I|cache miss\n"
            "C|queue|2.5\n"
            "E\n"
            "S|request GET /|HANDLE\n"
            "F|request GET /|HANDLE\n"
            "E\n"
            "S|scale|77\n"
            "F|scale|77\n"
            "I|scale execution=77 start_ns=1000 end_ns=2500\n"
            "I|scale:opencl:0:f32[16] (id=K3, run=2) execution=77 start_ns=1000 end_ns=2500\n");
}

TEST_F(SinksE2eTest, AProgramThatClosesEveryDescriptorKeepsItsOwnFiles) {
  if (!can_mount_tracing()) GTEST_SKIP() << "needs root and the kernel's tracing file system";
  const Ending ending = run(shell_apart("mount -t tracefs nodev /sys/kernel/tracing; KYMO_SINKS=trace-marker " +
                                        program("closes_files") + " " + file("own") + " " + file("a.kymo") +
                                        "; grep -c 'tracing_mark_write: B|[0-9]*|child' /sys/kernel/tracing/trace"));
  ASSERT_EQ(ending.code, 0) << ending.err << "the child's lines are not in the kernel's trace";
  for (int i = 0; i < 16; ++i) EXPECT_EQ(contents_of(file("own") + std::to_string(i)), "mine\nmine\n");
}

TEST_F(SinksE2eTest, WithoutTheKernelTraceThereIsNoMarker) {
  if (why_absent("trace-marker").empty()) GTEST_SKIP() << "the kernel's trace may be written here";
  const Ending ending = run({program("annotates"), "trace-marker"});
  EXPECT_EQ(ending.code, 1);
  EXPECT_THAT(ending.err, HasSubstr("annotates: no sink \"trace-marker\" here: "));
}

// ---- nvtx ----------------------------------------------------------------------------------------------------------

TEST_F(SinksE2eTest, AToolLoadedByNvtxReceivesTheDomain) {
  if (const std::string why = why_absent("nvtx"); !why.empty()) GTEST_SKIP() << why;
  for (const char* name : {"annotates", "annotates_static"}) {
    const Ending ending = annotate(
        " NVTX ", name, {{"NVTX_INJECTION64_PATH", program("nvtx_tool.so")}, {"NVTX_TOOL_LOG", file("received")}});
    ASSERT_EQ(ending.code, 0) << ending.err;
    EXPECT_EQ(ending.err, "");
    EXPECT_EQ(contents_of(file("received")),
              "kymo: push step 7\n"
              "kymo: push scope|of two\nlines\n"
              "kymo: mark cache miss colour ffe53935\n"
              "kymo: mark queue = 2.5\n"
              "kymo: pop\n"
              "kymo: start request GET / as 101\n"
              "kymo: end 101\n"
              "kymo: pop\n"
              "kymo: start scale = 2 as 102\n"
              "kymo: end 102\n"
              "kymo: mark scale execution=77 start_ns=1000 end_ns=2500\n"
              "kymo: mark scale:opencl:0:f32[16] (id=K3, run=2) execution=77 start_ns=1000 end_ns=2500\n");
  }
}

// Each copy reads KYMO_SINKS when it is loaded, and links only the parts of Kymo that its annotations need.
TEST_F(SinksE2eTest, SeveralCopiesOfTheLibrarySendOnce) {
  if (const std::string why = why_absent("nvtx"); !why.empty()) GTEST_SKIP() << why;
  constexpr int kCount = 20, kThreads = 4;
  for (const char* second : {"plugin_two.so", "plugin_shared.so"}) {
    const Ending ending =
        run({program("plugin_host"), program("plugin_one.so"), program(second), std::to_string(kCount)},
            {.environment = {{"KYMO_SINKS", "nvtx"},
                             {"NVTX_INJECTION64_PATH", program("nvtx_tool.so")},
                             {"NVTX_TOOL_LOG", file("received")}}});
    ASSERT_EQ(ending.code, 0) << ending.err;
    EXPECT_EQ(ending.err, "");
    std::map<std::string, int> received;
    std::ifstream lines(file("received"));
    for (std::string line; std::getline(lines, line);) ++received[line];
    EXPECT_EQ(received["kymo: push one"], kCount * kThreads);
    EXPECT_EQ(received["kymo: push two in one"], kCount * kThreads);
    EXPECT_EQ(received["kymo: push a site in a plug-in"], 2 * kCount * kThreads);
    EXPECT_EQ(received["kymo: push two alone"], kCount);
    EXPECT_EQ(received["kymo: pop"], 5 * kCount * kThreads + 1 + kCount);
  }
}

}  // namespace
}  // namespace kymo::e2e
