// The columns that all rows of a thread or queue have in common.
#pragma once

#include <cstddef>
#include <vector>

#include "query/table.h"

namespace kymo::query {

inline constexpr Column kTrackColumns[] = {
    {"process", ColumnType::Process, "the name of the program"},
    {"pid", ColumnType::UInt64, "its process id"},
    {"thread", ColumnType::Thread, "the name of the thread or queue"},
    {"tid", ColumnType::UInt64, "the thread id; NULL on a device"},
    {"device", ColumnType::Device, "the device; NULL on a thread"},
    {"track", ColumnType::UInt32, "the number of the thread or queue: threads.track"},
    {"file", ColumnType::File, "the file of the trace"},
};

// Writes them, where the table has them from the column `first` on, into `count` rows.
inline void fill_track(Output& output, size_t first, size_t row, size_t count, const TrackInfo& track) {
  const auto fill_enum = [&](size_t column, uint32_t number) {
    output.set_enums(first + column, row, count, [number](size_t) { return number; });
  };
  const auto fill_number = [&]<typename Number>(size_t column, Number number) {
    if (auto* const to = output.values<Number>(first + column)) std::fill_n(to + row, count, number);
  };
  fill_enum(0, track.process);
  fill_number(1, track.place->writer->origin.pid);
  fill_enum(2, track.thread);
  fill_number(3, track.place->track->tid);
  if (track.on_device() && output.wants(first + 3))
    for (size_t i = 0; i < count; ++i) output.set_null(first + 3, row + i);
  fill_enum(4, track.device);
  fill_number(5, track.number);
  fill_enum(6, track.file);
}

}  // namespace kymo::query
