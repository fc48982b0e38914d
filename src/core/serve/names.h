// The names of all files that a viewer shows, as numbers that do not change: tiles have numbers, and the page gets each
// text once.
//
// Names of classes are always kept. Names of single ranges ("step 7" of the class "step {}", or a name that is stored
// with its range) are limited in number and bytes, because a trace may have a different one for each range. Beyond the
// limit a range has the name of its class. Any thread may call anything.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/model.h"

namespace kymo::serve {

class NameTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kMaxTexts = 1 << 17, kMaxTextBytes = 16 << 20, kMaxLength = 300;

  struct Entry {
    std::string text, category;
    uint32_t base = 0;    // the name of the class, or itself
    uint32_t colour = 0;  // 0xAARRGGBB, which the program has chosen; 0: none
  };

  uint32_t of_class(std::string_view name, std::string_view category, uint32_t colour = 0);
  // The text of a range of this class.
  uint32_t of_text(std::string_view text, uint32_t base);
  // The name of an event with these texts in the places of its class. Without a class: stored with the event, or
  // unknown.
  uint32_t of_event(const trace::EventClass* event_class, bool is_inline, std::string_view text);
  // A name that is stored with its range. Beyond the limit: "(other names)".
  uint32_t of_inline(std::string_view text);

  uint32_t size() const;
  Entry entry(uint32_t id) const;  // empty texts for kNone and ids that do not exist
  // At most `most` names from this id on.
  std::vector<Entry> entries(uint32_t from, size_t most) const;

 private:
  uint32_t find_or_add(Entry entry, bool is_text, uint32_t otherwise);

  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  std::unordered_map<std::string, uint32_t> ids_;  // by text, a zero byte, category, and the colour if there is one
  size_t texts_ = 0, text_bytes_ = 0;
};

}  // namespace kymo::serve
