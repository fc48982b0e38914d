// The modules of this process, or a single file, as libdw reads them. Empty answers where Kymo was built without it.
//
// Of a process it takes those that are loaded when it is made, and look_again() adds what was loaded since. It never
// forgets one: where code was unloaded, and other code put in its place, a new object is needed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "symbols/symbols.h"

namespace kymo::symbols {

class DebugInformation {
 public:
  DebugInformation();
  // One file, which nobody need have loaded. What is not one that libdw can read has no begin.
  DebugInformation(base::FileDescriptor file, const std::string& path);
  ~DebugInformation();
  DebugInformation(const DebugInformation&) = delete;
  DebugInformation& operator=(const DebugInformation&) = delete;

  void look_again();

  // Of a single file: the address that its first byte has here, and its build id in hexadecimal.
  std::optional<uintptr_t> begins_at() const;
  std::string build_id() const;

  // The frames at the instruction before `return_address`, innermost first; none where no module has it.
  std::vector<Frame> frames(uintptr_t return_address);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "kymo::symbols::capture(…)" for "_ZN4kymo…"; what is not mangled stays.
std::string demangled(const char* name);

}  // namespace kymo::symbols
