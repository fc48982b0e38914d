// The files that must not outlive this process: temporary ones, and those that are not complete yet.
//
// Their objects remove them. A signal that ends the process runs no destructors, so a program may remove all of them in
// a handler (remove_unfinished_files). A library installs no handlers: there, the table has no effect.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

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

// A file in the folder for temporary files that exists as long as its object.
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

// A file that appears under its name only when it is complete.
//
// The bytes go to a temporary file next to it, PATH.XXXXXX with mode 0600. commit() renames it. Without commit()
// nothing is left, and an existing file at PATH is unchanged. Two writers of one path do not disturb each other: the
// last commit() wins.
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
