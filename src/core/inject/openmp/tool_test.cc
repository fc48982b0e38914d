// The tool, called as an OpenMP runtime calls it, and what it writes into a trace.
#include "inject/openmp/tool.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "kymo/session.h"
#include "trace/reader.h"

namespace kymo::inject::openmp {
namespace {

// A runtime without threads: a test calls the callbacks.
struct Runtime {
  static inline std::map<Callback, Function> callbacks;
  static int set(Callback which, Function function) {
    callbacks[which] = function;
    return 5;
  }
  static Function look_up(const char* name) {
    return std::string(name) == "ompt_set_callback" ? reinterpret_cast<Function>(set) : nullptr;
  }
  template <class... Args>
  static void call(Callback which, Args... args) {
    ASSERT_NE(callbacks[which], nullptr);
    reinterpret_cast<void (*)(Args...)>(callbacks[which])(args...);
  }
  static void region_begin(Data& region, const void* code = nullptr) {
    call<Data*, const void*, Data*, unsigned, int, const void*>(Callback::ParallelBegin, nullptr, nullptr, &region, 2u,
                                                                0, code);
  }
  static void region_end() {
    call<Data*, Data*, int, const void*>(Callback::ParallelEnd, nullptr, nullptr, 0, nullptr);
  }
  static void member(Endpoint endpoint, Data* region, unsigned index) {
    call<Endpoint, Data*, Data*, unsigned, unsigned, int>(Callback::ImplicitTask, endpoint, region, nullptr, 2u, index,
                                                          2);
  }
  static void work(WorkKind kind, Endpoint endpoint) {
    call<WorkKind, Endpoint, Data*, Data*, uint64_t, const void*>(Callback::Work, kind, endpoint, nullptr, nullptr,
                                                                  uint64_t{10}, nullptr);
  }
  static void sync(SyncKind kind, Endpoint endpoint, const void* code) {
    call<SyncKind, Endpoint, Data*, Data*, const void*>(Callback::SyncRegion, kind, endpoint, nullptr, nullptr, code);
  }
  static void create(Data& task, int flags = kExplicitTask) {
    call<Data*, const void*, Data*, int, int, const void*>(Callback::TaskCreate, nullptr, nullptr, &task, flags, 0,
                                                           nullptr);
  }
  static void schedule(Data& prior, TaskStatus status, Data& next) {
    call<Data*, TaskStatus, Data*>(Callback::TaskSchedule, &prior, status, &next);
  }
};

const void* code() { return reinterpret_cast<const void*>(&ompt_start_tool); }

class ToolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/kymo-openmp-test-XXXXXX";
    folder = mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string file() const { return folder + "/a.kymo"; }

  // Starts the tool in a session, as `kymo record` does.
  std::unique_ptr<Session> start() {
    auto session = std::make_unique<Session>(file());
    StartResult* result = ompt_start_tool(201811, "test runtime");
    EXPECT_TRUE(result != nullptr && result->initialize(Runtime::look_up, 0, &result->tool) == 1);
    return session;
  }

  struct Seen {
    std::map<std::string, int> ranges;       // by name
    std::map<std::string, uint16_t> depths;  // the deepest of each name
    std::map<std::string, uint64_t> durations;
    uint64_t lost = 0;
    std::vector<std::string> threads;
  };
  Seen look() const {
    Seen seen;
    const trace::Reader reader(file());
    EXPECT_TRUE(reader.problems().empty());
    for (const auto& [id, writer] : reader.writers()) {
      for (const auto& [track_id, track] : writer.tracks) seen.threads.push_back(track.name);
      for (const trace::Loss& loss : writer.losses) seen.lost += loss.count;
    }
    trace::EventBatch batch;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      reader.read(chunk, batch);
      for (size_t i = 0; i < batch.ranges.size(); ++i) {
        const std::string& name = reader.writers().at(chunk.writer).classes.at(batch.ranges.class_id[i]).name;
        ++seen.ranges[name];
        seen.depths[name] = std::max<uint16_t>(seen.depths[name], static_cast<uint16_t>(batch.ranges.depth[i]));
        seen.durations[name] += batch.ranges.duration[i];
      }
    }
    return seen;
  }

