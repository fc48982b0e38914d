#include "import/exported.h"

#include <algorithm>
#include <charconv>

#include "convert/recording_parts.h"
#include "json/document.h"
#include "kymo/error.h"

namespace kymo::import {
namespace {

// What PyTorch's profiler writes in place of the variables of a launcher.
constexpr std::string_view kDistributedInfo = "distributedInfo";

ExportedProcess read_process(const json::Value& process) {
  ExportedProcess found;
  const auto pid = process.find("pid_of_events");
  found.pid = (pid ? *pid : process["pid"]).number("pid");
  found.host = process["host"].text("host");
  if (const auto recording = process.find("recording")) found.recording = recording->text("recording");
  for (const auto& [key, value] : process["metadata"].members("metadata"))
    if (names_variable(key) || key == kDistributedInfo) found.environment.emplace_back(key, value.text(key));
  return found;
}

}  // namespace

void ExportedProcess::add_to(ImportedProcess& process) const {
  process.host = host;
  const auto known = [&](std::string_view key) {
    return std::ranges::find(process.metadata, key, &std::pair<std::string, std::string>::first);
  };
  for (const auto& [key, value] : environment)
    if (known(key) == process.metadata.end()) process.metadata.emplace_back(key, value);
  if (recording.empty()) return;
  if (const auto other = known(convert::kRecordingParts); other != process.metadata.end())
    other->second += "," + recording;
  else
    process.metadata.emplace_back(convert::kRecordingParts, recording);
}

std::vector<ExportedProcess> exported_processes(std::string_view untrusted) {
  std::vector<ExportedProcess> found;
  try {
    const json::Document document(untrusted, json::RepeatedNames::LastCounts);
    for (const json::Value& process : document.root()["processes"].list("processes"))
      found.push_back(read_process(process));
  } catch (const Error&) {
    return {};
  }
  return found;
}

bool names_variable(std::string_view name) {
  return name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == name.npos;
}

namespace {

using trace::FieldType;

// The last value of this name: exporters write what they add after the fields of the event.
std::vector<ImportedValue>::iterator find_last(std::vector<ImportedValue>& values, std::string_view name) {
  const auto found =
      std::find_if(values.rbegin(), values.rend(), [&](const ImportedValue& value) { return value.name == name; });
  return found == values.rend() ? values.end() : std::prev(found.base());
}

}  // namespace

const ImportedValue* Additions::find(std::string_view name) const {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const ImportedValue& value) { return value.name == name; });
  return found == values.end() ? nullptr : &*found;
}

std::string_view Additions::text(std::string_view name) const {
  const ImportedValue* const found = find(name);
  return found != nullptr && found->type == FieldType::String ? found->text : std::string_view();
}

std::optional<convert::Note> take_note(std::vector<ImportedValue>& values, Additions& additions) {
  const auto found = find_last(values, convert::kNoteKey);
  additions.values.clear();
  if (found == values.end() || found->type != FieldType::String) return std::nullopt;
  const std::optional<convert::Note> note = convert::parse_note(found->text);
  if (!note) return std::nullopt;
  additions.values.assign(found + 1, values.end());
  values.erase(found, values.end());
  return note;
}

uint32_t stack_of(std::string_view text, TraceBuilder& builder, uint32_t track) {
  constexpr std::string_view kBetween = " < ";
  std::vector<ImportedFrame> frames;
  while (!text.empty()) {
    const size_t end = std::min(text.find(kBetween), text.size());
    frames.push_back({.function = text.substr(0, end), .file = {}});
    text.remove_prefix(std::min(end + kBetween.size(), text.size()));
  }
  return builder.stack(track, frames);
}

uint32_t take_colour(std::vector<ImportedValue>& values) {
  const auto found = find_last(values, "colour");
  if (found == values.end() || found->type != FieldType::String) return 0;
  const std::string_view text = found->text;
  constexpr size_t kLength = 7;
  uint32_t colour = 0;
  if (text.size() != kLength || text[0] != '#') return 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + kLength, colour, 16);
  if (error != std::errc() || end != text.data() + kLength) return 0;
  values.erase(found);
  return 0xFF000000 | colour;
}

}  // namespace kymo::import
