// Why the threads of a sampled program were slow, from what the kernel recorded of every program: stacks of samples and
// waits, and which thread woke which other one (docs/sampling.md). The program was not changed, and no call was
// watched.
//
//   waits    what a thread did when it stopped follows from the function of the C library in its stack
//   locks    the thread that ends the wait for a lock held it until then, since its own wait for it ended; before that,
//            the one that had woken it. A lock is known by the function that waits, not by its address
//   limit    a thread that waits for others, such as a consumer; what these did meanwhile
//   bursts   a function in which the main thread is seldom, but long
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/functions/locks.h"
#include "analyze/report/report.h"
#include "analyze/thread_states.h"
#include "symbols/file_symbols.h"
#include "trace/reader.h"

namespace kymo::functions {

// What a thread does that stopped with this stack, innermost first: "sleeps", "waits for a mutex"; empty: not known.
std::string_view action_of(const std::vector<symbols::Frame>& frames);

struct Causes {
  std::vector<WaitedLock> locks;  // the longest total first; without an address
  // While all threads wait: those whose waits no other one ended. The longest first; no name: no stack is known.
  std::vector<analyze::SampledFunctions::Function> waiting;
  uint64_t stacked_ns = 0;  // of all waits: those that have a stack
  analyze::SampledFunctions::Limit limit;
  analyze::SampledFunctions::Bursts bursts;
};

// Never throws for a damaged trace. Memory depends on the number of samples and waits.
Causes find_causes(const trace::Reader& reader);

// read_thread_states() without the guesses that the stacks of the waits disprove: the end of a thread or process ends
// only waits for it. Costs and fails as find_causes().
analyze::StatesOfThreads read_thread_states_and_stacks(const trace::Reader& reader);

}  // namespace kymo::functions
