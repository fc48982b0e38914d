#include "analyze/diff/iteration_sums.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyze/innermost.h"
#include "analyze/nesting.h"
#include "analyze/operation_name.h"
#include "analyze/report/device_work.h"
#include "analyze/report/events.h"
#include "analyze/report/iterations.h"
#include "base/hash.h"

namespace kymo::analyze {
namespace {

constexpr uint32_t kRoot = 0;
constexpr size_t kMostTimes = 16 << 20;  // sums of all keys together
constexpr size_t kDeepest = 1'024;       // names of a path

// The paths of a thread: nodes with their parents.
class Paths {
 public:
  Paths() { nodes_.push_back({kRoot, 0, {}}); }

  uint32_t child(uint32_t parent, const std::string& name) {
    const auto [entry, is_new] = children_.try_emplace({parent, name}, static_cast<uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({parent, nodes_[parent].depth + 1, name});
    return entry->second;
  }
  uint32_t depth(uint32_t node) const { return nodes_[node].depth; }
  std::string text(uint32_t node) const {
    std::string path;
    std::vector<uint32_t> nodes;
    for (; node != kRoot; node = nodes_[node].parent) nodes.push_back(node);
    for (size_t i = nodes.size(); i-- > 0;) (path += path.empty() ? "" : "/") += nodes_[nodes[i]].name;
    return path;
  }
  size_t size() const { return nodes_.size(); }

 private:
  struct Node {
    uint32_t parent, depth;
    std::string name;
  };
  struct Key {
    uint32_t parent;
    std::string name;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const { return std::hash<std::string>()(key.name) * 31 + key.parent; }
  };
  std::vector<Node> nodes_;
  std::unordered_map<Key, uint32_t, Hash> children_;
};

class Sums {
 public:
  explicit Sums(const trace::Reader& reader) : walk_(reader) {}

  IterationSums compute() {
    const DeviceWork work = read_device_work(walk_);
    iterations_ = find_iterations(walk_, launching_track(work));
    IterationSums result;
    result.iteration_name = iterations_.name;
    for (const Interval& one : iterations_.list) result.wall_ns.push_back(static_cast<double>(one.end - one.begin));
    if (iterations_.track) result.main_thread = walk_.tracks()[*iterations_.track].name();
    end_where_the_next_begins();
    parts_ = RangesBackwards::kParts | (work.launches.empty() ? 0u : trace::kRangeCorrelations);
    walk_.each_backwards(
        parts_,
        [&](const TrackOfTrace& track) {
          return !track.on_device && (!work.launches.empty() || track.number == iterations_.track);
        },
        [&](TrackOfTrace& track, const trace::EventBatch& batch) { add(track, batch); });
    for (auto& [number, thread] : threads_) {
      const TrackOfTrace& track = walk_.tracks()[number];
      if (thread.overlaps)
        nest_by_time(track);
      else
        thread.innermost.finish([&](uint32_t node, int64_t begin, int64_t end) { take(track, node, begin, end); });
    }
    std::sort(launches_.begin(), launches_.end(), [](const LaunchNode& a, const LaunchNode& b) {
      return std::tie(a.writer, a.correlation, b.begin) < std::tie(b.writer, b.correlation, a.begin);
    });
    for (const Device& device : work.devices) add_device(device);
    result.left_out = left_out_;
    result.not_compared = not_compared_;
    result.problems = walk_.problems();
    finish(result);
    return result;
  }

 private:
  struct LaunchNode {
    uint32_t writer, node;
    uint64_t correlation;
    int64_t begin;
    uint32_t track;
  };

  // What is known of a thread while it is read backwards.
  struct Thread {
    RangesBackwards ranges;
    Innermost<uint32_t> innermost;  // the owner is a node
    std::vector<uint32_t> open;     // nodes by depth
    bool overlaps = false;          // then all of it is read again: analyze/nesting.h
  };

