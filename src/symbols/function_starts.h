// Where the functions of a file begin, from its unwind tables: for files without symbols.
//
// The table is sorted and is read in place. It is untrusted: nothing outside of it is read.
#pragma once

#if KYMO_HAVE_DW

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <optional>

namespace kymo::symbols {

// The address of the first instruction of the function at `address`, both as libdw counts them. Nothing if the file has
// no such table.
std::optional<uint64_t> function_start(Dwfl_Module* module, uint64_t address);

}  // namespace kymo::symbols

#endif
