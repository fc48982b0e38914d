// The processes of a file, with their parents. The samples of a process have a writer of their own: here it is a child
// of the one that the process has itself.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace kymo::push {

struct Process {
  const trace::WriterInfo* info = nullptr;
  std::string recording;       // a name for those that were recorded together, or imported from one file
  bool is_imported = false;    // then it does not say whose child it is
  bool is_sampled = false;     // its events are samples, which Kymo took from outside
  bool is_same_again = false;  // sampled, and its parent is the same process
  bool has_events = false;
  std::optional<size_t> parent{};  // its place in the list, which is before that of the child; nothing: not recorded
};

// In the order in which they began; those that are sampled are last, because they are noticed later. The reader must
// outlive the list, and show all processes.
std::vector<Process> list_processes(const trace::Reader& reader);

// A name for the processes that were recorded together, or imported from one file.
std::string recording_of(const trace::Origin& origin);

}  // namespace kymo::push
