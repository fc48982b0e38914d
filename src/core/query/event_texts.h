// The texts of a chunk's events that depend on their values: the complete name, and the values as JSON.
//
// Belongs to one thread. load() reads the values of a chunk; the events can then be asked in any order.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convert/classes.h"
#include "convert/events.h"
#include "convert/json_args.h"
#include "convert/value_rows.h"
#include "query/loaded_traces.h"

namespace kymo::query {

class EventTexts {
 public:
  // Keeps views into both.
  void load(const trace::WriterInfo& writer, const trace::Values& values, std::span<const uint32_t> class_ids);

  // Sets place, class, name and values of an event. The name is valid until the next call.
  void describe(size_t event, const convert::Place& place, convert::Event& into);
  // A JSON object with valid UTF-8, valid until the next call.
  template <typename AnyEvent>
  std::string_view args(const AnyEvent& event) {
    text_.clear();
    convert::JsonObject object(text_);
    args_.append(object, event);
    object.close();
    return text_.view();
  }

 private:
  std::map<const trace::WriterInfo*, std::unique_ptr<convert::Classes>> all_classes_;
  uint32_t class_count_ = 0;
  convert::Classes* classes_ = nullptr;
  std::span<const uint32_t> class_ids_;
  convert::ValueRows rows_;
  std::vector<convert::Value> row_;
  std::string name_;
  convert::JsonArgs args_{convert::JsonArgs::Form::Plain};
  convert::TextBuffer text_;
};

// The number of an event's name: of its class ("step {}"), or of the name that is stored with it.
uint32_t name_number(const convert::Event& event, const LoadedTraces& traces);

}  // namespace kymo::query
