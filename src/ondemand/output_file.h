// Where a trace that somebody else asked for may be written, and the files on the way there.
//
// The path comes from outside, and the program writes with its user's rights. So the folder must be there, below an
// allowed one, and such that nobody else can exchange its files; the last part of the path is no symbolic link; what is
// there already is overwritten only where it is a trace. While it is recorded a trace is PATH.part, created for this
// alone; it gets its name when it is complete.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kymo::ondemand {

using AllowedFolders = std::vector<std::vector<std::string>>;

class OutputFile {
 public:
  // `allowed`: lists of folders; the file must be below one of each list that is not empty. Creates PATH.part. Throws
  // kymo::Error or kymo::InvalidArgument, with the path and what to do.
  OutputFile(const std::string& path, const AllowedFolders& allowed);
  ~OutputFile();  // removes what has not got its name, unless keep() was called
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }  // its folder without links
  const std::string& part() const { return part_; }
  // Another file beside them, empty and created for this alone, with this ending. Throws as the constructor does.
  std::string reserve(const std::string& ending);
  // Gives one of them the name. Throws kymo::Error.
  void complete(const std::string& file);
  // PATH.part stays: what was recorded is in it.
  void keep() { keep_ = true; }
  // All files are somebody else's now: a forked child's parent's.
  void forget() { reserved_.clear(); }

 private:
  std::string path_, part_;
  std::vector<std::string> reserved_;
  bool keep_ = false;
};

// The folders that a variable names, separated by colons: KYMO_TRACE_DIR. Empty where it is not set.
std::vector<std::string> folders_in(const char* variable);

// What the beginning of a file says: is it one that Kymo or a peer has written? By the ending of its name.
bool looks_like_trace(std::string_view path, std::string_view beginning);

}  // namespace kymo::ondemand
