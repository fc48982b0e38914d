// Symbols of an address in a file, for stacks of processes that have ended, or from another trace.
//
// Like symbols.h, but with the files that were loaded then. If a file does not exist any more, or is another build, its
// debug file is used if one is installed for the build id. Otherwise the result is "libfoo.so+0x1234"; nothing is
// guessed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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

  // The frames of a return address, as Symbols gives them. `offset` is from the address where the file's first byte was
  // loaded. `build_id` is in hexadecimal; if it is empty (not known), any file at that path is used. Paths are
  // untrusted: only regular files are opened, and only by an absolute path.
  std::vector<Frame> at_return_address(const std::string& path, const std::string& build_id, uint64_t offset);

  // The function at such an address. Nothing if the file is not there any more, or is another build.
  std::optional<CodeOfFunction> function_at(const std::string& path, const std::string& build_id, uint64_t offset);

  // True if the debug information that a distribution strips from files is installed for this build.
  static bool has_debug_file(const std::string& build_id);

  // After at_return_address() of the same file: false if it could not be read, or is another build.
  bool has_file(const std::string& path, const std::string& build_id) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kymo::symbols
