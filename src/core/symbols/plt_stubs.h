// The stubs through which a file calls functions of other files (the PLT), with the names of these functions. They are
// in no symbol table: the linker's relocations say which slot of the GOT is for which function, and the code of a stub
// says which slot it jumps through. Only with libdw. The file is untrusted.
#pragma once

#if KYMO_HAVE_DW

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kymo::symbols {

struct PltStub {
  uint64_t begin = 0, end = 0;  // as libdw counts addresses
  std::string symbol;           // mangled; empty: a function of the file itself
  uint64_t resolver = 0;        // that selects this function (an ifunc)
};

class PltStubs {
 public:
  explicit PltStubs(Dwfl_Module* module);

  // Null: no stub is there. Relocations are read when the first stub is asked for.
  const PltStub* at(uint64_t address);

 private:
  struct Section {
    uint64_t begin, end;  // as libdw counts addresses
    size_t number;
  };
  void read();

  Dwfl_Module* module_;
  std::vector<Section> sections_;
  bool is_read_ = false;
  std::vector<PltStub> stubs_;  // sorted
};

}  // namespace kymo::symbols

#endif
