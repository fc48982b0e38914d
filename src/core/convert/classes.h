// The event classes of a trace, numbered over all its writers, with data that exporters need repeatedly.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/reader.h"

namespace kymo::convert {

struct ClassInfo {
  uint32_t index = 0;  // dense, so that an exporter can use it as an index into a vector
  trace::EventClass event_class;
  bool is_known = true;     // false: the trace has events of it but not the class; their values cannot be read
  bool has_places = false;  // the name has places that values fill: it is different for each event
  // The name of each field's value; empty if the value is part of the event's name, or is not shown.
  std::vector<std::string> keys;
};

// One per process. Class 0, whose events carry their names, is "{}" here, which has the same effect.
class Classes {
 public:
  // Numbers continue from `next_index`, which is advanced. Both must outlive this object.
  Classes(const trace::WriterInfo& writer, uint32_t& next_index) : writer_(writer), next_index_(next_index) {}

  // Created on the first call. The reference stays valid.
  const ClassInfo& find(uint32_t class_id) {
    if (class_id < dense_.size() && dense_[class_id] != nullptr) return *dense_[class_id];
    return make(class_id);
  }

 private:
  const ClassInfo& make(uint32_t class_id);

  const trace::WriterInfo& writer_;
  uint32_t& next_index_;
  std::deque<ClassInfo> infos_;
  std::vector<const ClassInfo*> dense_;
  std::map<uint32_t, const ClassInfo*> sparse_;  // for ids that are too large for a table
  const ClassInfo* unknown_ = nullptr;
};

}  // namespace kymo::convert
