// Finds the ends of JSON values, byte by byte. Slower than a parser, but it needs no whole text, and does not stop at
// what is not valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kymo::import {

inline bool is_json_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

struct JsonScan {
  size_t at = 0;
  uint32_t depth = 0;
  bool in_text = false, escaped = false, started = false;

  // Moves `at` to the end of the value that begins where the scan began. False: the text ends first; call it again with
  // a longer text.
  bool find_end(std::string_view text);
};

// Splits a list of values into lists of about `bytes`, or into single values if it is 0. Calls take(begin, size) for
// each. Returns false if the text does not end with a whole value.
template <typename Take>
bool split_json_values(std::string_view text, size_t bytes, Take&& take) {
  const auto skip = [&](size_t at) {
    while (at < text.size() && (is_json_blank(text[at]) || text[at] == ',')) ++at;
    return at;
  };
  for (size_t begin = skip(0); begin < text.size();) {
    size_t end = begin, next = begin;
    do {
      JsonScan scan;
      if (!scan.find_end(text.substr(next))) {
        const bool is_whole = scan.started && scan.depth == 0 && !scan.in_text;  // a number at the end
        if (!is_whole) return false;
      }
      if (scan.at == 0) scan.at = 1;  // a stray character
      end = next + scan.at;
      next = skip(end);
    } while (next < text.size() && end - begin < bytes);
    take(begin, end - begin);
    begin = next;
  }
  return true;
}

}  // namespace kymo::import
