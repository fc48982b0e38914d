// A forked child does not have the profiler of its parent.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "edge/test_module.h"
#include "kymo/edge.h"
#include "kymo/edge_engine.h"

namespace kymo::edge::testing {
namespace {

// Runs it in a forked child: the number of the first step that failed, 0 if all succeeded.
template <class Steps>
int in_child(Steps steps) {
  const pid_t child = fork();
  if (child == 0) _exit(steps());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkTest, AChildHasNoProfilerAndMayCreateOne) {
  TestModule module;
  EdgeProfiler profiler(module, {});
  std::optional<Operation> open(std::in_place, "open", 1);
  Log* const log = current_log();
  EXPECT_EQ(in_child([&] {
              if (get_current_edge_profiler() != nullptr) return 1;
              if (current_log() != nullptr) return 2;
              KYMO_RECORD_BACKEND_EVENT(1, 2, 3, "event", "backend");
              if (begin(*log, {.name = "of the child"}, nullptr) != nullptr) return 3;
              open.reset();
              if (refusal([&] { profiler.disable_profiler(); }).find("belongs to the parent") == std::string::npos)
                return 4;
              TestModule own_module;
              EdgeProfiler own(own_module, {});
              if (get_current_edge_profiler() != &own) return 5;
              { const Operation operation("child's", 1); }
              const EdgeResult result = own.disable_profiler();
              if (result.events().size() != 1 || result.events()[0].name != "child's") return 6;
              return 0;
            }),
            0);
  EXPECT_EQ(get_current_edge_profiler(), &profiler);
  open.reset();
  const EdgeResult result = profiler.disable_profiler();
  ASSERT_EQ(result.events().size(), 1u);
  EXPECT_TRUE(result.events()[0].finished);
}

TEST(ForkTest, AnAdoptedLogDoesNotComeBackInAChild) {
  TestModule module;
  EdgeProfiler profiler(module, {});
  Log* const log = current_log();
  std::optional<AdoptedLog> none(std::in_place, nullptr);
  std::optional<AdoptedLog> again(std::in_place, log);
  EXPECT_EQ(in_child([&] {
              again.reset();
              if (current_log() != nullptr) return 1;
              none.reset();
              return current_log() == nullptr ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace kymo::edge::testing
