#include "base/suggest.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace kymo::base {
namespace {

// The last row of the matrix of Levenshtein: the distances from `from` to each beginning of `to`. Two letters in the
// wrong order are one edit.
std::vector<size_t> edits_to_beginnings(std::string_view from, std::string_view to) {
  std::vector<size_t> before, above, row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = above[j] + (from[i] == to[j] ? 0 : 1);
      row[j + 1] = std::min({replaced, row[j] + 1, above[j + 1] + 1});
      const bool swapped = i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row;
}

size_t edits(std::string_view from, std::string_view to) { return edits_to_beginnings(from, to).back(); }

std::string lowercase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
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

std::vector<std::string> closest(std::string_view typed, std::span<const std::string> words, size_t max) {
  constexpr size_t kLongest = 200;  // the time is the product of both lengths
  const std::string wanted = lowercase(typed.substr(0, kLongest));
  std::vector<std::tuple<size_t, size_t, size_t>> order;  // distance, length, index
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string word = lowercase(std::string_view(words[i]).substr(0, kLongest));
    const bool contains = !wanted.empty() && word.find(wanted) != word.npos;
    const std::vector<size_t> distances = edits_to_beginnings(wanted, word);
    order.emplace_back(contains ? 0 : *std::min_element(distances.begin(), distances.end()), word.size(), i);
  }
  std::sort(order.begin(), order.end());
  order.resize(std::min(order.size(), max));
  std::vector<std::string> found;
  for (const auto& [distance, length, index] : order) found.push_back(words[index]);
  return found;
}

}  // namespace kymo::base
