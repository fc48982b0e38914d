// The files that must not outlive this process: temporary ones, and those that are not complete yet.
//
// Their objects remove them. A signal that ends the process runs no destructors, so a program may remove all of them in
// a handler (remove_unfinished_files). A library installs no handlers: there, the table has no effect.
#pragma once

#include <string>

#include "base/file.h"

namespace kymo::base {

// A file in the table. For any thread. Not kept if its path is very long or the table is full.
class UnfinishedFile {
 public:
  UnfinishedFile() = default;
  ~UnfinishedFile() { done(); }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  // Makes a new file, as mkostemp does: with mode 0600, and the six X at the end of `path` replaced. Signals wait until
  // the file is in the table. An invalid descriptor and errno if it fails.
  FileDescriptor make(std::string& path) noexcept;
  void done() noexcept;  // the file is complete, or removed

 private:
  struct Slot;
  void add(const std::string& path) noexcept;
  friend void remove_unfinished_files() noexcept;
  static Slot slots_[];
  Slot* slot_ = nullptr;
};

// For a signal handler. Waits for a file that another thread is making. Does nothing in a forked child: the files are
// the parent's.
void remove_unfinished_files() noexcept;

}  // namespace kymo::base
