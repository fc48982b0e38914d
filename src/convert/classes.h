// The event classes of a trace, numbered through over all its writers, with what exporters ask of them again and again.
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
  uint32_t index = 0;  // dense, so that an exporter may keep what it knows of classes in a vector
  trace::EventClass event_class;
  bool is_known = true;     // false: its events are in the trace and it is not; their values cannot be told apart
  bool has_places = false;  // the name holds "{}" that values fill: it differs from event to event
  // For each field the name of its value, empty where the value is part of the event's name.
  std::vector<std::string> keys;
};

// One a process. Class 0, whose name comes with the event, is "{}" here, which says the same.
class Classes {
 public:
  // Numbers go on from `next_index`, which is moved. Both must outlive this.
  Classes(const trace::WriterInfo& writer, uint32_t& next_index) : writer_(writer), next_index_(next_index) {}

  // Made when first asked for; stays where it is.
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
  std::map<uint32_t, const ClassInfo*> sparse_;  // ids too large for a table
  const ClassInfo* unknown_ = nullptr;
};

}  // namespace kymo::convert
