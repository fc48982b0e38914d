// Finds segments: the folders that may contain them, and the segments that belong to a trace.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "record/segment.h"
#include "trace/model.h"

namespace kymo::collect {

// Absolute from the current directory, so it stays valid if the program changes its directory.
std::string absolute_path(const std::string& path);

// The folder for new segments. Throws kymo::NotAvailable if there is none.
std::string segment_folder();

// Own: the folders in which this process may create segments. All: those of programs with another environment too, and
// for root those of all users, because a program that root records may have changed its user.
enum class Whose { Own, All };
std::vector<std::string> segment_folders(Whose whose = Whose::All);

struct FoundSegment {
  std::string path;
  record::Mapping mapping;  // the caller must unmap it
};

// Maps the segments whose header `wanted` accepts. Segments whose name is in `seen` are skipped; every inspected one is
// added to it.
struct Search {
  std::set<std::string>* seen = nullptr;
  Whose whose = Whose::All;
  record::Sharing sharing = record::Sharing::Shared;
};
std::vector<FoundSegment> find_segments(const std::function<bool(const record::SegmentHeader&)>& wanted,
                                        const Search& search = {});

// The paths of segments of other versions of Kymo, whose records this one cannot read.
std::vector<std::string> segments_of_other_versions(Whose whose);

// Removes the segments of dead processes that have no unread data.
void remove_spent_segments();

bool has_unread(const record::Mapping& mapping);

// Becomes the owner of a dead process's segment, so that nobody else drains it. False if the owner is alive, or another
// process was faster.
bool claim(const record::Mapping& mapping);

}  // namespace kymo::collect
