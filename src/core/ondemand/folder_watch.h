// Waits until a file appears, without polling: the kernel sends a notification (inotify).
//
// It watches the folder of each path. If that folder does not exist, it watches the nearest existing folder above it.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"

namespace kymo::ondemand {

class FolderWatch {
 public:
  // Watches from now on. False: the system has no more watches.
  bool begin(const std::vector<std::string>& paths);
  void end() noexcept;                      // closes it, unless the program has already: see own_file.h
  int file() const { return file_.get(); }  // readable when something has changed; -1: not watching

  // Reads the changes; true if one of the paths may have appeared. Then call begin() again: new folders may exist.
  bool read_changes();

 private:
  struct Watched {
    int number;
    std::string name;  // the name that must appear in it
  };
  bool is_mine() const;

  base::FileDescriptor file_;
  std::string kind_;  // of file_, as the kernel names it
  std::vector<Watched> watched_;
};

}  // namespace kymo::ondemand
