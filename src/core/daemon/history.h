// What became of the requests of recent triggers, for commands that did not wait for it.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "daemon/credentials.h"
#include "wire/tool_messages.h"

namespace kymo::daemon {

// In memory: a daemon that is started again has forgotten it. The oldest entries of a user make room for newer ones of
// the same user.
class History {
 public:
  static constexpr size_t kMaxPerUser = 256;

  void add(wire::HistoryEntry ended);
  // Appends what the asker may see, the oldest of each user first. `trigger_id` 0: of all triggers.
  void list(uint64_t trigger_id, const Asker& asker, std::vector<wire::HistoryEntry>& entries) const;

 private:
  std::map<uint32_t, std::deque<wire::HistoryEntry>> of_user_;  // by the user of the program
};

}  // namespace kymo::daemon
