#include "analyze/report/arrivals.h"

#include <algorithm>

#include "analyze/report/collective_calls.h"
#include "trace/clock.h"

namespace kymo::analyze {
namespace {

class Finder {
 public:
  Finder(EventWalk& walk, const DeviceWork& work, const Intervals& window)
      : walk_(walk), work_(work), window_(window) {}

  Arrivals find() {
    for (SharedCall& call : shared_calls(walk_, work_)) add(call.members);
    for (auto& [device, rank] : ranks_) {
      rank.device = device;
      rank.awaited = intersection(Intervals(std::move(awaited_[device])), window_);
      rank.waited_ns = (result_.waiting[device] = Intervals(std::move(waiting_[device]))).length();
      result_.ranks.push_back(std::move(rank));
    }
    return std::move(result_);
  }

 private:
  using Member = SharedCall::Member;

  uint64_t error_of(const Member& one) const {
    return trace::alignment_error(walk_.tracks()[one.call.track].writer->origin);
  }
  int64_t error_of(const Member& a, const Member& b) const {
    return static_cast<int64_t>(std::min<uint64_t>(error_of(a) + error_of(b), INT64_MAX / 2));
  }

  void add(std::vector<Member>& members) {
    if (members.front().call.waiting != Waiting::ForAll) return;
    std::sort(members.begin(), members.end(),
              [](const Member& a, const Member& b) { return a.call.begin < b.call.begin; });
    const Member &last = members.back(), &before = members[members.size() - 2];
    const Interval awaited{before.call.begin, last.call.begin};
    ++result_.calls;
    for (const Member& one : members) {
      ++ranks_[one.device].calls;
      result_.error_ns = std::max(result_.error_ns, error_of(one));
      if (last.call.begin - one.call.begin > error_of(one, last))
        waiting_[one.device].push_back({one.call.begin, last.call.begin});
    }
    if (awaited.end - awaited.begin <= error_of(before, last) || window_.covered(awaited.begin, awaited.end) == 0)
      return;
    ++ranks_[last.device].last_at;
    awaited_[last.device].push_back(awaited);
  }

  EventWalk& walk_;
  const DeviceWork& work_;
  const Intervals& window_;
  std::map<uint32_t, RankArrivals> ranks_;
  std::map<uint32_t, std::vector<Interval>> awaited_, waiting_;
  Arrivals result_;
};

}  // namespace

const RankArrivals* straggler_of(const Arrivals& arrivals) {
  const auto last = std::max_element(
      arrivals.ranks.begin(), arrivals.ranks.end(),
      [](const RankArrivals& a, const RankArrivals& b) { return a.awaited.length() < b.awaited.length(); });
  return last == arrivals.ranks.end() || last->awaited.empty() ? nullptr : &*last;
}

Arrivals find_arrivals(EventWalk& walk, const DeviceWork& work, const Intervals& window) {
  return Finder(walk, work, window).find();
}

}  // namespace kymo::analyze
