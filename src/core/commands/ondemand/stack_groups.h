// Where the threads of processes are, as text for people. Threads with the same state and the same stack are shown
// once: a pool has many of them, and a job has many ranks that wait for one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sample/process_stacks.h"

namespace kymo::cli {

struct SeenProcess {
  sample::ProcessStacks stacks;
  std::string host = {};  // empty: this one
  std::string rank = {};  // by its environment; empty: it has none
};

// Of one process: its threads, in order.
//
// Of several processes: their main threads before the others, and first those that are at the same place in most
// processes, so the rank for which all others wait has a group of its own. Addresses of locks, lines of the source and
// numbers of sockets do not count, because they differ between processes.
std::string stacks_text(std::span<const SeenProcess> processes);

// "63 ranks (0-16, 18-63)", or "rank 17 (process 4711 on node3)". Processes without a rank, or that share one, have
// their numbers.
std::string processes_text(const std::vector<const SeenProcess*>& processes);

}  // namespace kymo::cli
