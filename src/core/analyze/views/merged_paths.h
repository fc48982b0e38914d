// Paths of names from several sources, summed up: what a flame graph shows.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/views/path_trie.h"
#include "analyze/views/paths.h"

namespace kymo::views {

class MergedPaths {
 public:
  // The path with one more name, created if it is new. The first parent is PathTrie::kRoot.
  uint32_t child(uint32_t parent, const std::string& name, FrameKind kind);
  void count(uint32_t path, uint64_t count, uint64_t self_ns) {
    sums_[path].count += count;
    sums_[path].self_ns += self_ns;
  }
  size_t size() const { return sums_.size(); }

  // Moves the names to the result.
  void finish(Paths& into);

 private:
  struct Sums {
    FrameKind kind = FrameKind::All;
    uint64_t count = 0, self_ns = 0;
  };
  std::deque<std::string> names_;  // by number; a deque does not move them
  std::unordered_map<std::string_view, uint32_t> numbers_;
  PathTrie trie_;
  std::vector<Sums> sums_{1};  // by path
};

}  // namespace kymo::views
