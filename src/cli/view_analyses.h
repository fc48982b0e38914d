// The files of `kymo view`, and the analyses of whole files that its page can show: what kymo report and kymo diff
// print as JSON.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serve/api.h"
#include "trace/reader.h"

namespace kymo::cli {

// Traces of other tools are imported into temporary files, which exist as long as this object.
class ViewFiles {
 public:
  // Throws kymo::Error if a file cannot be read.
  explicit ViewFiles(const std::vector<std::string>& paths);
  ViewFiles(const ViewFiles&) = delete;
  ViewFiles& operator=(const ViewFiles&) = delete;

  std::vector<trace::Reader> take_readers() { return std::move(readers_); }
  // They refer to this object.
  serve::Analyses analyses() const;

 private:
  class ImportedCopy {
   public:
    ImportedCopy();
    ~ImportedCopy();
    ImportedCopy(const ImportedCopy&) = delete;
    ImportedCopy& operator=(const ImportedCopy&) = delete;
    const std::string& path() const { return path_; }

   private:
    std::string path_;
  };
  struct File {
    std::string name, path;  // as it was given; where the trace is
    std::unique_ptr<ImportedCopy> imported;
  };
  trace::Reader reopen(uint32_t file) const;

  std::vector<File> files_;
  std::vector<trace::Reader> readers_;
};

}  // namespace kymo::cli
