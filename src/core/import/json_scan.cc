#include "import/json_scan.h"

namespace kymo::import {

bool JsonScan::find_end(std::string_view text) {
  while (at < text.size()) {
    const char c = text[at];
    if (in_text) {
      ++at;
      if (escaped) {
        escaped = false;
      } else if (c == '\\') {
        escaped = true;
      } else if (c == '"') {
        in_text = false;
        if (depth == 0) return true;
      }
      continue;
    }
    switch (c) {
      case '"':
        in_text = started = true;
        break;
      case '{':
      case '[':
        ++depth;
        started = true;
        break;
      case '}':
      case ']':
        if (depth == 0) return true;  // the end of what is around the value
        if (--depth == 0) {
          ++at;
          return true;
        }
        break;
      case ',':
      case ':':
        if (depth == 0) return true;
        break;
      default:
        if (!is_json_blank(c)) started = true;
    }
    ++at;
  }
  return false;
}

}  // namespace kymo::import
