// The event classes of the trace that is written, numbered in the order of their first event, whatever tables the
// events come from.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/event_tables.h"
#include "trace/model.h"

namespace kymo::import {

class ClassNumbers {
 public:
  static constexpr size_t kMost = 1 << 18;  // beyond, events carry their names

  struct Known {
    uint32_t id = 0;  // 0: not known yet
    bool has_name_in_value = false;
    uint32_t written_by = 0;                               // the last process that has written it; 0: none
    const std::vector<trace::FieldType>* types = nullptr;  // of the values in the block, without the name
  };

  Known& of(const EventTables& tables, uint32_t class_id) {
    if (&tables != last_tables_) select(tables);
    if (class_id >= last_->known.size()) last_->known.resize(tables.class_count());
    Known& known = last_->known[class_id];
    return known.id != 0 ? known : add(tables, class_id);
  }
  const trace::EventClass& at(uint32_t id) const { return classes_[id - 1]; }
  size_t size() const { return classes_.size(); }

 private:
  struct OfTables {
    std::vector<Known> known;  // by the class of the tables
    std::unordered_map<uint32_t, std::vector<trace::FieldType>> types;
  };

  void select(const EventTables& tables);
  Known& add(const EventTables& tables, uint32_t class_id);

  std::deque<trace::EventClass> classes_;  // the id is the index plus 1
  std::unordered_map<std::string, uint32_t> ids_;
  std::unordered_map<const EventTables*, OfTables> of_tables_;
  const EventTables* last_tables_ = nullptr;
  OfTables* last_ = nullptr;
};

}  // namespace kymo::import
