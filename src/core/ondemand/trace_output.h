// Converts a recording to the requested file: with its window, in the format of its file name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ondemand/output_file.h"
#include "trace/model.h"

namespace kymo::ondemand {

enum class OutputForm : uint8_t { ByName, ChromeJson, Perfetto };  // for a file whose name has no known extension

// What the trace says about itself. The recording is a little longer than its window; readers leave out the rest.
struct TraceScope {
  trace::Window window;
  std::vector<std::pair<std::string, std::string>> metadata;
};

struct WrittenTrace {
  std::string path = {};
  uint64_t bytes = 0, events = 0, losses = 0;
};

// file.part() becomes file.path(): .kymo is kept as it is; what export.h of convert knows is converted; other
// names use `form`, or are kept as they are. `scope` empty: the whole recording. A file that is kept is not read or
// copied, only its index and the edges of its window are. Throws kymo::Error; then file.part() still exists.
WrittenTrace write_trace(OutputFile& file, const std::optional<TraceScope>& scope,
                         OutputForm form = OutputForm::ByName);

}  // namespace kymo::ondemand
