// The text of a timeline: a header with the times, and a row for each track that fits the width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/views/timeline.h"

namespace kymo::cli {

inline constexpr size_t kMinTimelineWidth = 40;

// How the columns of a screen are used.
struct TimelineLayout {
  size_t label = 0;    // for the names of tracks, with the space after it
  size_t columns = 0;  // for the timeline
};
// `longest` is the width of the longest name. `width` is at least kMinTimelineWidth.
TimelineLayout timeline_layout(size_t width, size_t longest);

// The cells of a row, one for each column: shades, names of columns, and blocks "[name    ]".
std::string timeline_cells(const views::TimelineRow& row);

// Two lines: times, and where they are.
std::string timeline_axis(uint64_t from_ns, uint64_t to_ns, const TimelineLayout& layout);

// Rows of the same process are under its name. Only the busiest tracks are shown if there are more than `max`.
std::string timeline_text(const views::Timeline& timeline, const views::TimelineOptions& options,
                          const TimelineLayout& layout, size_t max);

}  // namespace kymo::cli