  // A range belongs to the iteration in which it begins, also if the one before it ends a nanosecond later.
  void end_where_the_next_begins() {
    std::vector<Interval>& list = iterations_.list;
    for (size_t i = 0; i + 1 < list.size(); ++i)
      if (list[i].begin < list[i + 1].begin) list[i].end = std::min(list[i].end, list[i + 1].begin);
  }

  // The first iteration that ends after the time. Most times are in the same one as the time before.
  size_t iteration_after(int64_t time) {
    const std::vector<Interval>& list = iterations_.list;
    const size_t same = last_iteration_;
    if (same < list.size() && list[same].end > time && (same == 0 || list[same - 1].end <= time)) return same;
    const auto ends = [&](const Interval& one) { return one.end <= time; };
    return last_iteration_ = static_cast<size_t>(std::partition_point(list.begin(), list.end(), ends) - list.begin());
  }

  std::string name_of(const TrackOfTrace& track, uint32_t class_id) const {
    const trace::EventClass* const known = track.writer->find_class(class_id);
    return known == nullptr ? "(no name)" : operation_name(*known);
  }

  // Without a path left, the range around it stands for the range.
  uint32_t child(const TrackOfTrace& track, uint32_t parent, uint32_t class_id) {
    const uint64_t key = uint64_t{parent} << 32 | class_id;
    std::unordered_map<uint64_t, uint32_t>& known = nodes_by_class_[track.writer_number];
    if (const auto found = known.find(key); found != known.end()) return found->second;
    const bool full = paths_.size() >= IterationSums::kMostKeys || paths_.depth(parent) >= kDeepest;
    const uint32_t node = full ? parent : paths_.child(parent, name_of(track, class_id));
    if (!full) known.emplace(key, node);
    return node;
  }

  void add(const TrackOfTrace& track, const trace::EventBatch& batch) {
    Thread& thread = threads_[track.number];
    if (thread.overlaps) return;
    const trace::Ranges& ranges = batch.ranges;
    for (size_t i = 0; i < ranges.size() && !thread.overlaps; ++i)
      thread.overlaps = !nests_by_depth(ranges.lane.empty() ? uint16_t{0} : ranges.lane[i], ranges.depth[i]);
    if (thread.overlaps) return forget(track);
    thread.open.clear();
    uint32_t node = kRoot;
    for (const trace::OpenRange& range : batch.closing)
      thread.open.push_back(node = child(track, node, range.class_id));
    thread.ranges.add(track, batch, [&](const TrackRange& range) { add(track, thread, range); });
  }

  // What was added for the thread.
  void forget(const TrackOfTrace& track) {
    std::erase_if(launches_, [&](const LaunchNode& launch) { return launch.track == track.number; });
    if (track.number != iterations_.track) return;
    sums_.clear();
    counts_.clear();
    times_ = 0;
    left_out_ = not_compared_ = 0;
  }

  // The path of a range follows from its depth.
  void add(const TrackOfTrace& track, Thread& thread, const TrackRange& range) {
    if (range.depth > thread.open.size())  // ranges around it are not in the trace
      thread.open.resize(range.depth, thread.open.empty() ? kRoot : thread.open.back());
    thread.open.resize(range.depth);
    const uint32_t own = add(track, thread.open.empty() ? kRoot : thread.open.back(), range);
    thread.open.push_back(own);
    thread.innermost.add(range.begin, range.end, own,
                         [&](uint32_t node, int64_t begin, int64_t end) { take(track, node, begin, end); });
  }

  // Counts the range, and returns its node.
  uint32_t add(const TrackOfTrace& track, uint32_t parent, const TrackRange& range) {
    const uint32_t own = child(track, parent, range.class_id);
    if (own == parent) ++left_out_;
    if (range.correlation != 0)
      launches_.push_back({track.writer_number, own, range.correlation, range.begin, track.number});
    if (track.number != iterations_.track) return own;
    const size_t iteration = iteration_after(range.begin);
    if (iteration == iterations_.list.size() || iterations_.list[iteration].begin >= range.end) return own;
    if (counts_.size() <= own) counts_.resize(own + size_t{1});
    ++counts_[own];
    sum(own, static_cast<uint32_t>(iteration), 0);  // it has a key even if all of its time is in others
    return own;
  }

