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

// From here, wherever the program goes meanwhile.
std::string absolute_path(const std::string& path);

// The folder new segments are made in. Throws kymo::NotAvailable where there is none.
std::string segment_folder();

// Every folder that may hold segments: this user's, and for root everybody's, where programs that it records may have
// changed their user.
enum class Whose { Own, All };
std::vector<std::string> segment_folders(Whose whose = Whose::All);

struct FoundSegment {
  std::string path;
  record::Mapping mapping;  // the finder's to unmap
};

// Maps the segments that `wanted` accepts by their header. Those whose name is in `seen` are not looked at again, and
// every one that was looked at is added to it.
struct Search {
  std::set<std::string>* seen = nullptr;
  Whose whose = Whose::All;
  record::Sharing sharing = record::Sharing::Shared;
};
std::vector<FoundSegment> find_segments(const std::function<bool(const record::SegmentHeader&)>& wanted,
                                        const Search& search = {});

// Segments of a Kymo whose records this one cannot read, by their paths.
std::vector<std::string> segments_of_other_versions(Whose whose);

// Removes what dead processes left behind where there is nothing in it to bring home.
void remove_spent_segments();

bool has_unread(const record::Mapping& mapping);

// Takes the dead owner's place, so that no one else drains the segment meanwhile. False: someone lives, or was faster.
bool claim(const record::Mapping& mapping);

}  // namespace kymo::collect
