// CUDA graphs: which call made each node, so that the work of a replay has the operator and the stack of its capture.
//
//   "graph node"  Instant {graph, call} of the category kymo.stack: this call, by its correlation, made a node of the
//                 graph. The work of a replay has the argument "captured": the call if the nodes of graphs are recorded
//                 one by one, else the graph.
//
// A graph that is copied or made executable keeps the number that it was captured with. Any thread may call these.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "inject/cuda/cupti.h"

namespace kymo::inject::cuda {

class Graphs {
 public:
  explicit Graphs(const Cupti& cupti) : cupti_(cupti) {}

  // For CUPTI's callbacks about graphs: kNodeCreated, kNodeCloned, kGraphMadeExecutable. `call`: the call of the
  // program on this thread; 0: none that is recorded.
  void note(uint32_t what, const GraphData& graph, uint64_t call) noexcept;

  // 0: not known. The number of a graph is not one of a call.
  uint64_t call_of(uint64_t node);
  uint64_t captured(uint32_t graph);

 private:
  uint32_t number_of(void* graph) const;

  const Cupti& cupti_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, uint64_t> calls_;     // by node
  std::unordered_map<uint32_t, uint64_t> captured_;  // by the number of a graph, or of an executable one
};

}  // namespace kymo::inject::cuda
