// Memory profiles, requested by a daemon or from code: their contents in every format, and who writes them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "analyze/memory/profile.h"
#include "kymo/queue.h"
#include "kymo/session.h"
#include "ondemand/test_program.h"

namespace kymo::ondemand {
namespace {

using testing::kMs;
using testing::Program;
using wire::RequestState;

constexpr uint64_t kAddress = 0x1000;
constexpr int64_t kBytes = 4096;

void report(bool taken) {
  static const kymo_label label = {"buffer", nullptr, 6, 0, 0};
  kymo_arg args[2] = {};
  args[0].name = "bytes";
  args[0].type = KYMO_BYTES;
  args[0].value.as_int = kBytes;
  args[1].name = "device";
  args[1].type = KYMO_STRING;
  args[1].value.as_text = "npu:0";
  args[1].length = 5;
  (taken ? kymo_allocation : kymo_free)(&label, args, 2, kAddress);
}

void allocate(const std::atomic<bool>& over) {
  while (!over) {
    report(true);
    usleep(200);
    report(false);
  }
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class AgentMemoryTest : public testing::WithDaemon {
 protected:
  // Writes to m7 with this file extension.
  wire::Start memory(const std::string& ending, uint64_t duration_ms) const {
    return {7, {.duration_ns = duration_ms * kMs, .output = file("m{request}" + ending)}, wire::RequestKind::Memory};
  }
};

TEST_F(AgentMemoryTest, FileNameSelectsTheFormat) {
  Program program(socket, allocate);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  const std::vector<std::pair<std::string, std::string>> forms = {
      {".kymo", "\x93KYMO"},    {".pickle", "\x80"},         {".html", "<!"}, {".json", "[["}, {".raw.json", "[["},
      {".json.gz", "\x1f\x8b"}, {".raw.json.gz", "\x1f\x8b"}};
  for (const auto& [ending, beginning] : forms) {
    const std::string path = file("m7" + ending);
    RequestState state = RequestState::Failed;
    for (int round = 0; round < 20 && state == RequestState::Failed; ++round) {  // a busy machine may allocate nothing
      agent->send(memory(ending, 20));
      const auto done = agent->next_of<wire::Done>();
      ASSERT_TRUE(done);
      state = done->state;
      if (state != RequestState::Finished) continue;
      EXPECT_EQ(done->path, path);
      EXPECT_EQ(done->bytes, std::filesystem::file_size(done->path));
      EXPECT_GT(done->events, 0u);
      EXPECT_EQ(done->kind, wire::RequestKind::Memory);
    }
    EXPECT_EQ(state, RequestState::Finished) << path;
    EXPECT_TRUE(text_of(path).starts_with(beginning)) << path;
  }
  EXPECT_EQ(files_there().size(), forms.size()) << "nothing is left beside them";
  const memory::Profile profile = memory::read_profile(trace::Reader(file("m7.kymo")));
  EXPECT_EQ(profile.tables.memories.at(0).device, "npu:0");
  EXPECT_EQ(profile.peak_bytes, static_cast<uint64_t>(kBytes));
}

TEST_F(AgentMemoryTest, UnknownFileExtensionIsRefusedBeforeRecording) {
  Program program(socket, allocate);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(memory(".txt", 60'000));
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Failed);
  EXPECT_EQ(done->kind, wire::RequestKind::Memory);
  EXPECT_NE(done->text.find(".pickle"), std::string::npos) << done->text;
  EXPECT_TRUE(files_there().empty());
}

TEST_F(AgentMemoryTest, ProfileWithoutAllocationsFailsWithARemedyAndLeavesNoFile) {
  Program program(socket, testing::work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  for (const char* ending : {".pickle", ".kymo"}) {
    agent->send(memory(ending, 10));
    const auto done = agent->next_of<wire::Done>();
    ASSERT_TRUE(done);
    EXPECT_EQ(done->state, RequestState::Failed);
    EXPECT_NE(done->text.find("LD_PRELOAD=libkymo_malloc.so"), std::string::npos) << done->text;
    EXPECT_TRUE(files_there().empty());
  }
}

TEST_F(AgentMemoryTest, UnknownRequestKindIsRefused) {
  Program program(socket, allocate);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  wire::Start start = memory(".kymo", 10);
  start.kind = static_cast<wire::RequestKind>(9);
  agent->send(start);
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Failed);
  EXPECT_EQ(done->text, "request kind 9 is unknown to this version of Kymo");
  EXPECT_TRUE(files_there().empty());
}

struct Framework : Client {
  std::vector<std::string> calls;
  void prepare(bool, bool profile_memory, bool, bool, bool) override {
    calls.push_back(profile_memory ? "prepare" : "prepare without memory");
  }
  void start() override { calls.push_back("start"); }
  void start_memory_profile() override { calls.push_back("start_memory_profile"); }
  void stop_memory_profile() override { calls.push_back("stop_memory_profile"); }
  bool export_memory_profile(const std::string& path) override {
    calls.push_back("export_memory_profile");
    std::ofstream(path) << "theirs";
    return true;
  }
};

TEST_F(AgentMemoryTest, ClientIsCalledAndItsProfileIsTheResultIfThereIsNoOther) {
  Program program(socket, [](const std::atomic<bool>& over) {
    Registration<Framework> framework;
    testing::work_in_ranges(over);
    EXPECT_EQ(framework.client.calls, (std::vector<std::string>{"prepare", "start_memory_profile",
                                                                "stop_memory_profile", "export_memory_profile"}));
  });
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(memory(".pickle", 10));
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Finished) << done->text;
  EXPECT_EQ(done->path, file("m7_client1.pickle"));
  EXPECT_EQ(done->bytes, 6u);
  EXPECT_EQ(text_of(done->path), "theirs");
  EXPECT_EQ(program.end(), 0);
}

TEST_F(AgentMemoryTest, TraceWithMemoryContainsTheAllocations) {
  Program program(socket, allocate);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  uint64_t peak = 0;
  for (int round = 0; round < 20 && peak == 0; ++round) {
    wire::Start start = start_for(50);
    start.options.flags = wire::kWithMemory;
    agent->send(start);
    const auto done = agent->next_of<wire::Done>();
    ASSERT_TRUE(done);
    ASSERT_EQ(done->state, RequestState::Finished) << done->text;
    EXPECT_EQ(done->kind, wire::RequestKind::Trace);
    peak = memory::read_profile(trace::Reader(done->path)).peak_bytes;
  }
  EXPECT_EQ(peak, static_cast<uint64_t>(kBytes));
}

// ---- From code

TEST(CodeMemoryTest, ProfileCanBeExportedSeveralTimesAfterItEnds) {
  char pattern[] = "/tmp/kymo-code-memory-XXXXXX";
  const std::string folder = mkdtemp(pattern);
  EXPECT_THROW(export_memory_profile(folder + "/m.html"), Error) << "there is none yet";
  EXPECT_THROW(stop_memory_profile(), Error);
  start_memory_profile();
  EXPECT_THROW(start_memory_profile(), Error);
  EXPECT_THROW(start(folder + "/t.kymo"), Error);
  report(true);
  report(false);
  report(true);
  stop_memory_profile();
  for (const char* name : {"m.html", "m.pickle", "m.json", "m.raw.json.gz", "m.kymo"}) {
    export_memory_profile(folder + "/" + name);
    EXPECT_GT(std::filesystem::file_size(folder + "/" + name), 10u) << name;
  }
  EXPECT_THROW(export_memory_profile(folder + "/m.txt"), InvalidArgument);
  const memory::Profile profile = memory::read_profile(trace::Reader(folder + "/m.kymo"));
  EXPECT_EQ(profile.counts.allocations, 2u);
  EXPECT_EQ(profile.end_bytes, static_cast<uint64_t>(kBytes));
  std::filesystem::remove_all(folder);
}

TEST(CodeMemoryTest, ExportOfARunningProfileContainsAllAllocationsSoFar) {
  char pattern[] = "/tmp/kymo-code-memory-XXXXXX";
  const std::string folder = mkdtemp(pattern);
  start_memory_profile();
  for (uint64_t round = 1; round <= 5; ++round) {
    for (int i = 0; i < 1000; ++i) report(true), report(false);
    export_memory_profile(folder + "/m.kymo");
    const memory::Profile profile = memory::read_profile(trace::Reader(folder + "/m.kymo"));
    EXPECT_EQ(profile.counts.allocations, 1000 * round);
    EXPECT_EQ(profile.counts.returns, 1000 * round);
  }
  stop_memory_profile();
  std::filesystem::remove_all(folder);
}

TEST(CodeMemoryTest, ClientsWriteNextToTheProfile) {
  char pattern[] = "/tmp/kymo-code-memory-XXXXXX";
  const std::string folder = mkdtemp(pattern);
  Registration<Framework> framework;
  prepare(false, true, false, false, false);
  start_memory_profile();
  report(true);
  stop_memory_profile();
  export_memory_profile(folder + "/m.pickle");
  EXPECT_EQ(text_of(folder + "/m_client1.pickle"), "theirs");
  EXPECT_TRUE(text_of(folder + "/m.pickle").starts_with("\x80"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace kymo::ondemand
