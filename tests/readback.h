// A trace that is read back completely. The rules that hold for every trace are checked during this.
//
// Checked: nothing is damaged; no record of a ring is there twice; every event's class and track is described; each
// piece of a track continues where the one before ended; ranges on a lane of a track nest, by their times and by their
// depths.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "trace/model.h"
#include "trace/reader.h"

namespace kymo::e2e {

struct Argument {
  std::string name;
  trace::FieldType type;
  uint64_t bits = 0;
  double real = 0;
  std::string text;
};

struct Event {
  uint64_t start = 0, end = 0;  // ticks; the same for a point
  uint64_t number = 0;          // the first number it carries
  uint64_t id = 0;              // of a point
  uint32_t name = 0;            // by Readback::name_of
  uint32_t track = 0;           // in Readback::tracks
  uint32_t detail = 0;          // in Readback::details, with Detail::Arguments
  uint16_t depth = 0, lane = 0;
  uint64_t correlation = 0;  // of a range
  trace::PointKind kind{};   // of a point
};

struct EventDetail {
  std::string text, category;  // the name with its placeholders filled
  uint32_t colour = 0;
  std::vector<Argument> arguments;
};

struct TrackInfo {
  uint64_t pid = 0;
  trace::Track track;
  std::vector<std::string> open;  // ranges that were open at its end, outermost first
};

struct Readback {
  std::vector<Event> ranges, points;  // sorted within each track
  std::vector<EventDetail> details;
  std::vector<TrackInfo> tracks;
  std::vector<trace::Origin> origins;  // one per writer
  std::vector<trace::Loss> losses;
  std::vector<std::string> names;
  std::vector<std::string> faults;  // what is wrong with the trace; should be empty

  const std::string& name_of(const Event& event) const { return names[event.name]; }
  const EventDetail& detail_of(const Event& event) const { return details[event.detail]; }
  uint64_t pid_of(const Event& event) const { return tracks[event.track].pid; }

  // Ranges, and points, with this name (that of the class: "step {}"); `pid` 0: of any process.
  std::vector<const Event*> ranges_named(const std::string& name, uint64_t pid = 0) const;
  std::vector<const Event*> points_named(const std::string& name, uint64_t pid = 0) const;
  size_t count(const std::string& name, uint64_t pid = 0) const { return ranges_named(name, pid).size(); }
  size_t points_count(const std::string& name, uint64_t pid = 0) const { return points_named(name, pid).size(); }
  size_t open_count(const std::string& name) const;

  uint64_t lost() const;  // the total
  uint64_t lost(trace::LossCause cause) const;
  std::string summary() const;  // for messages: names and counts, losses, faults
};

enum class Detail { Counts, Arguments };

Readback read_back(const std::string& path, Detail detail = Detail::Counts);
Readback read_back(const trace::Reader& reader, Detail detail = Detail::Counts);

// For EXPECT_TRUE: nothing is wrong with the trace, and nothing was lost.
::testing::AssertionResult sound(const Readback& trace);
::testing::AssertionResult sound_and_complete(const Readback& trace);
// The ranges with this name carry 0, 1, 2, … in order; with `first`, they start at `first`.
::testing::AssertionResult numbered_in_order(const Readback& trace, const std::string& name, uint64_t first = 0);

}  // namespace kymo::e2e
