// A trace's memory profile in the form that a file's name asks for.
//
//   .html                        a page with the stacked timeline and the holders (page.h)
//   .json, .json.gz              rows of bytes by category (timeline_json.h)
//   .raw.json, .raw.json.gz      every change (timeline_json.h)
//   .pickle                      a snapshot for memory_viz (snapshot.h)
//   .kymo                        the trace itself
#pragma once

#include <string>

#include "trace/reader.h"

namespace kymo::memory {

struct ExportOptions {
  std::string device;  // this memory alone; empty: all
};

// The file appears under its name, mode 0600, when it is complete. Throws kymo::InvalidArgument for any other ending
// and for a device that has no allocations, kymo::Error where the trace holds no allocation at all, or with path and
// reason where the file cannot be written.
void export_profile(const trace::Reader& reader, const std::string& path, const ExportOptions& options = {});

// Throws as above where the ending is of no form, before anything was recorded for it.
void check_profile_name(const std::string& path);

}  // namespace kymo::memory
