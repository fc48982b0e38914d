// What a recording is made of: the same for all files of it, such as an export, or a merge with other recordings.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "trace/reader.h"

namespace kymo::convert {

// In the metadata of a process that was imported from an export: its parts, with commas between them.
inline constexpr std::string_view kRecordingParts = "kymo recording";

// A text for each process with events that the reader shows: the times of its own clock and the number of its events.
std::map<trace::WriterId, std::string> recording_parts(const trace::Reader& reader);

}  // namespace kymo::convert
