// A program of many processes that can record traces on request. Each process records one range after the other. The
// processes are forked from one that has done the same.
//
//   bench_served PROCESSES MICROSECONDS      how long a range is; until SIGTERM
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "kymo/annotate.h"
#include "kymo/ondemand.h"

namespace {

volatile sig_atomic_t stop_requested = 0;

void work(long microseconds) {
  const timespec time{microseconds / 1'000'000, microseconds % 1'000'000 * 1'000};
  while (stop_requested == 0) {
    KYMO_RANGE("request");
    nanosleep(&time, nullptr);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int processes = std::atoi(argv[1]);
  const long microseconds = std::atol(argv[2]);
  signal(SIGTERM, [](int) { stop_requested = 1; });
  for (int i = 1; i < processes; ++i) {
    if (fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    work(microseconds);
    return 0;
  }
  work(microseconds);
  kill(0, SIGTERM);  // its group, which the benchmark created
  while (wait(nullptr) > 0) {
  }
  return 0;
}
