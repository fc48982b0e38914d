// Records more than a ring holds, faster than a collector reads: burst COUNTS TOWERS DEPTH.
//
// A tower is DEPTH nested ranges, "level 0", "level 1", …, with a "top" mark in the innermost. done[0] counts the
// ranges, done[1] the marks. With a fourth argument, the program is killed at the end.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "../counts.h"
#include "kymo/annotate.h"

int main(int argc, char** argv) {
  kymo::e2e::Counts* counts = argc >= 4 ? kymo::e2e::map_counts(argv[1]) : nullptr;
  if (counts == nullptr) return 2;
  alarm(1500);
  const int towers = std::atoi(argv[2]), depth = std::atoi(argv[3]);
  std::vector<std::string> names;
  for (int level = 0; level < depth; ++level) names.push_back("level " + std::to_string(level));
  for (int tower = 0; tower < towers; ++tower) {
    for (int level = 0; level < depth; ++level)
      if (kymo::range_push(names[level], kymo::arg("tower", tower)) != level) return 1;
    kymo::mark("top");
    for (int level = depth; level > 0; --level)
      if (kymo::range_pop() != level - 1) return 1;
    counts->done[0] += static_cast<uint64_t>(depth);
    counts->done[1] += 1;
  }
  if (argc > 4) kill(getpid(), SIGKILL);
  return 0;
}
