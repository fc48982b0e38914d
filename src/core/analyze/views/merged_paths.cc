#include "analyze/views/merged_paths.h"

#include <algorithm>
#include <utility>

namespace kymo::views {

uint32_t MergedPaths::child(uint32_t parent, const std::string& name, FrameKind kind) {
  auto known = numbers_.find(name);
  if (known == numbers_.end()) {
    const auto number = static_cast<uint32_t>(names_.size());
    known = numbers_.emplace(names_.emplace_back(name), number).first;
  }
  const uint32_t node = trie_.child(parent, known->second);
  if (node == sums_.size()) sums_.push_back({kind});
  return node;
}

// A tree may be too deep for recursion.
void MergedPaths::finish(Paths& into) {
  const std::vector<PathTrie::Node>& nodes = trie_.nodes();
  std::vector<uint64_t> total_ns(nodes.size());
  std::vector<std::vector<uint32_t>> children(nodes.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    total_ns[i] += sums_[i].self_ns;
    if (i == 0) break;
    total_ns[nodes[i].parent] += total_ns[i];
    children[nodes[i].parent].push_back(static_cast<uint32_t>(i));
  }
  std::vector<std::pair<uint32_t, uint32_t>> waiting = {{PathTrie::kRoot, 0}};  // node, depth
  while (!waiting.empty()) {
    const auto [node, depth] = waiting.back();
    waiting.pop_back();
    const std::string_view name = node == PathTrie::kRoot ? "all" : std::string_view(names_[nodes[node].number]);
    into.frames.push_back({name, sums_[node].kind, depth, sums_[node].count, total_ns[node], sums_[node].self_ns});
    std::vector<uint32_t>& inner = children[node];
    std::sort(inner.begin(), inner.end(),
              [&](uint32_t a, uint32_t b) { return names_[nodes[a].number] > names_[nodes[b].number]; });
    for (const uint32_t child : inner) waiting.emplace_back(child, depth + 1);
  }
  into.names = std::move(names_);
}

}  // namespace kymo::views
