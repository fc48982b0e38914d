// The files that must not outlive this process: temporary ones, and those that are not complete yet.
//
// Their objects remove them. A signal that ends the process runs no destructors, so a program may remove all of them in
// a handler (remove_unfinished_files). A library installs no handlers: there, the table has no effect.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

namespace kymo::base {

// Keeps a path in the table. For any thread. Not kept if the path is very long or the table is full.
class UnfinishedFile {
 public:
  UnfinishedFile() = default;
  ~UnfinishedFile() { done(); }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  void begin(const std::string& path) noexcept;
  void done() noexcept;

 private:
  struct Slot;
  friend void remove_unfinished_files() noexcept;
  static Slot slots_[];
  Slot* slot_ = nullptr;
};

// For a signal handler. Does nothing in a forked child: the files are the parent's.
void remove_unfinished_files() noexcept;

}  // namespace kymo::base
