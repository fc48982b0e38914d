// Suggests the word that the user probably meant: "stat" is near "stats".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::base {

// The nearest of `words` by single-letter edits, if it is near enough to be a typing error.
std::optional<std::string> nearest(std::string_view typed, std::span<const std::string> words);

// The nearest of `words`, at most `max`, the nearest first: those that contain the text, then those whose beginning
// needs the fewest single-letter edits. Upper and lower case are equal.
std::vector<std::string> closest(std::string_view typed, std::span<const std::string> words, size_t max);

}  // namespace kymo::base
