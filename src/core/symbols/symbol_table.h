// The symbol table of a file, sorted by address.
//
// libdw searches all symbols for each address: about 10 ms in a library as large as libtorch. Sorting them once takes
// as long as one such search; after that a search takes 1 µs.
#pragma once

#if KYMO_HAVE_DW

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <vector>

namespace kymo::symbols {

class SymbolTable {
 public:
  // Takes functions, and symbols without a type.
  explicit SymbolTable(Dwfl_Module* module);

  // The name of the function at this address; null: not found. Owned by the module, and valid as long as it.
  const char* at(uint64_t address) const;

  // True if the module has enough symbols to make this faster.
  static bool is_worth_while(Dwfl_Module* module);

 private:
  struct Symbol {
    uint64_t begin, end;  // equal if its size is not known: it extends to the next symbol
    const char* name;
    bool is_global;
  };
  std::vector<Symbol> symbols_;  // sorted by address, one per address
};

}  // namespace kymo::symbols

#endif
