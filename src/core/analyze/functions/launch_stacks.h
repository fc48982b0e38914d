// What of Python launched the work of devices, from the stacks that kymo record states for outermost operators and for
// launches outside of them (inject/python_stack.h).
//
// A kernel of a backward function was launched by a thread of PyTorch that runs no Python. It has the stack of the
// forward operator that created the function, by the arrow between the two, or else the stack that called backward().
// Another thread without Python, as of XLA's compiler, has the stack that the main thread had then.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyze/memory/stacks.h"
#include "analyze/report/device_work.h"
#include "analyze/report/events.h"

namespace kymo::functions {

struct LaunchStack {
  memory::StackId stack = 0;  // 0: not known
  uint32_t track = 0;         // the thread that ran it: not the one of a backward function
  enum class Of : uint8_t { Launch, ForwardOperator, BackwardCall, MainThread } of = Of::Launch;
};

class LaunchStacks {
 public:
  // Reads the points of the threads with such stacks, if there are any.
  LaunchStacks(analyze::EventWalk& walk, const analyze::DeviceWork& work);

  bool empty() const { return is_empty_; }
  // Of a launch of the work.
  LaunchStack of(uint32_t launch) const { return launch < found_.size() ? found_[launch] : LaunchStack(); }
  // Of an operation: that of its capture, if it is in a CUDA graph. A graph as a whole has what the stacks of all that
  // was captured have in common.
  LaunchStack of(const analyze::DeviceOperation& operation) const;
  // Innermost first; a function may follow several that it contains.
  const std::vector<symbols::Frame>& frames(memory::StackId stack);

 private:
  struct Stated {
    int64_t time;
    memory::StackId stack;
    bool is_of_main;  // a thread without Python, and what the main thread did meanwhile
  };
  struct Arrow {
    int64_t time;
    uint64_t flow;
  };
  struct Thread {
    std::vector<Stated> stated;  // by time
    std::vector<Arrow> ends;     // of the arrows from forward operators
  };
  struct Place {
    uint32_t track = 0;
    int64_t time = 0;
  };

  void read(analyze::EventWalk& walk);
  LaunchStack find(uint32_t track, int64_t time, unsigned depth) const;
  bool calls_backward(memory::StackId stack);

  const analyze::EventWalk& walk_;
  const analyze::DeviceWork& work_;
  bool is_empty_ = true;
  memory::Stacks stacks_;
  std::map<uint32_t, Thread> threads_;                                         // by number of the track
  std::map<std::pair<uint32_t, uint64_t>, Place> begins_;                      // of arrows, by writer and flow
  std::map<uint32_t, std::vector<std::pair<int64_t, Place>>> backward_calls_;  // by writer, in order of time
  std::map<memory::StackId, std::vector<symbols::Frame>> known_;
  std::map<std::pair<uint32_t, uint64_t>, std::vector<uint64_t>> graphs_;  // calls, by writer and number of the graph
  std::map<std::pair<uint32_t, uint64_t>, LaunchStack> whole_graphs_;
  std::vector<LaunchStack> found_;
};

}  // namespace kymo::functions