  std::string folder;
};

TEST_F(ToolTest, DeclinesWhileNothingRecords) {
  unsetenv("KYMO_OPENMP");
  EXPECT_EQ(ompt_start_tool(201811, "test runtime"), nullptr);
  setenv("KYMO_OPENMP", "on", 1);
  EXPECT_NE(ompt_start_tool(201811, "test runtime"), nullptr);
  setenv("KYMO_OPENMP", "yes", 1);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ompt_start_tool(201811, "test runtime"), nullptr);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "kymo: KYMO_OPENMP: use on or off, not yes\n");
  unsetenv("KYMO_OPENMP");
}

TEST_F(ToolTest, ARuntimeWithoutCallbacksIsLeftAlone) {
  const auto session = start();
  EXPECT_EQ(ompt_start_tool(201811, "")->initialize([](const char*) -> Function { return nullptr; }, 0, nullptr), 0);
}

TEST_F(ToolTest, RegionsWorkAndBarriersAreNestedRanges) {
  auto session = start();
  Data region{};
  Runtime::region_begin(region, code());
  Runtime::member(Endpoint::Begin, &region, 0);
  Runtime::work(WorkKind::Loop, Endpoint::Begin);
  Runtime::work(WorkKind::Loop, Endpoint::End);
  Runtime::sync(SyncKind::BarrierExplicit, Endpoint::Begin, code());
  Runtime::sync(SyncKind::BarrierExplicit, Endpoint::End, code());
  Runtime::member(Endpoint::End, nullptr, 0);
  Runtime::region_end();
  session->close();
  const Seen seen = look();
  EXPECT_EQ(seen.lost, 0u);
  ASSERT_EQ(seen.ranges.size(), 3u);
  EXPECT_EQ(seen.ranges.at("omp loop"), 1);
  EXPECT_EQ(seen.ranges.at("omp barrier"), 1);
  EXPECT_EQ(seen.depths.at("omp loop"), 1);
  for (const auto& [name, count] : seen.ranges)
    EXPECT_EQ(seen.depths.at(name), name.starts_with("omp parallel ") ? 0 : 1) << name;
}

TEST_F(ToolTest, AMissingEndIsClosedWithItsRegion) {
  auto session = start();
  Data region{};
  Runtime::region_begin(region);
  Runtime::work(WorkKind::Loop, Endpoint::Begin);
  Runtime::sync(SyncKind::Taskwait, Endpoint::Begin, code());
  Runtime::region_end();
  Runtime::work(WorkKind::Loop, Endpoint::End);  // late: it closes nothing
  Runtime::region_end();
  Runtime::region_begin(region);
  Runtime::region_end();
  session->close();
  const Seen seen = look();
  EXPECT_EQ(seen.lost, 0u);
  EXPECT_EQ(seen.ranges, (std::map<std::string, int>{{"omp parallel", 2}, {"omp loop", 1}, {"omp taskwait", 1}}));
  EXPECT_EQ(seen.depths.at("omp parallel"), 0);
}

