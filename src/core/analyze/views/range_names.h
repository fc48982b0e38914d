// The names of the ranges of one process, as small numbers: a class, or a text that is stored with the range.
//
// By default the ranges of a class have one name, with its "{}". With full text, "step 7" and "step 8" are two names.
// At most 65,536 texts have their own number. Ranges with other texts are "(other names)".
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "convert/classes.h"
#include "trace/reader.h"

namespace kymo::views {

class RangeNames {
 public:
  static constexpr uint32_t kMaxTexts = 1 << 16;

  // The writer must outlive this object.
  RangeNames(const trace::WriterInfo& writer, bool full_text) : full_text_(full_text), classes_(writer, next_class_) {}

  // The class, for trace::ValueCursor.
  const trace::EventClass& event_class(uint32_t class_id) { return classes_.find(class_id).event_class; }
  // The number of the name of a range with these values. If no range of a chunk has a text, the class id is the number.
  uint32_t number(uint32_t class_id, const std::vector<trace::ValueCursor::Value>& row);
  uint32_t number(const trace::OpenRange& range);

  std::string name(uint32_t number);

 private:
  static constexpr uint32_t kText = uint32_t{1} << 31;  // the number is an index into texts_

  bool full_text_;
  uint32_t next_class_ = 0;
  convert::Classes classes_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> texts_;
};

}  // namespace kymo::views
