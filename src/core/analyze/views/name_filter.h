// Which events of a process have a name that a pattern describes.
//
// The name of an event is the name of its class ("step {}") or its text ("step 7"): either of them may match. Only
// classes whose events have different texts need the values of the events, and only if the pattern may describe one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/reader.h"

namespace kymo::views {

class NameFilter {
 public:
  enum class Match : uint8_t { No, Yes, ByText };

  // A name, or a pattern with `*` and `?` (base/wildcard.h). The writer must outlive this object.
  NameFilter(const trace::WriterInfo& writer, const std::string& pattern);

  // Any thread may call it.
  Match of(uint32_t class_id) const { return class_id < table_.size() ? table_[class_id] : of_unusual(class_id); }
  // For ByText: whether the text of an event matches.
  bool describes(std::string_view text) const;
  // Null for class 0 and for a class that is not in the trace.
  const trace::EventClass* event_class(uint32_t class_id) const;

 private:
  Match match(const trace::EventClass& event_class) const;
  Match of_unusual(uint32_t class_id) const;

  const trace::WriterInfo& writer_;
  const std::string pattern_;
  std::vector<Match> table_;  // by class id
};

}  // namespace kymo::views
