// Finding segments: which folders may hold some, and which of those belong to a trace.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "record/segment.h"
#include "trace/model.h"

namespace kymo::collect {

std::string to_hex(const uint8_t (&id)[16]);

// The folder new segments are made in. Throws kymo::NotAvailable where there is none.
std::string segment_folder();

// Every folder of this user's that may hold segments.
std::vector<std::string> segment_folders();

struct FoundSegment {
  std::string path;
  record::Mapping mapping;  // the finder's to unmap
};

// Maps the segments that `wanted` accepts by their header. Those whose name is in `seen` are not looked at again, and
// every one that was looked at is added to it.
std::vector<FoundSegment> find_segments(const std::function<bool(const record::SegmentHeader&)>& wanted,
                                        std::set<std::string>* seen = nullptr);

// Removes what dead processes left behind where there is nothing in it to bring home.
void remove_spent_segments();

// Takes the dead owner's place, so that no one else drains the segment meanwhile. False: someone lives, or was faster.
bool claim(const record::Mapping& mapping);

}  // namespace kymo::collect
