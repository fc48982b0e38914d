// A search table for .eh_frame, for files that have none: the linker makes no .eh_frame_hdr for static programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace kymo::symbols {

struct DescribedFunction {
  uint64_t begin = 0;        // the first address of the function
  uint64_t description = 0;  // the address of its record
};

// `address` is where `eh_frame` is loaded. Sorted. A record that cannot be read ends the list, or is left out.
std::vector<DescribedFunction> index_eh_frame(base::Bytes eh_frame, uint64_t address);

// The same as .eh_frame_hdr, loaded at `address`. Functions that are more than 2 GiB away are left out.
std::vector<std::byte> make_search_table(const std::vector<DescribedFunction>& functions, uint64_t address);

}  // namespace kymo::symbols
