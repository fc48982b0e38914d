// The debug annotations of a Perfetto event as values. Dictionaries and lists become JSON text.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "import/perfetto_sequence.h"
#include "import/trace_builder.h"

namespace kymo::import {

class PerfettoArgs {
 public:
  void clear();
  // Adds one DebugAnnotation. Throws protozero::exception. The message and the sequence must stay valid.
  void add(std::string_view annotation, const PerfettoSequence& sequence);
  void add(std::string_view name, std::string_view text);
  void add(std::string_view name, uint64_t number);

  std::vector<ImportedValue> values;  // views into the message, the sequence and this object

 private:
  std::deque<std::string> texts_;
};

}  // namespace kymo::import
