// The functions in a unit of debug information (one compiled file): the function at an address, and the functions that
// were inlined there.
//
// libdw's own search reads the whole unit for each address; here the functions are sorted once. The data may be
// damaged: every walk only goes forward, to a limited depth.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "symbols/symbols.h"

namespace kymo::symbols {

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

// The frames at an address of the unit, innermost first: the inlined functions, then `function`. Modules are left
// empty.
std::vector<Frame> frames_in(Dwarf_Die& unit, Dwarf_Die& function, Dwarf_Addr address);

// Only the line, if no function is known.
Frame line_in(Dwarf_Die& unit, Dwarf_Addr address);

}  // namespace kymo::symbols
