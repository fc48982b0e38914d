// Waits for a file to appear, without looking for it again and again: the kernel tells (inotify).
//
// For each path the folder is watched, or where that is missing the nearest one above it that is there.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"

namespace kymo::ondemand {

class FolderWatch {
 public:
  // Watches from now on. False: the system has no watch to give.
  bool begin(const std::vector<std::string>& paths);
  void end() noexcept;                      // closes it, unless the program has: see own_file.h
  int file() const { return file_.get(); }  // readable when something has changed; -1: not watching

  // Reads what has changed; true where it may be one of the paths. Call begin() again then: folders may have come.
  bool read_changes();

 private:
  struct Watched {
    int number;
    std::string name;  // what must appear in it
  };
  bool is_mine() const;

  base::FileDescriptor file_;
  std::string kind_;  // of file_, as the kernel names it
  std::vector<Watched> watched_;
};

}  // namespace kymo::ondemand
