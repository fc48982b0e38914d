// Writes the folder of a capture: records and contents as they come, the manifest at the end. The writer does not know
// the meaning of the records; the session does. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "capture/contents.h"
#include "capture/files.h"
#include "capture/manifest.h"
#include "capture/records.h"

namespace kymo::capture {

class FolderExists : public WriteError {
 public:
  using WriteError::WriteError;
};

class Writer {
 public:
  // Creates the folder (0700), and the files in it (0600). Throws FolderExists if there is something of that name, and
  // WriteError with both names, like everything here.
  explicit Writer(std::string folder);
  // Without finish(), what was written is removed, because nothing could read it.
  ~Writer();

  void add(const Record& record);
  uint32_t add_shader(device::Language language, std::string_view text);  // its number
  void store(base::Bytes bytes, Pieces& pieces) { contents_->store(bytes, pieces); }
  uint64_t calls() const { return calls_; }  // so far

  // `device_times` of each call, in nanoseconds; 0: unknown. Set only those members of the manifest that the writer
  // cannot know.
  void finish(Manifest manifest, std::span<const uint64_t> device_times);
  // Leaves the folder as it is: in a forked child it belongs to the parent.
  void abandon();

  const std::string& folder() const { return path_; }

 private:
  void remove() noexcept;

  std::string path_;
  base::FileDescriptor parent_, folder_;
  std::optional<OutputFile> calls_file_, contents_file_;
  std::optional<ContentsWriter> contents_;
  std::vector<FileEntry> shaders_;
  std::vector<DeviceRecord> devices_;
  base::ByteWriter scratch_;
  uint64_t calls_ = 0;
  bool complete_ = false;
};

}  // namespace kymo::capture
