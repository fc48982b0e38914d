// The data of an event besides its name, as members of a JSON object: its fields, its colour, its connections.
//
//   {"rows":128,"colour":"#ff8800","correlation":17}
//
// A field of the class has priority over an addition of the same name. The field names of each class are escaped only
// once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "convert/events.h"
#include "convert/json_field.h"

namespace kymo::convert {

class JsonArgs {
 public:
  // `with_queue`: a range on a device also has its queue, with the names of Kineto's traces.
  explicit JsonArgs(bool with_queue = false) : with_queue_(with_queue) {}

  void append(JsonObject& object, const Range& range);
  void append(JsonObject& object, const Point& point);
  void append(JsonObject& object, const AsyncRange& range);

 private:
  struct Prepared {
    bool done = false;
    std::vector<std::string> keys;  // "name": or empty, like ClassInfo::keys
    std::string colour;             // "#rrggbb" with quotes, or empty
  };
  const Prepared& prepare(const ClassInfo& info);
  void append_fields(JsonObject& object, const Event& event);

  const bool with_queue_;
  std::vector<Prepared> prepared_;  // by ClassInfo::index
};

// True if the class has a field of this name.
bool has_field(const ClassInfo& info, std::string_view name);

// 0xAARRGGBB as "#rrggbb".
std::string colour_text(uint32_t colour);

}  // namespace kymo::convert
