// A file in the folder for temporary files that exists as long as its object.
#pragma once

#include <string>

#include "base/unfinished_file.h"

namespace kymo::base {

class TemporaryFile {
 public:
  // An empty file with mode 0600. Throws kymo::Error if there is no such folder, or no file can be made in it.
  TemporaryFile();
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  // What messages call it: nobody knows its path, but everybody can name another folder.
  const std::string& name() const { return name_; }

 private:
  std::string path_, name_;
  UnfinishedFile unfinished_;
};

}  // namespace kymo::base
