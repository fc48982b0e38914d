// Converts a recording to the requested file, in the format of its file name: a trace with its window, or a memory
// profile of the recorded allocations (memory/export.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kymo/error.h"
#include "ondemand/output_file.h"
#include "trace/model.h"

namespace kymo::ondemand {

enum class OutputForm : uint8_t { ByName, ChromeJson };  // for a file whose name has no known extension

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

// No allocations were recorded; the message says how to record some.
class NothingAllocated : public Error {
 public:
  NothingAllocated();
};

// Throws kymo::InvalidArgument for a file extension that is not supported.
void check_memory_name(const std::string& path);

// file.part() becomes file.path(), and the clients write their files next to it. If Kymo recorded nothing, the first
// file of a client is the result. Throws NothingAllocated if there is none either, and kymo::Error; then file.part()
// still exists.
WrittenTrace write_memory_profile(OutputFile& file);

}  // namespace kymo::ondemand
