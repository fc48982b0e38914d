// A file's symbol table in the order of addresses.
//
// libdw looks through all symbols for each address: some 10 ms in a library as large as libtorch. Sorting them once
// takes as long as one such look, and a look takes a microsecond from then on.
#pragma once

#if KYMO_HAVE_DW

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <vector>

namespace kymo::symbols {

class SymbolTable {
 public:
  // Functions, and what does not say what it is.
  explicit SymbolTable(Dwfl_Module* module);

  // Of the function that lies there; null: none. The module's for as long as that is there.
  const char* at(uint64_t address) const;

  // Whether a module has so many symbols that it is worth while.
  static bool is_worth_while(Dwfl_Module* module);

 private:
  struct Symbol {
    uint64_t begin, end;  // the same where its size is not known: up to the next
    const char* name;
    bool is_global;
  };
  std::vector<Symbol> symbols_;  // by address, one at each
};

}  // namespace kymo::symbols

#endif
