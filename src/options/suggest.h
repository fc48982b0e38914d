// Suggests the word that the user probably meant: "stat" is near "stats".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kymo::options {

// The nearest of `words` by single-letter edits, if it is near enough to be a typing error.
std::optional<std::string> nearest(std::string_view typed, std::span<const std::string> words);

}  // namespace kymo::options
