// Threads that start and end: threads many COUNT COUNTS, threads at-once COUNT, or threads toggling COUNT FOLDER
// COUNTS.
//
// Each makes a "short" range with two "part" in it and a mark. "many" has a few at a time, each of which ends inside a
// "left open". "at-once" has all of them at the same time. "toggling" starts and stops COUNT sessions, into
// FOLDER/i.kymo, while threads start and end. done[0] counts the "short".
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <latch>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "../counts.h"
#include "kymo/annotate.h"
#include "kymo/session.h"

namespace {

constexpr int kAtOnce = 8;

void live_shortly() {
  KYMO_RANGE("short");
  { KYMO_RANGE("part"); }
  kymo::mark("half");
  { KYMO_RANGE("part"); }
}

int many(int count, kymo::e2e::Counts& counts) {
  for (int i = 0; i < count; i += kAtOnce) {
    std::vector<std::thread> threads;
    for (int k = i; k < count && k < i + kAtOnce; ++k)
      threads.emplace_back([&counts] {
        live_shortly();
        ++counts.done[0];
        kymo::range_push("left open");
      });
    for (auto& thread : threads) thread.join();
  }
  return 0;
}

// No thread ends before all have recorded.
int at_once(int count) {
  std::latch all(count);
  std::vector<std::thread> threads;
  try {
    while (static_cast<int>(threads.size()) < count) {
      threads.emplace_back([&all] {
        live_shortly();
        all.arrive_and_wait();
      });
    }
  } catch (const std::system_error&) {
    all.count_down(count - static_cast<int>(threads.size()));
  }
  for (auto& thread : threads) thread.join();
  return static_cast<int>(threads.size()) == count ? 0 : 77;
}

int toggling(int count, const std::string& folder, kymo::e2e::Counts& counts) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> spawners;
  for (int i = 0; i < 3; ++i) {
    spawners.emplace_back([&] {
      while (!stop) {
        std::thread short_lived([&] {
          for (int k = 0; k < 3; ++k) live_shortly();
          counts.done[0] += 3;
        });
        live_shortly();
        counts.done[0] += 1;
        short_lived.join();
      }
    });
  }
  for (int i = 0; i < count; ++i) {
    kymo::Session session(folder + "/" + std::to_string(i) + ".kymo");
    const uint64_t before = counts.done[0];
    while (counts.done[0] < before + 40) std::this_thread::yield();
    session.close();
    if (i % 3 == 0)
      while (counts.done[0] < before + 60) std::this_thread::yield();
  }
  stop = true;
  for (auto& spawner : spawners) spawner.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  alarm(1500);
  const std::string how = argv[1];
  const int count = std::atoi(argv[2]);
  if (how == "at-once") return at_once(count);
  kymo::e2e::Counts* counts = argc >= 4 ? kymo::e2e::map_counts(argv[argc - 1]) : nullptr;
  if (counts == nullptr) return 2;
  counts->pid = static_cast<uint32_t>(getpid());
  return how == "many" ? many(count, *counts) : toggling(count, argv[3], *counts);
}
