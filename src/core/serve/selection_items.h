// The totals of a part of tracks of ranges across threads (derived.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyze/stats.h"
#include "analyze/views/paths.h"
#include "serve/derived.h"
#include "serve/names.h"

namespace kymo::serve {

struct ItemTotals {
  analyze::Statistics statistics;
  views::Paths paths;
};

// Items are cut at the two times. Linear in the number of items.
ItemTotals total_items(const std::vector<std::shared_ptr<const DerivedTrack>>& tracks, const NameTable& names,
                       int64_t from_ns, int64_t to_ns);

}  // namespace kymo::serve
