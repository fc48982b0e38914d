#include "analyze/memory/timeline.h"

#include <algorithm>
#include <unordered_map>

#include "base/seeded_hash.h"

namespace kymo::memory {

namespace {

constexpr size_t kNever = SIZE_MAX;

// The sizes are not trusted. So a sum of them stops at its min or max instead of wrapping.
class InUse {
 public:
  void add(uint64_t bytes) { bytes_ = bytes > UINT64_MAX - bytes_ ? UINT64_MAX : bytes_ + bytes; }
  void subtract(uint64_t bytes) { bytes_ -= std::min(bytes, bytes_); }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
};

uint64_t given_back(const Change& change) { return uint64_t{0} - static_cast<uint64_t>(change.bytes); }

void sort_by_size(std::vector<size_t>& which, std::span<const Change> changes) {
  std::stable_sort(which.begin(), which.end(),
                   [&](size_t one, size_t other) { return changes[one].bytes > changes[other].bytes; });
}

}  // namespace

Timeline make_timeline(std::span<const Change> changes) {
  Timeline timeline;
  timeline.in_use.reserve(changes.size());
  std::unordered_map<uint64_t, size_t, base::SeededHash> alive;  // by address: the change that allocated it
  std::vector<size_t> freed_at(changes.size(), kNever);          // by the change that allocated it
  InUse in_use;
  uint64_t anonymous = 0;

  for (size_t at = 0; at < changes.size(); ++at) {
    const Change& change = changes[at];
    if (change.address == 0) {
      if (change.bytes > 0) {
        in_use.add(static_cast<uint64_t>(change.bytes));
        anonymous += std::min(static_cast<uint64_t>(change.bytes), UINT64_MAX - anonymous);
      } else if (change.bytes < 0) {
        timeline.unknown_frees += given_back(change) > anonymous;
        const uint64_t returned = std::min(given_back(change), anonymous);
        in_use.subtract(returned);
        anonymous -= returned;
      }
    } else if (change.bytes > 0) {
      const auto [found, is_new] = alive.try_emplace(change.address, at);
      if (!is_new) {
        ++timeline.lost_frees;
        freed_at[found->second] = at;
        in_use.subtract(static_cast<uint64_t>(changes[found->second].bytes));
        found->second = at;
      }
      in_use.add(static_cast<uint64_t>(change.bytes));
    } else if (change.bytes < 0) {
      const auto found = alive.find(change.address);
      if (found == alive.end()) {
        ++timeline.unknown_frees;
      } else {
        freed_at[found->second] = at;
        in_use.subtract(static_cast<uint64_t>(changes[found->second].bytes));
        alive.erase(found);
      }
    }
    timeline.in_use.push_back(in_use.bytes());
    if (in_use.bytes() > timeline.peak_bytes) {
      timeline.peak_bytes = in_use.bytes();
      timeline.peak_at = at;
    }
  }

  for (size_t at = 0; at < changes.size(); ++at) {
    if (changes[at].bytes <= 0 || changes[at].address == 0) continue;
    if (at <= timeline.peak_at && freed_at[at] > timeline.peak_at) timeline.alive_at_peak.push_back(at);
    if (freed_at[at] == kNever) timeline.never_freed.push_back(at);
  }
  sort_by_size(timeline.alive_at_peak, changes);
  sort_by_size(timeline.never_freed, changes);
  return timeline;
}

}  // namespace kymo::memory
