// The processes of a trace that Kymo exported: processes_json() describes them (convert/formats/chrome.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/event_note.h"
#include "import/builder/trace_builder.h"

namespace kymo::import {

struct ExportedProcess {
  uint64_t pid = 0;                                              // of its events
  std::string host, recording;                                   // convert/recording_parts.h
  std::vector<std::pair<std::string, std::string>> environment;  // job, rank and run are in it

  void add_to(ImportedProcess& process) const;
};

// Empty if another tool wrote it.
std::vector<ExportedProcess> exported_processes(std::string_view untrusted);

// Environment variables have such names.
bool names_variable(std::string_view name);

// Restores a point that Kymo exported from its values: its kind, its id and its stack (convert/event_note.h).

// The arguments after a note, which the export has added. nullptr: it has not added this one.
struct Additions {
  std::vector<ImportedValue> values;
  const ImportedValue* find(std::string_view name) const;
  std::string_view text(std::string_view name) const;
};

// Removes the note from the values, and what follows it. Nothing if there is none.
std::optional<convert::Note> take_note(std::vector<ImportedValue>& values, Additions& additions);
// The stack of a sample or an allocation, as its number in the builder; 0: none. `text` is the argument "stack".
uint32_t stack_of(std::string_view text, TraceBuilder& builder, uint32_t track);
// The field of an allocation that has such a number.
inline ImportedValue stack_value(uint32_t stack) { return {"stack_id", trace::FieldType::UInt, stack, 0, {}}; }
// Removes the colour that Kymo's exports write, "#rrggbb". 0: there is none.
uint32_t take_colour(std::vector<ImportedValue>& values);

}  // namespace kymo::import
