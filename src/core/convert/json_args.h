// The data of an event besides its name, as members of a JSON object: its fields, its colour, its connections.
//
//   {"rows":128,"colour":"#ff8800","correlation":17}
//
// A field of the class has priority over an addition of the same name. The field names of each class are escaped only
// once. In Kineto's form, fields have the names and types of Kineto's traces (kineto.h): lists are lists, the size of a
// kernel is "grid" and "block", and a range on a device says where it ran.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "convert/events.h"
#include "trace/reader.h"

namespace kymo::convert {

// Writes field values of a trace as JSON.

using base::JsonArray;
using base::JsonObject;
using base::TextBuffer;

// Integers as numbers, a pointer as the string "0x…".
void append_json_field(TextBuffer& out, const trace::ValueCursor::Value& value);

// A sampled stack as one line, innermost first: "memcpy < load < main".

// Frames without a function show their module and offset. Empty if the trace does not describe the stack.
std::string stack_text(const trace::WriterInfo& writer, uint64_t stack);

class JsonArgs {
 public:
  enum class Form : uint8_t { Plain, Kineto };

  explicit JsonArgs(Form form) : form_(form) {}

  // What Kineto's form adds to the data of a range.
  struct RangeForm {
    bool with_correlation = true;   // HTA expects it of launches and work only
    std::optional<int64_t> stream;  // it ran on a device, on this stream
  };
  // In Kineto's form, a point has its note (event_note.h).
  void append(JsonObject& object, const Range& range, const RangeForm& form);
  void append(JsonObject& object, const Range& range) { append(object, range, {}); }
  void append(JsonObject& object, const Point& point);
  void append(JsonObject& object, const AsyncRange& range);

 private:
  struct Prepared {
    bool done = false;
    std::vector<std::string> keys;  // "name": or empty, like ClassInfo::keys
    std::vector<bool> may_be_list;  // by field
    // The fields of a kernel's size: threads and group, x to z. Written as lists.
    std::optional<std::array<size_t, 6>> size;
    std::string colour;    // "#rrggbb" with quotes, or empty
    std::string category;  // its own category in quotes, if a range on a device has another one in the file
  };
  const Prepared& prepare(const ClassInfo& info);
  std::string key_for(const ClassInfo& info, size_t field) const;
  void append_fields(JsonObject& object, const Event& event);
  void append_place(JsonObject& object, const Range& range, int64_t stream);

  const Form form_;
  std::vector<Prepared> prepared_;  // by ClassInfo::index
};

// True if the class has a field of this name.
bool has_field(const ClassInfo& info, std::string_view name);

// 0xAARRGGBB as "#rrggbb".
std::string colour_text(uint32_t colour);

}  // namespace kymo::convert
