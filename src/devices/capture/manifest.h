// manifest.json: describes a capture and its other files. Written last: a folder without it is unfinished.
// replay/reader.h reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/records.h"

namespace kymo::capture {

struct FileEntry {
  std::string name;  // within the folder: "calls.bin", "shaders/0000.metal"
  uint64_t bytes = 0, checksum = 0;
};

struct Manifest {
  std::string kymo_version, name;
  uint64_t started_ns = 0, stopped_ns = 0;  // since 1970
  std::string problem;                      // what could not be read; empty: no problem
  uint64_t calls = 0, pieces = 0;
  uint64_t device_ns = 0;      // of all calls
  uint64_t content_bytes = 0;  // before deduplication and compression
  std::vector<FileEntry> files;

  // For people who open the file; the reader takes it from calls.bin.
  std::vector<DeviceRecord> devices;
};

std::string manifest_text(const Manifest& manifest);
// The end of that text: a checksum of all before it.
std::string manifest_end(std::string_view before);
inline constexpr std::string_view kManifestEndMark = "  \"checksum\": ";

// "shaders/0007.metal"
std::string shader_name(uint32_t number, device::Language language, std::string_view text);

}  // namespace kymo::capture
