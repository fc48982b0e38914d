// Tells whether a file is still what it was: the same file, to which nobody has written.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace kymo::base {

struct FileVersion {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;  // also set when somebody sets the other time back
  bool operator==(const FileVersion&) const = default;
};

FileVersion version_of(const struct stat& status);

// Opens the file, so that a network file system asks its server. Throws file_error().
FileVersion version_of_file(const std::string& path);

}  // namespace kymo::base
