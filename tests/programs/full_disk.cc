// A program with a full disk: full_disk TRACE COUNT COUNTS.
//
// After the recording has started, no file of this process may grow. Makes COUNT "work" ranges that carry 0, 1, 2, …,
// closes the session, and prints the error. done[0] counts the ranges.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "../counts.h"
#include "kymo/annotate.h"
#include "kymo/session.h"

int main(int argc, char** argv) {
  kymo::e2e::Counts* counts = argc == 4 ? kymo::e2e::map_counts(argv[3]) : nullptr;
  if (counts == nullptr) return 2;
  alarm(1500);
  signal(SIGXFSZ, SIG_IGN);
  kymo::Session session(argv[1]);
  kymo::mark("begin");
  struct stat status {};
  if (stat(argv[1], &status) != 0) return 1;
  const rlimit limit{static_cast<rlim_t>(status.st_size) + 2000, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
  const int count = std::atoi(argv[2]);
  for (int i = 0; i < count; ++i) {
    { KYMO_RANGE("work", kymo::arg("number", i)); }
    ++counts->done[0];
  }
  try {
    session.close();
  } catch (const kymo::Error& error) {
    std::printf("%s\n", error.what());
    fflush(stdout);
    return 3;
  }
  return 0;
}
