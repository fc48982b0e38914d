// The tables with one row for each thread, device, process, loss or name: they come from the catalog of a trace, and
// are built whole.
#pragma once

#include <vector>

#include "query/table.h"

namespace kymo::query {

// threads, devices, processes, losses, names
std::vector<Table> small_tables();

}  // namespace kymo::query
