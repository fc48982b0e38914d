// The event classes of a segment, read as they appear.
//
// The segment may be written by a process that dies, or that is not ours: every length is checked against the arena
// before it is believed.
#pragma once

#include <cstdint>
#include <vector>

#include "record/layout.h"
#include "trace/model.h"

namespace kymo::collect {

class ClassTable {
 public:
  // Reads what was registered since the last call and returns it, for the file.
  std::vector<trace::EventClass> update(const record::Registry& registry_untrusted);

  // Null: never registered, or damaged.
  const trace::EventClass* find(uint32_t id) const {
    return id < classes_.size() && classes_[id].id != 0 ? &classes_[id] : nullptr;
  }
  bool is_plain(uint32_t id) const { return id < plain_.size() && plain_[id]; }  // known, and without fields
  const std::vector<trace::EventClass>& all() const { return classes_; }         // by id; an id of 0 marks a gap

 private:
  std::vector<trace::EventClass> classes_;
  std::vector<uint8_t> plain_;        // one byte a class: what the decoder asks of every range
  std::vector<uint32_t> unfinished_;  // handed out, but not filled in when we looked
  uint32_t seen_ = 0;
};

}  // namespace kymo::collect
