// Reads a trace of another tool and writes it as a Kymo trace.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace kymo::import {

enum class Format : uint8_t { Chrome, Perfetto, Nsys, Snapshot, XPlane };

// What the file seems to be, by its first bytes; nothing: no format that can be imported. Throws kymo::Error if the
// file cannot be opened, or is a gzip file with nothing in it.
std::optional<Format> format_of(const std::string& path);
const char* name_of(Format format);  // "Chrome JSON trace"

struct Imported {
  Format format = Format::Chrome;
  uint64_t events = 0;
  uint64_t lost = 0;  // counted in the ledger of the trace
};

struct ImportOptions {
  // Called from time to time with the bytes of the file that were read since the last call.
  std::function<void(uint64_t bytes)> on_read = {};
  // False: a reader may leave out the values of ranges, for a command that does not use them.
  bool range_values = true;
  // The output in messages; empty: its path.
  std::string output_name = {};
};

// Appends the events of `path` to the trace file `output`, which is created if needed. Throws kymo::Error with the path
// and the reason if it is not a trace of a known format, or cannot be read or written.
Imported import_trace(const std::string& path, const std::string& output, const ImportOptions& options = {});

}  // namespace kymo::import
