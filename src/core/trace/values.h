// The values of events and their text form.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/model.h"

namespace kymo::trace {

// Walks the values of a batch in event order. full_name() below fills the name of an event with them: "step {}" and 7
// give "step 7". Call next() for every event of the batch.
class ValueCursor {
 public:
  explicit ValueCursor(const Values& values) : values_(values) {}
  struct Value {
    FieldType type;
    uint64_t bits = 0;
    double real = 0;
    std::string_view text;

    // 0 for a text.
    double number() const {
      if (type == FieldType::Double) return real;
      return type == FieldType::Int ? static_cast<double>(static_cast<int64_t>(bits)) : static_cast<double>(bits);
    }
  };
  // The values of the next event, which has this class (null: class 0, an inline name). Bounds-checked: if the streams
  // of the batch are too short, it gives zeros and empty strings.
  const std::vector<Value>& next(const EventClass* event_class);
  // True if a stream ended before the events. Values after that are not valid.
  bool is_short() const { return is_short_; }

 private:
  const Values& values_;
  size_t int_ = 0, double_ = 0, text_ = 0;
  bool is_short_ = false;
  std::vector<Value> row_;
};

std::string full_name(const EventClass* event_class, const std::vector<ValueCursor::Value>& row);
// The name of all events of a class, for people: "step {}" if values fill it, and otherwise the text that full_name()
// gives for each of them ("a {b}" for "a {{b}}").
std::string shown_name(const EventClass& event_class);
std::string to_text(const ValueCursor::Value&);

// Keeps some of the points of a batch, with their values. Whether to keep the point with this index. The class is null
// if it is not in the trace. May change the time.
using KeepPoint = std::function<bool(size_t index, const EventClass* event_class, uint64_t& time)>;

// `points` must have their values.
void keep_points(Points& points, const std::map<uint32_t, EventClass>& classes, const KeepPoint& keep);

// Appends the values of an event.
void append_row(Values& into, const std::vector<ValueCursor::Value>& row);

}  // namespace kymo::trace
