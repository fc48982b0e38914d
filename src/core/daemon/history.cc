#include "daemon/history.h"

namespace kymo::daemon {

void History::add(wire::HistoryEntry ended) {
  std::deque<wire::HistoryEntry>& entries = of_user_[ended.uid];
  entries.push_back(std::move(ended));
  if (entries.size() > kMaxPerUser) entries.pop_front();
}

void History::list(uint64_t trigger_id, const Asker& asker, std::vector<wire::HistoryEntry>& entries) const {
  for (const auto& [uid, ended] : of_user_) {
    if (!asker.may_see(uid)) continue;
    for (const wire::HistoryEntry& entry : ended)
      if (trigger_id == 0 || trigger_id == entry.trigger_id) entries.push_back(entry);
  }
}

}  // namespace kymo::daemon
