// The words of a PTX text, with where they stand. Comments are left out; a string is one word.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace kymo::device::cuda {

struct PtxToken {
  std::string_view text;
  size_t offset = 0;  // of its first character
  size_t end() const { return offset + text.size(); }
};

// Never fails: what is no word is a token of one character; an unfinished comment or string reaches to the end.
std::vector<PtxToken> split_ptx(std::string_view text);

}  // namespace kymo::device::cuda
