// Records in signal handlers: signals loop COUNTS TURNS, or signals first COUNTS.
//
// "loop": a timer interrupts a thread that only records. done[0] counts the runs of the handler, each an "in handler"
// with a "deeper" and a mark in it. done[1] counts the turns of the loop, each an "outer" with an "inner" in it.
// "first": threads whose first record is made by a handler, while they are inside a call of Kymo. done[0] counts the
// marks.
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "../counts.h"
#include "kymo/annotate.h"

namespace {

kymo::e2e::Counts* counts;

void handle_in_loop(int) {
  {
    KYMO_RANGE("in handler");
    kymo_range_push("deeper");
    kymo_mark("tick");
    kymo_range_pop();
  }
  ++counts->done[0];
}

void install(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

void set_timer(int microseconds) {
  const itimerval every{{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &every, nullptr);
}

int loop(uint64_t turns) {
  install(SIGALRM, handle_in_loop);
  kymo::mark("begin");
  set_timer(30);
  for (uint64_t turn = 0; turn < turns; ++turn) {
    if (kymo::range_push("outer") != 0) return 1;
    { KYMO_RANGE("inner", kymo::arg("turn", turn), kymo::arg("what", "text that fills a few cells of the ring")); }
    if (kymo::range_pop() != 0) return 1;
    ++counts->done[1];
  }
  set_timer(0);
  return 0;
}

std::atomic<bool> handled;

void handle_first(int) {
  if (handled) return;
  kymo_mark("first");
  ++counts->done[0];
  handled = true;
}

// A thread that only sets its name has no ring. The mark of the handler gets it one, while the call is running.
int first() {
  install(SIGUSR1, handle_first);
  for (int i = 0; i < 300; ++i) {
    handled = false;
    std::atomic<bool> started{false};
    std::thread thread([&] {
      while (!handled) {
        kymo_set_thread_name("a thread with a long name, to be long about it");
        started = true;
      }
    });
    while (!started) std::this_thread::yield();
    pthread_kill(thread.native_handle(), SIGUSR1);
    thread.join();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  counts = argc >= 3 ? kymo::e2e::map_counts(argv[2]) : nullptr;
  if (counts == nullptr) return 2;
  return argc > 3 ? loop(std::strtoull(argv[3], nullptr, 10)) : first();
}
