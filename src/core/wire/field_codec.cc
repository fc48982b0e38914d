#include "wire/field_codec.h"

#include "base/text.h"

namespace kymo::wire {

base::Check check_text(std::string_view text) {
  if (text.size() > kLongestText) return base::Refusal{"is too long for a text"};
  if (text.find('\0') != text.npos) return base::Refusal{"has a NUL in it"};
  return {};
}

void FieldWriter::refuse(const char* name, std::string_view why) {
  if (result_) result_ = base::Refusal{base::format("{} {}", name, why)};
}

void FieldMatch::refuse(const char* name, std::string_view why) {
  result_ = base::Refusal{base::format("{} {}", name, why)};
}

void FieldNeeds::missing(const char* name) {
  if (result_) result_ = base::Refusal{base::format("{} is missing", name)};
}

}  // namespace kymo::wire
