// The words of a PTX text, with their positions. Comments are left out; a string is one word.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace kymo::device {

struct PtxToken {
  std::string_view text;
  size_t offset = 0;  // of its first character
  size_t end() const { return offset + text.size(); }
};

// Never fails: a character that is not part of a word is a token of its own. A comment or string without an end reaches
// to the end of the text.
std::vector<PtxToken> split_ptx(std::string_view text);

}  // namespace kymo::device
