// The functions of a unit of debug information (one compiled file): which one an address is in, and what was inlined
// into it there.
//
// libdw's own search reads the whole unit for every address; here its functions are put in order once. What is read may
// be damaged: every walk goes forward only, and to a limited depth.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "symbols/symbols.h"

namespace kymo::symbols {

// Ranges of addresses, and the offset of what has each. The one that begins last has an address that is in several.
class AddressRanges {
 public:
  void add(Dwarf_Die& die);  // all ranges of it
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

// What is at an address of the unit, innermost first: the inlined ones, then `function`. Modules are left empty.
std::vector<Frame> frames_in(Dwarf_Die& unit, Dwarf_Die& function, Dwarf_Addr address);

// The line alone, where no function is known.
Frame line_in(Dwarf_Die& unit, Dwarf_Addr address);

}  // namespace kymo::symbols
