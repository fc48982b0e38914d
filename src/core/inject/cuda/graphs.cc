#include "inject/cuda/graphs.h"

#include "inject/python_stack.h"
#include "inject/torch/operators.h"
#include "kymo/annotate.h"
#include "kymo/queue.h"

namespace kymo::inject::cuda {
namespace {

constexpr size_t kMostNodes = 1 << 20;
constexpr uint64_t kGraph = uint64_t{1} << 63;

constexpr Label kGraphNode("graph node", "kymo.stack");
constinit Site node_call{Label("add node to graph", "cuda")};

// A node that the program has added itself: no recorded call says where.
uint64_t state_call() noexcept {
  if (!torch::is_in_operator()) state_python_stack();
  const uint64_t call = kymo_next_correlation();
  kymo_span_at(&node_call, nullptr, 0, kymo_ticks(), call);
  return call;
}

}  // namespace

uint32_t Graphs::number_of(void* graph) const {
  uint32_t number = 0;
  return graph != nullptr && cupti_.graph_id(graph, &number) == 0 ? number : 0;
}

void Graphs::note(uint32_t what, const GraphData& graph, uint64_t call) noexcept {
  try {
    uint64_t node = 0, original = 0;
    uint32_t executable = 0;
    const uint32_t number = number_of(graph.graph);
    if (what == kGraphMadeExecutable) {
      if (cupti_.graph_exec_id(graph.executable, &executable) != 0) return;
      const uint64_t root = captured(number);
      const std::lock_guard lock(mutex_);
      captured_[executable] = root != 0 ? root : kGraph | number;
      return;
    }
    if (graph.node == nullptr || cupti_.graph_node_id(graph.node, &node) != 0) return;
    if (what == kNodeCloned) {
      if (graph.original_node == nullptr || cupti_.graph_node_id(graph.original_node, &original) != 0) return;
      const uint32_t from = number_of(graph.original_graph);
      const uint64_t root = captured(from);
      const std::lock_guard lock(mutex_);
      if (const auto known = calls_.find(original); known != calls_.end() && calls_.size() < kMostNodes)
        calls_[node] = uint64_t{known->second};
      if (number != 0 && number != from) captured_[number] = root != 0 ? root : kGraph | from;
      return;
    }
    if (what != kNodeCreated) return;
    if (call == 0) call = state_call();
    const kymo_arg args[] = {kymo::arg("graph", kGraph | number), kymo::arg("call", call)};
    kymo_record(KYMO_INSTANT, &kGraphNode, args, 2, 0);
    const std::lock_guard lock(mutex_);
    if (calls_.size() < kMostNodes) calls_[node] = call;
    captured_[number] = kGraph | number;
  } catch (...) {  // no memory: this node has no call
  }
}

uint64_t Graphs::call_of(uint64_t node) {
  if (node == 0) return 0;
  const std::lock_guard lock(mutex_);
  const auto known = calls_.find(node);
  return known == calls_.end() ? 0 : known->second;
}

uint64_t Graphs::captured(uint32_t graph) {
  const std::lock_guard lock(mutex_);
  const auto known = captured_.find(graph);
  return known == captured_.end() ? 0 : known->second;
}

}  // namespace kymo::inject::cuda
