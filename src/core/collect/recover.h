// The data that dead processes left in shared memory: recovers it into their trace, or removes it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "trace/model.h"

namespace kymo::collect {

struct Recovered {
  uint64_t processes = 0;       // segments drained into the file and removed
  uint64_t live_processes = 0;  // still recording: not changed
  uint64_t elsewhere = 0;       // segments that belong to another file, of which this is a copy: left for that file
  uint64_t events = 0;
  uint64_t bytes = 0;
};

// Adds the data that dead processes left in shared memory to the trace that they were recording. The segments are found
// by the writers and the session in the file. It is not an error to find none. The file must be writable only if there
// is something to add.
Recovered recover(const std::string& path);

// Makes a temporary copy of a trace and appends the data of dead processes to it. For a trace that cannot be written,
// or that is itself a copy. The data in shared memory stays, for the original. The caller must remove the copy. Throws
// kymo::Error.
std::string whole_copy(const std::string& path);

// Removes the data that dead processes left in shared memory, if their trace does not exist any more or was replaced.
struct Cleaned {
  struct Kept {
    uint64_t pid;
    std::string trace;  // empty: not known
  };
  struct KeptFlight {
    std::string file;   // the first of its files
    std::string trace;  // empty: not known
  };
  uint64_t removed = 0, bytes = 0;             // segments and files of flight recorders
  uint64_t live = 0;                           // still recording
  std::vector<Kept> kept;                      // data that can still be recovered
  std::vector<KeptFlight> kept_flights;        // the same for flight recorders
  std::vector<std::string> of_other_versions;  // files that this version cannot read; their programs may still run
};
Cleaned clean_segments();

// What dead processes left of the trace at `path`, if there is one. For a trace that will be replaced: its data cannot
// be recovered after that.
class LeftOver {
 public:
  explicit LeftOver(const std::string& path) noexcept;
  void remove() noexcept;  // from shared memory

 private:
  uint64_t device_ = 0, inode_ = 0;
  std::set<std::string> sessions_;
};

}  // namespace kymo::collect
