#include "options/suggest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace kymo::options {
namespace {

// Levenshtein distance, computed with one row of the matrix.
size_t edits(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view typed, std::span<const std::string> words) {
  std::optional<std::string> best;
  size_t fewest = 0;
  for (const std::string& word : words) {
    const bool unfinished = typed.size() >= 2 && std::string_view(word).starts_with(typed);
    const size_t distance = unfinished ? 1 : edits(typed, word);
    const size_t allowed = std::max<size_t>(1, std::max(typed.size(), word.size()) / 3);
    if (distance > allowed || (best && distance >= fewest)) continue;
    best = word;
    fewest = distance;
  }
  return best;
}

}  // namespace kymo::options
