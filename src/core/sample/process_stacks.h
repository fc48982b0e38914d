// The stacks of all threads of a running process, as they are now, and what the threads wait for.
//
// The process stops while registers and stacks are copied, and goes on before anything is looked up: about 0.1 ms for a
// thread. System calls that it waits in go on, except for those that any debugger interrupts (epoll_wait and a few
// others return EINTR). Needs the right to trace the process: its user or root, and kernel.yama.ptrace_scope.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "symbols/symbols.h"

namespace kymo::sample {

// Why a thread does not run.
struct BlockedIn {
  std::string call;         // the system call: "futex", "read", "call 449"
  std::string object;       // the file of a read, "socket:[4711]", "mutex 0x7f01…"; empty: none, or not known
  std::optional<pid_t> of;  // the thread that holds the mutex, or that a join waits for
  uint64_t address = 0;     // of a futex
};

struct ThreadStack {
  pid_t tid = 0;
  std::string name;
  char state = '?';                    // as in /proc: R runs or could run, S waits, D waits for a device, T is stopped
  std::optional<BlockedIn> blocked;    // nothing: it ran, or it is not known
  std::vector<symbols::Frame> frames;  // innermost first
  bool is_complete = false;            // down to the begin of the thread
};

struct ProcessStacks {
  pid_t pid = 0;
  std::string program;               // the name of its file
  std::vector<ThreadStack> threads;  // by tid, so the main thread is usually the first
  uint64_t stopped_ns = 0;           // from the first stop to the last continuation
  std::string unknown_python = {};   // the version of a Python whose functions cannot be read; empty: none
};

// Throws kymo::Error if there is no such process, or if it cannot be traced: the reason and the remedy.
ProcessStacks stacks_of_process(pid_t pid);

}  // namespace kymo::sample
