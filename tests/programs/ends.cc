// Records some ranges and ends in the given way: ends HOW COUNT.
//
// The main thread makes COUNT "work" ranges, each with an "inner" in it, all inside "main". A thread that has ended
// before makes COUNT "thread work" ranges. "busy" and "exit_in_thread" leave threads that never stop recording
// "background".
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "kymo/annotate.h"

namespace {

void end(const std::string& how) {
  if (how == "exit") std::exit(0);
  if (how == "_exit") _exit(0);
  if (how == "abort") std::abort();
  if (how == "throw") throw std::runtime_error("nobody catches this");
  if (how == "segv") *static_cast<volatile int*>(nullptr) = 1;
  if (how == "kill") kill(getpid(), SIGKILL);
  if (how == "exit_in_thread") std::thread([] { std::exit(0); }).join();
}

void start_background() {
  for (int i = 0; i < 2; ++i)
    std::thread([] {
      while (true) {
        KYMO_RANGE("background");
      }
    }).detach();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int count = std::atoi(argv[2]);
  const std::string how = argv[1];
  alarm(1500);
  if (how == "busy" || how == "exit_in_thread") start_background();
  KYMO_RANGE("main");
  std::thread([count] {
    for (int i = 0; i < count; ++i) {
      KYMO_RANGE("thread work");
    }
  }).join();
  for (int i = 0; i < count; ++i) {
    KYMO_RANGE("work");
    const kymo::Range inner{"inner", kymo::arg("number", i)};
  }
  end(how);
  return 0;
}
