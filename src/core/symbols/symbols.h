// The code at an address of this process: function, file and line, with the functions that were inlined there.
//
// Uses the debug information if there is some (in the file, or a separate file by its build id), otherwise the symbol
// table, otherwise the module and the offset in it. Slow: about 10 µs per address, more for the first one in a module;
// results are cached. Never uses the network, whatever DEBUGINFOD_URLS says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace kymo::symbols {

struct Frame {
  // Demangled; "libfoo.so+0x1234" if the name is not known: where the function begins, or the address itself.
  std::string function;
  std::string file;  // empty: not known
  uint32_t line = 0;
  std::string module;    // the path of the file that contains the code; empty: none
  bool inlined = false;  // into the frame after it
};

// Addresses as a file counts them, and disassemblers show them.
struct CodeOfFunction {
  uint64_t begin = 0, end = 0;  // of the function
  uint64_t at = 0;              // an instruction in it
};

// Not thread-safe. Knows the modules that are loaded when it is created, and those loaded later. An unloaded module
// stays known until other code is at its addresses.
class Symbols {
 public:
  Symbols();
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // The frames of a return address: the inlined functions first, the function itself last. At least one. The reference
  // stays valid while this object lives.
  const std::vector<Frame>& at_return_address(uintptr_t address);
  // Grows when modules were unloaded; each costs memory.
  size_t eras() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The one Symbols of this process, for everyone who looks up stacks again and again.
//
// To open the debug information of a program and its libraries takes 100 ms and more (files are often compressed). It
// stays open until the process ends, and so do all answers: an address that was looked up once costs no time later.
// Both start again after eight unloads of modules. Holds the lock until the end of the scope. In a forked child it
// works as in the parent.
class SharedSymbols {
 public:
  SharedSymbols();
  SharedSymbols(const SharedSymbols&) = delete;
  SharedSymbols& operator=(const SharedSymbols&) = delete;

  Symbols& operator*() const noexcept;

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace kymo::symbols