  // The ranges of a thread that overlap, for analyze::nest_by_time(). An owner is a node.
  struct Overlapping {
    using Owner = uint32_t;
    Sums& sums;
    const TrackOfTrace& track;
    struct Facts {
      uint64_t correlation;
      uint32_t class_id;
    };
    std::vector<Facts> facts = {};  // by number

    uint32_t number_of(uint64_t correlation, uint32_t class_id) {
      facts.push_back({correlation, class_id});
      return static_cast<uint32_t>(facts.size() - 1);
    }
    Owner outside() const { return kRoot; }
    Owner visit(Owner around, const TimedRange& range, size_t) {
      const Facts& known = facts[range.number];
      TrackRange found;
      found.begin = track.ns(range.begin);
      found.end = track.ns(range.end);
      found.correlation = known.correlation;
      found.class_id = known.class_id;
      return sums.add(track, around, found);
    }
    void take(Owner node, const TimedRange&, TickSpan part) {
      sums.take(track, node, track.ns(part.begin), track.ns(part.end));
    }
  };

  void nest_by_time(const TrackOfTrace& thread) {
    AllRanges all;
    Overlapping overlapping{*this, thread};
    std::vector<trace::OpenRange> open;
    walk_.each(
        parts_, [&](const TrackOfTrace& track) { return track.number == thread.number; },
        [&](TrackOfTrace&, const trace::EventBatch& batch) {
          const trace::Ranges& ranges = batch.ranges;
          all.add(ranges, [&](size_t i) {
            return overlapping.number_of(ranges.correlation.empty() ? 0 : ranges.correlation[i], ranges.class_id[i]);
          });
          if (RangesBackwards::says_what_is_open(batch)) open = batch.closing;
        });
    for (size_t depth = 0; depth < open.size(); ++depth)
      all.add_open(open[depth], depth, thread.clock, thread.end_ns,
                   overlapping.number_of(open[depth].correlation, open[depth].class_id));
    analyze::nest_by_time(all, overlapping);
  }

  // A part of the time of a node, divided into iterations.
  void take(const TrackOfTrace& track, uint32_t node, int64_t begin, int64_t end) {
    if (track.number != iterations_.track) return;
    for (size_t i = iteration_after(begin); i < iterations_.list.size() && iterations_.list[i].begin < end; ++i) {
      const int64_t from = std::max(begin, iterations_.list[i].begin), to = std::min(end, iterations_.list[i].end);
      if (from < to) sum(node, static_cast<uint32_t>(i), static_cast<double>(to - from));
    }
  }

  void sum(uint32_t node, uint32_t iteration, double ns) {
    if (node == kRoot) return;
    if (sums_.size() <= node) sums_.resize(node + size_t{1});
    std::vector<double>& all = sums_[node];
    if (all.empty()) {
      times_ += iterations_.list.size();
      if (times_ > kMostTimes) {
        ++not_compared_;
        return;
      }
      all.resize(iterations_.list.size());
    }
    all[iteration] += ns;
  }

  void add_device(const Device& device) {
    auto next = launches_.begin();
    const auto is_of = [this](auto launch, uint32_t writer, uint64_t correlation) {
      return launch != launches_.end() && launch->writer == writer && launch->correlation == correlation;
    };
    for (const DeviceOperation& operation : device.operations) {
      if (operation.kind == WorkKind::Wait) continue;
      const TrackOfTrace& track = walk_.tracks()[operation.track];
      // Work mostly runs in the order of its launches.
      if (!is_of(next, track.writer_number, operation.correlation))
        next = std::lower_bound(launches_.begin(), launches_.end(),
                                std::pair<uint32_t, uint64_t>(track.writer_number, operation.correlation),
                                [](const LaunchNode& a, const std::pair<uint32_t, uint64_t>& wanted) {
                                  return std::pair<uint32_t, uint64_t>(a.writer, a.correlation) < wanted;
                                });
      const auto launch = next;
      const bool known = operation.correlation != 0 && is_of(launch, track.writer_number, operation.correlation);
      if (known) ++next;
      const int64_t at = known ? launch->begin : operation.begin;
      const size_t iteration = iteration_after(at);
      if (iteration == iterations_.list.size() || iterations_.list[iteration].begin > at) continue;
      DeviceSum& sum = sum_of(known ? launch->node : kRoot, track, operation.class_id);
      if (sum.of == nullptr) {
        ++not_compared_;
        continue;
      }
      if (sum.iteration != iteration) sum.flush();
      sum.iteration = static_cast<uint32_t>(iteration);
      sum.ns += static_cast<double>(operation.end - operation.begin);
      ++sum.count;
    }
  }

