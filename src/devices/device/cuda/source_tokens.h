// CUDA C++ text as words: enough to find declarations, not to compile.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace kymo::device::cuda {

struct SourceTokens {
  // Identifiers, numbers, "::", single other characters. No comments, literals or preprocessor lines.
  std::vector<std::string_view> tokens;
  std::vector<std::pair<std::string_view, std::string_view>> defines;  // #define NAME VALUE, without parameters
};

SourceTokens split_source(std::string_view text);

}  // namespace kymo::device::cuda
