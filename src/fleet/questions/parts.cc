#include "questions/parts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kymo/error.h"
#include "push/tables.h"

namespace kymo::fleet {
namespace {

enum Column : size_t {
  kTrace,
  kFile,
  kComplete,
  kHost,
  kProgram,
  kJob,
  kRank,
  kBegan,
  kDuration,
  kEvents,
  kBytes,
  kColumns
};

using Row = std::vector<std::string>;

bool is_complete(const Row& row) { return row[kComplete] != "0"; }

bool is_part_of(const Row& part, const Row& whole) {
  const auto has_more = [&](Column column) {
    return push::parse_u64(part[column], "size") <= push::parse_u64(whole[column], "size");
  };
  return is_complete(whole) && has_more(kDuration) && has_more(kEvents) && has_more(kBytes);
}

// One that does not say when it was recorded begins at any number, which others may have too.
bool has_time(const Row& row) {
  return push::parse_i64(row[kBegan], "began_ns") >= int64_t{push::kFirstDate} * 1'000'000'000;
}

bool is_as_long_as(const Row& row, const Row& other) {
  return row[kDuration] == other[kDuration] && row[kEvents] == other[kEvents] && row[kComplete] == other[kComplete];
}

using Recordings = std::map<Row, std::vector<const Row*>>;

// Of the traces that are as long as another one of the same recording, the totals of their operations.
std::map<std::string, Row> totals_of(const Recordings& recordings, const Totals& totals) {
  constexpr size_t kMostTraces = 1'000, kColumnsOfTotals = 3;
  std::vector<uint64_t> traces;
  for (const auto& [recording, rows] : recordings)
    for (const Row* row : rows)
      if (has_time(*row) && std::any_of(rows.begin(), rows.end(),
                                        [&](const Row* other) { return other != row && is_as_long_as(*row, *other); }))
        traces.push_back(push::parse_u64((*row)[kTrace], "trace"));
  std::map<std::string, Row> found;
  for (size_t at = 0; at < traces.size(); at += kMostTraces) {
    const auto begin = traces.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kMostTraces, traces.size() - at));
    const push::Rows answer = totals({begin, end});
    if (answer.columns.size() != kColumnsOfTotals) throw Error("the answer has no totals of traces");
    for (const Row& row : answer.rows) found[row[0]] = {row[1], row[2]};
  }
  return found;
}

}  // namespace

Parts find_parts(const push::Rows& marks, const Totals& totals) {
  if (marks.columns.size() != kColumns) throw Error("the answer is not a list of traces");
  Recordings recordings;
  for (const Row& row : marks.rows) recordings[{row.begin() + kHost, row.begin() + kDuration}].push_back(&row);
  auto total = totals_of(recordings, totals);
  Parts parts;
  for (const auto& [recording, rows] : recordings) {
    std::vector<const Row*> different;
    for (const Row* row : rows) {
      const bool is_copy = has_time(*row) && std::any_of(different.begin(), different.end(), [&](const Row* other) {
                             return is_as_long_as(*row, *other) && total[(*row)[kTrace]] == total[(*other)[kTrace]];
                           });
      if (is_copy)
        parts.copies.rows.push_back({(*row)[kTrace], (*row)[kFile]});
      else
        different.push_back(row);
    }
    for (const Row* row : different) {
      if (is_complete(*row)) continue;
      const bool is_identified = !(*row)[kHost].empty() && !(*row)[kProgram].empty();
      const bool is_part = is_identified && std::any_of(rows.begin(), rows.end(),
                                                        [&](const Row* whole) { return is_part_of(*row, *whole); });
      (is_part ? parts.of_others : parts.alone).rows.push_back({(*row)[kTrace], (*row)[kFile]});
    }
  }
  for (push::Rows* one : {&parts.of_others, &parts.alone, &parts.copies})
    std::sort(one->rows.begin(), one->rows.end(), [](const Row& a, const Row& b) { return a[1] < b[1]; });
  return parts;
}

}  // namespace kymo::fleet
