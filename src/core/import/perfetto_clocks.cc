#include "import/perfetto_clocks.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "import/perfetto_packets.h"

namespace kymo::import {
namespace {

using perfetto::clock::kFirstCustom;
using perfetto::clock::kFirstOfSequence;

constexpr size_t kMostClocks = 4096;  // more are not known
constexpr int64_t kLatestClock = std::numeric_limits<int64_t>::max() / 4;

bool is_of_sequence(uint32_t clock) { return clock >= kFirstOfSequence && clock < kFirstCustom; }

std::optional<int64_t> nanoseconds(uint64_t value, uint64_t multiplier) {
  uint64_t ns = 0;
  if (__builtin_mul_overflow(value, multiplier, &ns) || ns > static_cast<uint64_t>(kLatestClock)) return std::nullopt;
  return static_cast<int64_t>(ns);
}

}  // namespace

PerfettoClocks::Key PerfettoClocks::key_of(uint32_t sequence, uint32_t clock) {
  return (is_of_sequence(clock) ? Key{sequence} << 32 : 0) | clock;
}

PerfettoClocks::Key PerfettoClocks::trace_clock() const {
  return primary_ != 0 ? primary_ : perfetto::clock::kBoottime;
}

void PerfettoClocks::snapshot(uint32_t sequence, std::span<const Reading> readings, uint32_t primary) {
  if (primary_ == 0 && primary != 0 && primary < kFirstOfSequence) primary_ = primary;
  std::vector<std::pair<Key, int64_t>> times;
  for (const Reading& reading : readings) {
    const Key key = key_of(sequence, reading.clock);
    const uint64_t multiplier = std::max<uint64_t>(reading.multiplier, 1);
    if (clocks_.size() < kMostClocks || clocks_.contains(key))
      clocks_[key] = {reading.value, reading.is_incremental && is_of_sequence(reading.clock), multiplier};
    if (const auto ns = nanoseconds(reading.value, multiplier)) times.emplace_back(key, *ns);
  }
  if (times.size() < 2) return;
  has_snapshots_ = true;
  // All are related to one of them. So a snapshot takes no more memory than its readings.
  auto hub = std::find_if(times.begin(), times.end(), [&](const auto& one) { return one.first == trace_clock(); });
  if (hub == times.end()) hub = times.begin();
  const auto [hub_key, hub_ns] = *hub;
  for (const auto& one : times) {
    if (one.first == hub_key) continue;
    if (!relate(one.first, hub_key, one.second, hub_ns)) return;
    relate(hub_key, one.first, hub_ns, one.second);
  }
}

bool PerfettoClocks::relate(Key from, Key to, int64_t from_ns, int64_t to_ns) {
  auto known = edges_.find({from, to});
  if (known == edges_.end()) {
    if (edges_.size() >= 2 * kMostClocks) return false;
    known = edges_.try_emplace({from, to}).first;
    routes_.clear();
  }
  std::vector<Pair>& pairs = known->second;
  if (pairs.empty() || pairs.back().from < from_ns) pairs.push_back({from_ns, to_ns});
  return true;
}

// The clocks from `from` to `to`, without `from`.
const std::vector<PerfettoClocks::Key>* PerfettoClocks::route(Key from, Key to) {
  const auto known = routes_.find({from, to});
  if (known != routes_.end()) return known->second.empty() ? nullptr : &known->second;
  std::vector<Key>& path = routes_[{from, to}];
  std::map<Key, Key> reached_from{{from, from}};
  std::deque<Key> open{from};
  while (!open.empty() && !reached_from.contains(to)) {
    const Key here = open.front();
    open.pop_front();
    for (auto edge = edges_.lower_bound({here, 0}); edge != edges_.end() && edge->first.first == here; ++edge)
      if (reached_from.try_emplace(edge->first.second, here).second) open.push_back(edge->first.second);
  }
  if (!reached_from.contains(to)) return nullptr;
  for (Key at = to; at != from; at = reached_from[at]) path.push_back(at);
  std::reverse(path.begin(), path.end());
  return &path;
}

std::optional<int64_t> PerfettoClocks::convert(Key from, Key to, int64_t ns) {
  if (from == to) return ns;
  const std::vector<Key>* const path = route(from, to);
  if (path == nullptr) return std::nullopt;
  for (const Key next : *path) {
    const std::vector<Pair>& pairs = edges_.at({from, next});
    auto pair =
        std::upper_bound(pairs.begin(), pairs.end(), ns, [](int64_t at, const Pair& one) { return at < one.from; });
    if (pair != pairs.begin()) --pair;
    ns += pair->to - pair->from;  // each is at most kLatestClock
    if (ns > kLatestClock || ns < -kLatestClock) return std::nullopt;
    from = next;
  }
  return ns;
}

std::optional<int64_t> PerfettoClocks::trace_time(uint32_t sequence, uint32_t clock, uint64_t value) {
  if (clock == 0) {
    const bool has_boottime = clocks_.contains(perfetto::clock::kBoottime);
    clock = has_boottime ? perfetto::clock::kBoottime : static_cast<uint32_t>(trace_clock());
  }
  const Key key = key_of(sequence, clock);
  uint64_t multiplier = 1;
  if (const auto known = clocks_.find(key); known != clocks_.end()) {
    if (known->second.is_incremental) value = known->second.last += value;
    multiplier = known->second.multiplier;
  } else if (is_of_sequence(clock)) {
    return std::nullopt;
  }
  const auto ns = nanoseconds(value, multiplier);
  if (!ns) return std::nullopt;
  if (const auto time = convert(key, trace_clock(), *ns)) return time;
  // The trace does not relate its clocks, so it has only one.
  return is_of_sequence(clock) || has_snapshots_ ? std::nullopt : ns;
}

int64_t PerfettoClocks::realtime_base() {
  const Key clock = trace_clock();
  if (clock == perfetto::clock::kRealtime) return 0;
  // At the first moment at which both were read.
  const std::vector<Key>* const path = route(clock, perfetto::clock::kRealtime);
  if (path == nullptr) return 0;
  const int64_t first = edges_.at({clock, path->front()}).front().from;
  const auto realtime = convert(clock, perfetto::clock::kRealtime, first);
  return realtime ? *realtime - first : 0;
}

}  // namespace kymo::import
