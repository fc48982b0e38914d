// The modules of this process, or a single file, read by libdw. All results are empty if Kymo was built without libdw.
//
// For a process it uses the modules that are loaded when it is created; look_again() adds those loaded since. It never
// removes one: if code was unloaded and other code is at its addresses, create a new object.
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
  // A single file, which need not be loaded. If libdw cannot read it, begins_at() is empty.
  DebugInformation(base::FileDescriptor file, const std::string& path);
  ~DebugInformation();
  DebugInformation(const DebugInformation&) = delete;
  DebugInformation& operator=(const DebugInformation&) = delete;

  void look_again();

  // For a single file: the address of its first byte here, and its build id in hexadecimal.
  std::optional<uintptr_t> begins_at() const;
  std::string build_id() const;

  // For a single file: its function at the instruction before `return_address`, and this instruction, as the file
  // counts addresses. By the unwind tables, which also know functions without names.
  std::optional<CodeOfFunction> function(uintptr_t return_address) const;

  // The frames at the instruction before `return_address`, innermost first. Empty if no module contains it.
  std::vector<Frame> frames(uintptr_t return_address);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The modules that are loaded into this process: the program, its libraries, the vDSO. From the loader, not from
// /proc/self/maps: there, a file that someone only reads looks like a part of the module that is loaded from the same
// file, and libdw reads the files of all modules.
struct LoadedModule {
  std::string path;  // absolute; "[vdso: PID]" for the vDSO, which libdw reads from memory
  uintptr_t begin = 0, end = 0;
  std::vector<uint8_t> build_id;  // empty: it has none
};
std::vector<LoadedModule> loaded_modules();

// "kymo::symbols::capture(…)" for "_ZN4kymo…". A name that is not mangled is returned unchanged.
std::string demangled(const char* name);

}  // namespace kymo::symbols
