// What code lies at a place in a file: for stacks of processes that are gone, or of another trace.
//
// As symbols.h, by the files that were loaded then. A file that is no longer there, or is another build, is not guessed
// from: its debug file is used where one is installed for the build id, else the answer is "libfoo.so+0x1234".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "symbols/symbols.h"

namespace kymo::symbols {

// Not thread-safe.
class FileSymbols {
 public:
  FileSymbols();
  ~FileSymbols();
  FileSymbols(FileSymbols&&) noexcept;
  FileSymbols& operator=(FileSymbols&&) noexcept;

  // The frames behind a return address, as Symbols gives them. `offset` counts from where the file's first byte was
  // loaded; `build_id` is in hexadecimal, empty where it is not known, and then any file of that path is taken. Paths
  // may come from anywhere: only files are opened, and only by a full path.
  std::vector<Frame> at_return_address(const std::string& path, const std::string& build_id, uint64_t offset);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kymo::symbols
