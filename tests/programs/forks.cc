// Records in more than one process: forks HOW COUNT.
//
// Each process that must be in the trace makes COUNT ranges, named after its role. Checks that the depths that the
// calls return continue in a child from its parent. Programs started by exec are this program again, as "leaf".
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kymo/annotate.h"
#include "kymo/session.h"

namespace {

int count = 0;
std::string self;

void expect(bool holds) {
  if (!holds) std::abort();
}

void work(const char* name) {
  for (int i = 0; i < count; ++i) {
    const kymo::Range range{name};
    kymo::mark("beat");
    KYMO_RANGE("site");  // a child finds this site with the class that its parent registered
  }
}

void wait_for(pid_t child) {
  int status = 0;
  expect(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Every second child ends with _exit, without cleanup.
[[noreturn]] void leave(int which) {
  if (which % 2 == 0) std::exit(0);
  _exit(0);
}

char** leaf_arguments() {
  static std::string number = std::to_string(count), leaf = "leaf";
  static char* arguments[] = {self.data(), leaf.data(), number.data(), nullptr};
  return arguments;
}

// A child inside two of its parent's ranges, and a grandchild inside one more.
int nested_forks() {
  expect(kymo::range_push("family") == 0);
  work("before");
  expect(kymo::range_push("family") == 1);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t silent_grandchild = fork();  // before the child has recorded anything
    if (silent_grandchild == 0) {
      expect(kymo::range_push("grandchild") == 2);
      work("grandchild");
      expect(kymo::range_pop() == 2 && kymo::range_pop() == 1 && kymo::range_pop() == 0);
      leave(0);
    }
    wait_for(silent_grandchild);
    expect(kymo::range_push("child") == 2);
    work("child");
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      expect(kymo::range_pop() == 2);
      work("grandchild");
      leave(1);
    }
    wait_for(grandchild);
    expect(kymo::range_pop() == 2 && kymo::range_pop() == 1 && kymo::range_pop() == 0);
    leave(1);
  }
  work("parent");
  wait_for(child);
  expect(kymo::range_pop() == 1 && kymo::range_pop() == 0);
  return 0;
}

// Children of a process whose other threads record.
int forks_beside_threads() {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      int made = 0;
      while (!stop || made < count) {
        const kymo::Range range{"thread", kymo::arg("number", made++)};
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      work("child");
      leave(i);
    }
    if (i % 4 == 3) work("parent");
    wait_for(child);
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  return 0;
}

// A child that drops root's rights before it records, as the workers of a server do.
int changes_user() {
  constexpr unsigned kNobody = 65534;
  work("parent");
  const pid_t child = fork();
  if (child == 0) {
    expect(setgid(kNobody) == 0 && setuid(kNobody) == 0);
    work("child");
    leave(0);
  }
  wait_for(child);
  return 0;
}

// The same, and the child starts another program.
int changes_user_and_program() {
  constexpr unsigned kNobody = 65534;
  work("parent");
  const pid_t child = fork();
  if (child == 0) {
    expect(setgid(kNobody) == 0 && setuid(kNobody) == 0);
    execv(self.c_str(), leaf_arguments());
    _exit(1);
  }
  wait_for(child);
  return 0;
}

// Children whose threads all record their first event at the same time, and one that starts with a range across
// threads.
int racing_children() {
  work("parent");
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      std::atomic<int> waiting{3};
      std::vector<std::thread> threads;
      for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
          --waiting;
          while (waiting > 0) continue;
          work("child");
        });
      }
      for (auto& thread : threads) thread.join();
      leave(i);
    }
    wait_for(child);
  }
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < count; ++i) kymo::range_end(kymo::range_start("across"));
    leave(0);
  }
  wait_for(child);
  return 0;
}

// A child that sees other files from now on, as the workers of a server do.
int enters_jail(const char* jail) {
  work("parent");
  const pid_t child = fork();
  if (child == 0) {
    expect(chroot(jail) == 0 && chdir("/") == 0);
    work("child");
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      work("grandchild");
      leave(0);
    }
    wait_for(grandchild);
    leave(0);
  }
  wait_for(child);
  return 0;
}

// Children of a process whose trace was moved.
int moves_trace(const char* from, const char* to) {
  work("parent");
  expect(rename(from, to) == 0);
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      work("child");
      leave(i);
    }
    wait_for(child);
  }
  work("parent");
  return 0;
}

// Children that record nothing and end normally. They must not change the recording.
int silent_children() {
  for (int i = 0; i < 10; ++i) {
    work("parent");
    const pid_t child = fork();
    if (child == 0) leave(i);
    wait_for(child);
  }
  return std::system("true");
}

// One short-lived child after another.
int many_children() {
  for (int i = 0; i < 60; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      work("child");
      leave(i);
    }
    wait_for(child);
  }
  return 0;
}

int fork_and_exec() {
  work("parent");
  const pid_t child = fork();
  if (child == 0) {
    execv(self.c_str(), leaf_arguments());
    _exit(1);
  }
  wait_for(child);
  work("parent");
  return 0;
}

int exec_in_place() {
  work("parent");
  execv(self.c_str(), leaf_arguments());
  return 1;
}

int spawn() {
  work("parent");
  pid_t child = 0;
  expect(posix_spawn(&child, self.c_str(), nullptr, nullptr, leaf_arguments(), environ) == 0);
  wait_for(child);
  work("parent");
  return 0;
}

// A range of a session that has ended before the fork. It ends in the child, where nothing is recorded.
int fork_after_session(const std::string& path) {
  std::optional<kymo::Range> range;
  kymo::Session session(path);
  work("parent");
  range.emplace("half");
  session.close();
  const pid_t child = fork();
  if (child == 0) {
    range.reset();
    expect(!kymo::is_recording());
    work("child");
    leave(0);
  }
  wait_for(child);
  return 0;
}

// The program's own fork handler records. It was registered before Kymo's.
int record_in_fork_handler(const std::string& path) {
  expect(pthread_atfork(nullptr, nullptr, [] { work("handler"); }) == 0);
  kymo::Session session(path);
  const pid_t child = fork();
  if (child == 0) {
    work("child");
    leave(0);
  }
  wait_for(child);
  work("parent");
  session.close();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string how = argv[1];
  self = argv[0];
  count = std::atoi(argv[2]);
  alarm(1500);
  if (how == "leaf") return work("leaf"), 0;
  if (how == "nested") return nested_forks();
  if (how == "user") return changes_user();
  if (how == "user-exec") return changes_user_and_program();
  if (how == "racing") return racing_children();
  if (how == "jail") return enters_jail(argv[3]);
  if (how == "moved") return moves_trace(argv[3], argv[4]);
  if (how == "threads") return forks_beside_threads();
  if (how == "silent") return silent_children();
  if (how == "many") return many_children();
  if (how == "exec") return fork_and_exec();
  if (how == "in-place") return exec_in_place();
  if (how == "spawn") return spawn();
  if (how == "after-session") return fork_after_session(argv[3]);
  if (how == "handler") return record_in_fork_handler(argv[3]);
  return 2;
}
