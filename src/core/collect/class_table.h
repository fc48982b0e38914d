// The event classes of a segment. They are read while the program registers them.
//
// The process that writes the segment may die, or may not be ours. So every length is checked against the arena before
// it is used.
#pragma once

#include <cstdint>
#include <vector>

#include "record/layout.h"
#include "trace/model.h"

namespace kymo::collect {

class ClassTable {
 public:
  // Reads the classes registered since the last call.
  void update(const record::Registry& registry_untrusted);

  // Null if it was never registered, or is damaged.
  const trace::EventClass* find(uint32_t id) const {
    return id < classes_.size() && classes_[id].id != 0 ? &classes_[id] : nullptr;
  }
  bool is_plain(uint32_t id) const { return id < plain_.size() && plain_[id]; }  // known, and without fields

 private:
  std::vector<trace::EventClass> classes_;
  std::vector<uint8_t> plain_;        // one byte per class, because the decoder looks it up for every range
  std::vector<uint32_t> unfinished_;  // the id was assigned, but the class was not complete yet
  uint32_t seen_ = 0;
};

}  // namespace kymo::collect
