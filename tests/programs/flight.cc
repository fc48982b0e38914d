// A flight recorder: flight TRACE DUMP COUNT HOW.
//
// Makes COUNT "turn" ranges that carry 0, 1, 2, … and data that does not compress. In the middle, HOW decides: "dump"
// calls kymo::dump(DUMP); "signal" sends itself the session's dump signal, waits until the trace exists, and renames it
// to DUMP. "kill" kills itself at the end.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "kymo/annotate.h"
#include "kymo/session.h"

namespace {

void turns(uint64_t from, uint64_t to) {
  static std::mt19937_64 random(7);
  for (uint64_t i = from; i < to; ++i) {
    KYMO_RANGE("turn", kymo::arg("number", i), kymo::arg("noise", random()));
  }
}

bool dumped(const char* path) {
  struct stat status {};
  return stat(path, &status) == 0 && status.st_size > 4096;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  alarm(1500);
  const char *trace = argv[1], *dump = argv[2];
  const uint64_t count = std::strtoull(argv[3], nullptr, 10);
  const std::string how = argv[4];
  kymo::Session session(trace, {.flight_bytes = 1 << 20, .dump_signal = SIGUSR1});
  turns(0, count / 2);
  if (how == "dump") kymo::dump(dump);
  if (how == "signal") {
    raise(SIGUSR1);
    while (!dumped(trace)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::rename(trace, dump);
  }
  turns(count / 2, count);
  if (how == "kill") kill(getpid(), SIGKILL);
  session.close();
  return 0;
}
