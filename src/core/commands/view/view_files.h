// The files of `kymo view`, and the analyses of whole files that its page can show: what kymo report and kymo diff
// print as JSON.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/temporary_file.h"
#include "serve/api.h"
#include "trace/reader.h"

namespace kymo::cli {

// Traces of other tools are imported into temporary files, which exist as long as this object.
class ViewFiles {
 public:
  struct Path {
    std::string path;
    bool in_folder = false;  // it was not named itself, but is in a folder that was
  };
  // A file of a folder that cannot be read is left out, with a line on standard error. Throws kymo::Error if another
  // file cannot be read, or if no file is left.
  explicit ViewFiles(const std::vector<Path>& paths);
  ViewFiles(const ViewFiles&) = delete;
  ViewFiles& operator=(const ViewFiles&) = delete;

  std::vector<trace::Reader> take_readers() { return std::move(readers_); }
  serve::View::Reopen reopen() const {
    return [this](uint32_t file) { return open_again(file, {}); };
  }
  // What was left out, and why, for people.
  const std::vector<std::string>& left_out() const { return left_out_; }
  // They refer to this object. A file that is deleted, replaced or cut is also reported on standard error. One that was
  // deleted or replaced is still read as it was; one that was overwritten is refused.
  serve::Analyses analyses();

 private:
  struct File {
    std::string name, path;  // as it was given; where the trace is
    std::unique_ptr<base::TemporaryFile> imported;
    base::FileDescriptor opened;     // the file that is shown, also after another one has taken its path
    uint64_t device = 0, inode = 0;  // of this file
    uint64_t bytes = 0;              // its size when it was opened
    std::string head;                // its first bytes, which never change: files are only appended to
    std::string trouble;             // what was reported last
  };
  // What happened to a file, and whether all that was in it can still be read.
  struct Fate {
    std::string what;  // empty: nothing
    bool is_intact = true;
  };
  void open(const std::string& path);
  Fate fate(const File& file, uint64_t bytes) const;
  trace::Reader open_again(uint32_t file, const serve::IsGone& is_gone) const;
  std::string trouble(uint32_t file, uint64_t bytes);

  std::vector<File> files_;
  std::vector<trace::Reader> readers_;
  std::vector<std::string> left_out_;
};

}  // namespace kymo::cli
