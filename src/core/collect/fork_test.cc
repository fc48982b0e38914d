// Sessions of processes that fork.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "base/test_wait.h"
#include "kymo/annotate.h"
#include "kymo/queue.h"
#include "kymo/session.h"
#include "trace/reader.h"

namespace kymo {
namespace {

class SessionForkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/kymo-fork-test-XXXXXX";
    folder = mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string file(const std::string& name = "a.kymo") const { return folder + "/" + name; }

  // Runs `body` in a forked child. Returns the wait status; a child that hangs is killed.
  template <class Body>
  static int in_child(Body body) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(600);
      body();
      _exit(0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  std::string folder;
};

std::atomic<int> flush_stage{0};  // 1: a thread is inside the callback; 2: it may leave

TEST_F(SessionForkTest, AForkDuringAFlushOfAnotherThreadDoesNotBlockTheChild) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer does not support threads in a child of a program with threads";
#endif
  const auto flush = [](void*) {
    int before = 0;
    if (!flush_stage.compare_exchange_strong(before, 1)) return;
    base::wait_until("the child", [] { return flush_stage == 2; });
  };
  SessionOptions options;
  options.flight_bytes = 1 << 20;
  Session session(file(), options);
  ASSERT_TRUE(kymo_on_flush(flush, nullptr));
  std::thread dumper([&] { dump(file("dump.kymo")); });
  ASSERT_TRUE(base::wait_until("the flush", [] { return flush_stage == 1; }));
  EXPECT_EQ(in_child([] {
              mark("child");
              if (kymo_on_flush([](void*) {}, nullptr) == 0) _exit(1);
            }),
            0);
  flush_stage = 2;
  dumper.join();
  kymo_remove_flush(flush, nullptr);
  session.close();
}

// The children get no segment, and the path does not lead to the trace, so they cannot write into it either.
TEST_F(SessionForkTest, ChildrenThatCannotRecordAreCountedByTheirParent) {
  constexpr int kChildren = 3;
  Session session(file());
  mark("parent");
  std::filesystem::rename(file(), file("moved.kymo"));
  for (int i = 0; i < kChildren; ++i)
    EXPECT_EQ(in_child([] {
                setenv("KYMO_SHM_DIR", "/nowhere/at/all", 1);
                mark("child");
                mark("child");
              }),
              0);
  std::filesystem::rename(file("moved.kymo"), file());
  session.close();
  const trace::Reader reader(file());
  ASSERT_EQ(reader.writers().size(), 1u);
  const auto& losses = reader.writers().begin()->second.losses;
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].cause, trace::LossCause::Unrecorded);
  EXPECT_EQ(losses[0].count, uint64_t{kChildren});
}

}  // namespace
}  // namespace kymo
