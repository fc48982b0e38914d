// Reads a capture. Nothing in the folder is trusted: the sizes and checksums of all files are verified when it is
// opened, and every record is checked once. So later passes over the records find only valid ones.
//
//   CaptureFile capture("0000-frame.kycap");
//   capture.for_each([&](const Record& record, const Tables& so_far) { … });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "capture/contents.h"
#include "capture/manifest.h"
#include "capture/records.h"
#include "capture/replay/tables.h"

namespace kymo::capture {

class CaptureFile {
 public:
  // Throws Error, in one line, if the folder is not a capture, or the capture is unfinished, of another version,
  // truncated or damaged.
  explicit CaptureFile(std::string folder);

  const std::string& folder() const { return path_; }
  const Manifest& manifest() const { return manifest_; }
  const Tables& tables() const { return *tables_; }                     // the state at the end
  const std::vector<uint64_t>& device_times() const { return times_; }  // for each call; 0: unknown
  const std::vector<FileEntry>& shaders() const { return shaders_; }    // by number
  std::string shader_text(uint32_t number) const;
  std::vector<std::byte> piece(uint64_t number) const { return contents_->read(number); }

  // Visits all records in order; `so_far` already includes the current one.
  void for_each(const std::function<void(const Record& record, const Tables& so_far)>& visit) const;

 private:
  base::FileDescriptor open_checked(const FileEntry& entry) const;
  std::vector<std::byte> read_checked(const FileEntry& entry, uint64_t max) const;
  const FileEntry& entry(std::string_view name) const;

  std::string path_;
  base::FileDescriptor folder_;
  Manifest manifest_;
  std::vector<FileEntry> shaders_;
  std::vector<std::byte> calls_;
  std::vector<uint64_t> times_;
  std::unique_ptr<ContentsReader> contents_;
  std::optional<Tables> tables_;
};

// Checks all records after the header of calls.bin. Throws Error with the position.
void walk_records(base::Bytes untrusted, Tables& tables,
                  const std::function<void(const Record& record, const Tables& so_far)>& visit);

}  // namespace kymo::capture
