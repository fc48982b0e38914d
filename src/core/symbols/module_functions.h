// Where the functions of a loaded file are: by its debug information, by its symbol table, and by its unwind tables.
// Only with libdw.
//
// All of this may be damaged, and is untrusted: nothing outside of the tables is read, and every walk only goes
// forward, to a limited depth.
#pragma once

#if KYMO_HAVE_DW

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbols/symbols.h"

namespace kymo::symbols {

// ---- Debug information ---------------------------------------------------------------------------------------------
//
// The functions in a unit of debug information (one compiled file): the function at an address, and the functions that
// were inlined there. libdw's own search reads the whole unit for each address; here the functions are sorted once.

// Ranges of addresses with the offset of their entry. If several ranges contain an address, the one that begins last is
// used.
class AddressRanges {
 public:
  void add(Dwarf_Die& die);  // all its ranges
  void sort();
  std::optional<Dwarf_Off> at(Dwarf_Addr address) const;

 private:
  struct Range {
    Dwarf_Addr begin, end;
    Dwarf_Off offset;
  };
  std::vector<Range> ranges_;
};

AddressRanges functions_of(Dwarf_Die& unit);
AddressRanges units_of(Dwarf* dwarf);

// The names of functions, by the address of their entry. Finding the scopes of one takes up to a millisecond.
using FunctionNames = std::unordered_map<const void*, std::string>;

// The frames at an address of the unit, innermost first: the inlined functions, then `function`. Modules are left
// empty.
std::vector<Frame> frames_in(Dwarf_Die& unit, Dwarf_Die& function, Dwarf_Addr address, FunctionNames& names);

// Only the line, if no function is known.
Frame line_in(Dwarf_Die& unit, Dwarf_Addr address);

// ---- Symbol table --------------------------------------------------------------------------------------------------

// The symbol table of a file, sorted by address. libdw searches all symbols for each address: about 10 ms in a library
// as large as libtorch. Sorting them once takes as long as one such search; after that a search takes 1 µs.
class SymbolTable {
 public:
  // Takes functions, and symbols without a type.
  explicit SymbolTable(Dwfl_Module* module);

  // The name of the function at this address; null: not found. Owned by the module, and valid as long as it.
  const char* at(uint64_t address) const;

 private:
  struct Symbol {
    uint64_t begin, end;  // equal if its size is not known
    const char* name;
    bool is_global;
  };
  std::vector<Symbol> symbols_;  // sorted by address, one per address
};

// ---- Unwind tables -------------------------------------------------------------------------------------------------

// Where the functions of a file begin, from its unwind tables: for files without symbols. Made once per file, which
// takes milliseconds for the largest ones; a lookup is a binary search.
class FunctionStarts {
 public:
  explicit FunctionStarts(Dwfl_Module* module);

  // The address of the first instruction of the function at `address`, both as libdw counts them. Nothing if the file
  // has no tables.
  std::optional<uint64_t> at(uint64_t address) const;
  // The same with the beginning of the next function, or the end of the file.
  std::optional<std::pair<uint64_t, uint64_t>> around(uint64_t address) const;

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
