// A file that appears under its name only when it is complete.
//
// The bytes go to a temporary file next to it, PATH.XXXXXX with mode 0600. commit() renames it. Without commit()
// nothing is left, and an existing file at PATH is unchanged. Two writers of one path do not disturb each other: the
// last commit() wins.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/unfinished_file.h"

namespace kymo::base {

class AtomicFile {
 public:
  // `path` follows the rule of base/output_path.h. Throws kymo::Error if no file can be created there.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);  // throws kymo::Error with the path and the reason
  void commit();                                 // throws kymo::Error with the path and the reason

  const std::string& path() const { return path_; }
  // For code that writes to the file itself, before commit().
  const std::string& temporary_path() const { return temporary_; }

 private:
  std::string path_, temporary_;
  FileDescriptor file_;
  UnfinishedFile unfinished_;
};

}  // namespace kymo::base
