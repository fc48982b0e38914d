// A launcher of ranks: launches_ranks RANKS STEPS [RUNS].
//
// It has no rank itself, and records a range around all. It starts the ranks RUNS times (1), as after failures. Each
// rank is this program again, with RANK in its environment: it makes STEPS ranges "step N" with a range "work" inside,
// and starts a child without a rank that makes a range "loads".
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "kymo/annotate.h"

namespace {

bool ends_well(pid_t child) {
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int run_rank(int steps) {
  for (int i = 1; i <= steps; ++i) {
    const kymo::Range step("step " + std::to_string(i));
    const kymo::Range work("work");
    ::usleep(1'000);
  }
  const pid_t child = ::fork();
  if (child != 0) return ends_well(child) ? 0 : 1;
  ::unsetenv("RANK");
  { const kymo::Range loads("loads"); }
  ::exit(0);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const int ranks = std::atoi(arguments[1]), steps = std::atoi(arguments[2]);
  if (ranks == 0) return run_rank(steps);
  const kymo::Range around("launch");
  const int runs = count > 3 ? std::atoi(arguments[3]) : 1;
  bool is_good = true;
  for (int i = 0; i < runs * ranks; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("RANK", std::to_string(i % ranks).c_str(), 1);
      ::execl("/proc/self/exe", arguments[0], "0", arguments[2], nullptr);
      ::_exit(1);
    }
    is_good = ends_well(child) && is_good;
  }
  return is_good ? 0 : 1;
}
