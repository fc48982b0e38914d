// The files of a flight recorder in shared memory, and the files that dead flight recorders have left there.
//
// A name is flight-SESSION-PID-IDENTITY-NUMBER, or -trace for a symbolic link to the trace that the files belong to.
// The pid separates the files of a forked child from its parent's. The identity shows whether the process still runs.
#pragma once

#include <string>
#include <vector>

namespace kymo::collect {

// Names for this process.
std::string flight_file(const std::string& folder, const std::string& session, unsigned number);
std::string flight_link(const std::string& folder, const std::string& session);

// A flight recorder whose process has ended.
struct AbandonedFlight {
  std::string session;
  std::vector<std::string> files;  // oldest first
  std::string link;                // empty: none
  std::string trace;               // where the link leads; empty: not known

  void remove() const noexcept;
};

// Those in `folders` of one session, or of all sessions if `session` is empty.
std::vector<AbandonedFlight> abandoned_flights(const std::vector<std::string>& folders,
                                               const std::string& session = {});

}  // namespace kymo::collect
