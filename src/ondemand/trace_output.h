// Converts a recording to the requested file: cut to its span, in the format of its file name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collect/clip.h"
#include "ondemand/output_file.h"

namespace kymo::ondemand {

enum class OutputForm : uint8_t { ByName, ChromeJson, Perfetto };  // for a file whose name has no known extension

struct WrittenTrace {
  std::string path = {};
  uint64_t bytes = 0, events = 0, losses = 0;
};

// file.part() becomes file.path(): .kymo is kept as it is; .json, .json.gz, .pftrace and .csv are converted; other
// names use `form`, or are kept as they are. `clip` empty: the whole recording. Throws kymo::Error; then file.part()
// still exists.
WrittenTrace write_trace(OutputFile& file, const std::optional<collect::ClipOptions>& clip,
                         OutputForm form = OutputForm::ByName);

}  // namespace kymo::ondemand
