// The ranks of a process group, as traces name them: "[0, 1, 2]", "[1,0]", "0-7", "[0, 1, ..., 63]".
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::analyze {

struct RankList {
  std::vector<uint32_t> ranks;  // in rising order, each once
  bool is_complete = true;      // false: the trace names only some of them. PyTorch ends a long list with "..."

  static constexpr size_t kMostRanks = 1 << 20;

  // "[0, 1]", or "[0, 1, ...]": the same text for the same ranks.
  std::string text() const;
};

// Nothing if it is not a list of at least one rank. The text is untrusted.
std::optional<RankList> parse_rank_list(std::string_view text);

// A process group of a trace.
struct ProcessGroup {
  // Name and ranks: groups that are made by some ranks only may have the same name. Empty: the trace names none.
  std::string name;
  uint32_t members = 0;  // the number of its ranks; 0: unknown

  auto operator<=>(const ProcessGroup&) const = default;
};

// From what a trace says; each may be empty. The larger number counts if `ranks` and `size` disagree.
ProcessGroup make_process_group(std::string_view name, std::string_view ranks, std::string_view size);

// The ranks in ProcessGroup::name; nothing if it does not name all of them.
std::optional<RankList> ranks_in(std::string_view group_name);

}  // namespace kymo::analyze