TEST_F(ToolTest, AWorkersRegionEndsAtItsLastBarrier) {
  auto session = start();
  Data region{};
  Runtime::region_begin(region);
  std::thread([&] {
    Runtime::call<ThreadKind, Data*>(Callback::ThreadBegin, ThreadKind::Worker, nullptr);
    for (int i = 0; i < 3; ++i) {
      Runtime::member(Endpoint::Begin, &region, 1);
      Runtime::sync(SyncKind::BarrierImplicit, Endpoint::Begin, nullptr);
      Runtime::sync(SyncKind::BarrierImplicit, Endpoint::End, nullptr);  // when the next region begins
      Runtime::member(Endpoint::End, nullptr, 1);
    }
    Runtime::call<Data*>(Callback::ThreadEnd, nullptr);
  }).join();
  Runtime::region_end();
  session->close();
  const Seen seen = look();
  EXPECT_EQ(seen.lost, 0u);
  EXPECT_EQ(seen.ranges, (std::map<std::string, int>{{"omp parallel", 4}, {"omp wait for work", 3}}));
  EXPECT_EQ(seen.depths.at("omp wait for work"), 0) << "beside the region, not inside it";
  EXPECT_NE(std::find(seen.threads.begin(), seen.threads.end(), "OpenMP worker 1"), seen.threads.end());
}

TEST_F(ToolTest, TasksAreRangesWhereTheyRun) {
  auto session = start();
  Data implicit{}, outer{}, inner{};
  Runtime::create(implicit, 2);
  Runtime::create(outer);
  Runtime::create(inner);
  Runtime::schedule(implicit, TaskStatus::Switch, outer);
  Runtime::sync(SyncKind::Taskwait, Endpoint::Begin, code());
  Runtime::schedule(outer, TaskStatus::Switch, inner);
  Runtime::schedule(inner, TaskStatus::Complete, outer);
  Runtime::sync(SyncKind::Taskwait, Endpoint::End, code());
  Runtime::schedule(outer, TaskStatus::Complete, implicit);
  session->close();
  const Seen seen = look();
  EXPECT_EQ(seen.lost, 0u);
  EXPECT_EQ(seen.ranges, (std::map<std::string, int>{{"omp task", 2}, {"omp taskwait", 1}}));
  EXPECT_EQ(seen.depths.at("omp task"), 2);
}

TEST_F(ToolTest, ARegionThatBeganBeforeTheRecordingHasNoEnd) {
  start()->close();
  Data region{};
  Runtime::region_begin(region);
  auto session = std::make_unique<Session>(file());
  Runtime::work(WorkKind::Sections, Endpoint::Begin);
  Runtime::work(WorkKind::Sections, Endpoint::End);
  Runtime::region_end();
  session->close();
  const Seen seen = look();
  EXPECT_EQ(seen.lost, 0u);
  EXPECT_EQ(seen.ranges, (std::map<std::string, int>{{"omp sections", 1}}));
}

TEST_F(ToolTest, RegionsMayBeDeeperThanTheTableOfRanges) {
  constexpr int kDeep = 400;
  auto session = start();
  Data region{};
  for (int i = 0; i < kDeep; ++i) Runtime::region_begin(region);
  for (int i = 0; i < kDeep; ++i) Runtime::region_end();
  Runtime::work(WorkKind::Loop, Endpoint::Begin);
  Runtime::work(WorkKind::Loop, Endpoint::End);
  session->close();
  const Seen seen = look();
  EXPECT_EQ(seen.lost, 0u);
  EXPECT_EQ(seen.ranges, (std::map<std::string, int>{{"omp parallel", 256}, {"omp loop", 1}}));
  EXPECT_EQ(seen.depths.at("omp loop"), 0);
}

TEST_F(ToolTest, WaitsForLocksAreRanges) {
  auto session = start();
  for (const MutexKind kind : {MutexKind::Lock, MutexKind::Critical, MutexKind::TestLock}) {
    Runtime::call<MutexKind, unsigned, unsigned, uint64_t, const void*>(Callback::MutexAcquire, kind, 0u, 0u,
                                                                        uint64_t{1}, nullptr);
    Runtime::call<MutexKind, uint64_t, const void*>(Callback::MutexAcquired, kind, uint64_t{1}, nullptr);
  }
  session->close();
  EXPECT_EQ(look().ranges, (std::map<std::string, int>{{"omp wait for lock", 1}, {"omp wait for critical", 1}}));
}

}  // namespace
}  // namespace kymo::inject::openmp
