#include "analyze/report/process_group.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace kymo::analyze {
namespace {

constexpr std::string_view kMore = "...", kSpaces = " \t";

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

std::optional<uint32_t> parse_number(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "5" or "0-7".
bool add_item(std::vector<uint32_t>& ranks, std::string_view item) {
  const size_t dash = item.find('-');
  const auto first = parse_number(trimmed(item.substr(0, dash)));
  const auto last = dash == item.npos ? first : parse_number(trimmed(item.substr(dash + 1)));
  if (!first || !last || *last < *first || ranks.size() + (*last - *first) >= RankList::kMostRanks) return false;
  for (uint64_t rank = *first; rank <= *last; ++rank) ranks.push_back(static_cast<uint32_t>(rank));
  return true;
}

}  // namespace

std::string RankList::text() const {
  return base::format("[{}{}]", base::join(ranks, ", "), is_complete ? "" : ", ...");
}

std::optional<RankList> parse_rank_list(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('[') != text.ends_with(']') || text.empty()) return std::nullopt;
  if (text.starts_with('[')) text = text.substr(1, text.size() - 2);
  RankList list;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view item = trimmed(text.substr(0, comma));
    if (item == kMore)
      list.is_complete = false;
    else if (!add_item(list.ranks, item))
      return std::nullopt;
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  if (list.ranks.empty()) return std::nullopt;
  std::sort(list.ranks.begin(), list.ranks.end());
  list.ranks.erase(std::unique(list.ranks.begin(), list.ranks.end()), list.ranks.end());
  return list;
}

ProcessGroup make_process_group(std::string_view name, std::string_view ranks, std::string_view size) {
  const auto list = parse_rank_list(ranks);
  ProcessGroup group{std::string(name), parse_number(trimmed(size)).value_or(0)};
  if (!name.empty() && !ranks.empty()) group.name += ' ';
  group.name += list ? list->text() : std::string(ranks);
  if (list && list->is_complete) group.members = std::max(group.members, static_cast<uint32_t>(list->ranks.size()));
  if (group.name.empty()) group.members = 0;  // a size alone does not say which ranks these are
  return group;
}

std::optional<RankList> ranks_in(std::string_view group_name) {
  const size_t begin = group_name.rfind('[');
  if (begin == group_name.npos) return std::nullopt;
  auto list = parse_rank_list(group_name.substr(begin));
  if (list && !list->is_complete) list.reset();
  return list;
}

}  // namespace kymo::analyze
