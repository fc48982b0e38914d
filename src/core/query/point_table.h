// The tables of points in time: "events" has all of them, the others have one kind, with its own columns.
#pragma once

#include <string>
#include <vector>

#include "query/table.h"

namespace kymo::query {

// events, counters, allocations, flows
std::vector<Table> point_tables();

// The texts of the column "kind", sorted.
const std::vector<std::string>& point_kinds();

}  // namespace kymo::query
