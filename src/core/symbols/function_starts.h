// Where the functions of a file begin, from its unwind tables: for files without symbols.
//
// The tables are untrusted: nothing outside of them is read. Made once per file, which takes milliseconds for the
// largest ones; a lookup is a binary search.
#pragma once

#if KYMO_HAVE_DW

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace kymo::symbols {

class FunctionStarts {
 public:
  explicit FunctionStarts(Dwfl_Module* module);

  // The address of the first instruction of the function at `address`, both as libdw counts them. Nothing if the file
  // has no tables.
  std::optional<uint64_t> at(uint64_t address) const;

  // Where to look for the name of a return address. That is the byte before it, inside of the call, except for code
  // that nobody has called: what a signal handler returns to, and what the first function of a coroutine returns to.
  uint64_t code_of(uint64_t return_address) const;
  // The code that a signal handler returns to.
  bool is_signal_trampoline(uint64_t address) const;

 private:
  Dwfl_Module* module_;
  std::vector<uint64_t> starts_;  // ascending
};

}  // namespace kymo::symbols

#endif
