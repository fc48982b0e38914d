// What code lies at an address of this process: function, file and line, with the functions that were inlined there.
//
// By the debug information where there is some (in the file, or apart by its build id), else by the symbol table, else
// the module and the offset in it. Slow, some 10 µs an address and more for the first of a module, and remembered.
// Nothing is fetched from a network, whatever DEBUGINFOD_URLS says.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kymo::symbols {

struct Frame {
  std::string function;  // demangled; "libfoo.so+0x1234" where nothing is known
  std::string file;      // empty: not known
  uint32_t line = 0;
  std::string module;    // the path of the file the code is in; empty: in none
  bool inlined = false;  // into the frame after it
};

// Not thread-safe. Takes the modules that are loaded when it is made, and those that are loaded later. One that is
// unloaded stays known, until other code is in its place.
class Symbols {
 public:
  Symbols();
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // The frames behind a return address: what was inlined there first, the function itself last. At least one. Stays as
  // it is while this object lives.
  const std::vector<Frame>& at_return_address(uintptr_t address);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kymo::symbols
