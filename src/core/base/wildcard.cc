#include "base/wildcard.h"

#include <cstddef>

namespace kymo::base {

bool matches(std::string_view pattern, std::string_view name) {
  size_t at = 0, from = 0, star = pattern.npos, tried = 0;
  while (from < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      tried = from;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[from])) {
      ++at;
      ++from;
    } else if (star != pattern.npos) {
      at = star + 1;
      from = ++tried;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == pattern.npos;
}

}  // namespace kymo::base
