#include "wire/field_codec.h"

#include "base/text.h"

namespace kymo::wire {

std::string_view text_problem(std::string_view text) {
  if (text.size() > kLongestText) return "is too long for a text";
  if (text.find('\0') != text.npos) return "has a NUL in it";
  return {};
}

void FieldWriter::refuse(const char* name, std::string_view why) {
  if (problem_.empty()) problem_ = base::format("{} {}", name, why);
}

void FieldMatch::refuse(const char* name, std::string_view why) { problem_ = base::format("{} {}", name, why); }

void FieldNeeds::missing(const char* name) {
  if (problem_.empty()) problem_ = base::format("{} is missing", name);
}

}  // namespace kymo::wire
