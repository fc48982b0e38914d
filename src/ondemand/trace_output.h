// From what was recorded to the file that was asked for: cut to its span, in the form that its name says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collect/clip.h"
#include "ondemand/output_file.h"

namespace kymo::ondemand {

enum class OutputForm : uint8_t { ByName, ChromeJson, Perfetto };  // of a file whose name does not say

struct WrittenTrace {
  std::string path = {};
  uint64_t bytes = 0, events = 0, losses = 0;
};

// file.part() becomes file.path(): .kymo as it is, .json, .json.gz, .pftrace and .csv converted, anything else as
// `form` says or as it is. `clip` null: the whole recording. Throws kymo::Error; file.part() is then still there.
WrittenTrace write_trace(OutputFile& file, const std::optional<collect::ClipOptions>& clip,
                         OutputForm form = OutputForm::ByName);

}  // namespace kymo::ondemand