  // The sum of a kernel by its launch, in one iteration, before it is added to the sums of all. Most operations of a
  // kernel in an iteration follow each other, and this one is already in the cache.
  struct DeviceSum {
    KeySums* of = nullptr;  // null: there are too many
    uint32_t iteration = 0;
    double ns = 0;
    uint64_t count = 0;
    void flush() {
      if (of == nullptr || count == 0) return;
      of->ns[iteration] += std::exchange(ns, 0);
      of->count += std::exchange(count, 0);
    }
  };

  DeviceSum& sum_of(uint32_t launch, const TrackOfTrace& track, uint32_t class_id) {
    const DeviceKey of{track.writer_number, launch, class_id};
    const auto [entry, is_new] = device_sums_.try_emplace(of);
    if (!is_new) return entry->second;
    const std::string key = paths_.text(launch) + " > " + name_of(track, class_id);
    const bool full = device_keys_.size() >= IterationSums::kMostKeys || times_ > kMostTimes;
    if (full && device_keys_.count(key) == 0) return entry->second;
    KeySums& sums = device_keys_[key];
    if (sums.ns.empty()) {
      times_ += iterations_.list.size();
      sums.ns.resize(iterations_.list.size());
    }
    entry->second.of = &sums;
    return entry->second;
  }

  void finish(IterationSums& result) {
    for (auto& [key, sum] : device_sums_) sum.flush();
    for (uint32_t node = 1; node < sums_.size(); ++node) {
      if (sums_[node].empty() || node >= counts_.size() || counts_[node] == 0) continue;
      result.keys.push_back({paths_.text(node), false, std::move(sums_[node]), counts_[node]});
    }
    for (auto& [key, sums] : device_keys_) result.keys.push_back({key, true, std::move(sums.ns), sums.count});
    std::sort(result.keys.begin(), result.keys.end(), [](const KeySums& a, const KeySums& b) {
      return std::tie(a.key, a.on_device) < std::tie(b.key, b.on_device);
    });
  }

  // A kernel by its launch. There may be hundreds of thousands, and each operation of a device looks for one.
  struct DeviceKey {
    uint32_t writer, launch, class_id;
    bool operator==(const DeviceKey&) const = default;
  };
  struct DeviceKeyHash {
    size_t operator()(const DeviceKey& key) const {
      return base::SeededHash::of(uint64_t{key.launch} << 32 | key.class_id, key.writer);
    }
  };

  EventWalk walk_;
  Iterations iterations_;
  size_t last_iteration_ = 0;  // that iteration_after() found
  unsigned parts_ = 0;         // of the ranges of threads
  Paths paths_;
  std::map<uint32_t, Thread> threads_;                                         // by track
  std::map<uint32_t, std::unordered_map<uint64_t, uint32_t>> nodes_by_class_;  // by writer
  std::vector<std::vector<double>> sums_;                                      // by node and iteration
  std::vector<uint64_t> counts_;                                               // by node
  std::vector<LaunchNode> launches_;
  std::map<std::string, KeySums> device_keys_;
  std::unordered_map<DeviceKey, DeviceSum, DeviceKeyHash> device_sums_;
  size_t times_ = 0;
  uint64_t left_out_ = 0, not_compared_ = 0;
};

}  // namespace

IterationSums iteration_sums(const trace::Reader& reader) { return Sums(reader).compute(); }

}  // namespace kymo::analyze
