// Where a trace that somebody else requested may be written, and its temporary files.
//
// The path comes from outside, and the program writes with its user's rights. So the folder must exist, be below an
// allowed one, and be protected from other users. The last part of the path must not be a symbolic link, or a file that
// is not a trace. While it is recorded, a trace is named PATH.part, which is a new file; it gets its final name when it
// is complete. If another trace has this name then, a number is added: hosts may share a folder, and have the same
// pids.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/environment.h"

namespace kymo::ondemand {

enum class Existing : uint8_t { Keep, Replace };  // a trace that has the name already

using AllowedFolders = std::vector<std::vector<std::string>>;

class OutputFile {
 public:
  // `allowed`: lists of folders; the file must be below one folder of each list that is not empty. Creates PATH.part.
  // Throws kymo::Error or kymo::InvalidArgument, with the path and what to do.
  OutputFile(const std::string& path, const AllowedFolders& allowed, Existing existing = Existing::Keep);
  ~OutputFile();  // removes unfinished files, unless keep() was called
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }  // its folder without links; final after complete()
  const std::string& part() const { return part_; }
  // Renames part() to the final name. Throws kymo::Error.
  void complete();
  // The same with a file that `write` makes at this path. Throws what it throws; then there is none.
  void complete(const std::function<void(const std::string& path)>& write);
  // Keeps PATH.part: it contains the recording.
  void keep() { keep_ = true; }
  // Drops all files without removing them: in a forked child they belong to the parent.
  void forget() { reserved_.clear(); }

 private:
  // Creates a new, empty file next to `path_`, with this ending.
  std::string reserve(const std::string& ending);
  // Makes the final name one that no other trace has. `take` creates a file of this name, unless there is one, so that
  // nobody else takes it, and returns 0 or the errno.
  void claim(const std::function<int(const std::string& path)>& take);

  std::string path_, part_;
  Existing existing_;
  std::vector<std::string> reserved_;
  bool keep_ = false;
};

// The folders in a variable, separated by colons: KYMO_TRACE_DIR. Empty if it is not set.
std::vector<std::string> folders_in(base::Variable variable);

// Checks the beginning of a file: did Kymo or libkineto write it? Depends on its extension.
bool looks_like_trace(std::string_view path, std::string_view beginning);

}  // namespace kymo::ondemand
