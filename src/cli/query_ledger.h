// The ledgers of the traces that a query has read.
#pragma once

#include "query/session.h"

namespace kymo::cli {

// Prints what is missing in each of them. True if something is.
bool show_ledgers(const query::Session& session);

}  // namespace kymo::cli
