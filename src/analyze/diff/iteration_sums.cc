#include "analyze/diff/iteration_sums.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "analyze/report/device_work.h"
#include "analyze/report/events.h"
#include "analyze/report/iterations.h"
#include "base/iteration_name.h"

namespace kymo::analyze {
namespace {

constexpr uint32_t kRoot = 0, kNone = UINT32_MAX;
constexpr size_t kMostTimes = 16 << 20;  // sums of all keys together

// The paths of a thread: nodes with their parents.
class Paths {
 public:
  Paths() { nodes_.push_back({kNone, {}}); }

  uint32_t child(uint32_t parent, const std::string& name) {
    const auto [entry, is_new] = children_.try_emplace({parent, name}, static_cast<uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({parent, name});
    return entry->second;
  }
  std::string text(uint32_t node) const {
    std::string path;
    for (; node != kRoot && node != kNone; node = nodes_[node].parent)
      path = path.empty() ? nodes_[node].name : nodes_[node].name + "/" + path;
    return path;
  }
  size_t size() const { return nodes_.size(); }

 private:
  struct Node {
    uint32_t parent;
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
    result.whole_trace = iterations_.source == Iterations::Source::WholeTrace;
    result.iteration_name = iterations_.name;
    for (const Interval& one : iterations_.list) result.wall_ns.push_back(static_cast<double>(one.end - one.begin));
    if (iterations_.track) result.main_thread = walk_.tracks()[*iterations_.track].name();
    const bool with_launches = !work.launches.empty();
    walk_.each(
        trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kOpenStacks |
            (with_launches ? trace::kRangeCorrelations : 0u),
        [&](const TrackOfTrace& track) {
          return !track.on_device && (with_launches || track.number == iterations_.track);
        },
        [&](TrackOfTrace& track, const trace::EventBatch& batch) { add(track, batch); });
    std::sort(launches_.begin(), launches_.end(), [](const LaunchNode& a, const LaunchNode& b) {
      return std::tie(a.writer, a.correlation, b.begin) < std::tie(b.writer, b.correlation, a.begin);
    });
    for (const Device& device : work.devices) add_device(device);
    result.left_out = left_out_;
    result.problems = walk_.problems();
    finish(result);
    return result;
  }

 private:
  struct LaunchNode {
    uint32_t writer;
    uint64_t correlation;
    uint32_t node;
    int64_t begin;
  };

  // The iteration that contains the time; nothing: none does.
  std::optional<uint32_t> iteration_at(int64_t begin, int64_t end) const {
    const auto after = std::upper_bound(iterations_.list.begin(), iterations_.list.end(), begin,
                                        [](int64_t time, const Interval& one) { return time < one.begin; });
    if (after == iterations_.list.begin()) return std::nullopt;
    const Interval& one = *std::prev(after);
    if (end > one.end) return std::nullopt;
    return static_cast<uint32_t>(std::prev(after) - iterations_.list.begin());
  }

  // Iterations have different names if they carry their number.
  std::string name_of(const TrackOfTrace& track, uint32_t class_id) const {
    const auto known = track.writer->classes.find(class_id);
    if (known == track.writer->classes.end()) return "(no name)";
    const std::string& name = known->second.name;
    return base::names_iteration(name) ? std::string(without_number(name)) : name;
  }

  uint32_t child(const TrackOfTrace& track, uint32_t parent, uint32_t class_id) {
    const uint64_t key = uint64_t{parent} << 32 | class_id;
    std::unordered_map<uint64_t, uint32_t>& known = nodes_by_class_[track.writer_number];
    if (const auto found = known.find(key); found != known.end()) return found->second;
    if (paths_.size() >= IterationSums::kMostKeys) return kNone;
    const uint32_t node = paths_.child(parent, name_of(track, class_id));
    known.emplace(key, node);
    return node;
  }

  // Backwards, parents come before their children.
  void add(const TrackOfTrace& track, const trace::EventBatch& batch) {
    const bool is_main = track.number == iterations_.track;
    std::vector<uint32_t> open;  // nodes by depth
    uint32_t node = kRoot;
    for (const trace::OpenRange& range : batch.closing)
      open.push_back(node = node == kNone ? kNone : child(track, node, range.class_id));
    const trace::Ranges& ranges = batch.ranges;
    for (size_t i = ranges.size(); i-- > 0;) {
      if (!ranges.lane.empty() && ranges.lane[i] != 0) continue;
      const size_t depth = ranges.depth[i];
      if (depth > open.size()) open.resize(depth, kNone);
      const uint32_t parent = depth == 0 ? kRoot : open[depth - 1];
      const uint32_t own = parent == kNone ? kNone : child(track, parent, ranges.class_id[i]);
      open.resize(depth);
      open.push_back(own);
      if (own == kNone) {
        ++left_out_;
        continue;
      }
      const int64_t end = track.ns(ranges.end[i]), begin = track.ns(ranges.end[i] - ranges.duration[i]);
      if (!ranges.correlation.empty() && ranges.correlation[i] != 0)
        launches_.push_back({track.writer_number, ranges.correlation[i], own, begin});
      if (!is_main) continue;
      const auto iteration = iteration_at(begin, end);
      if (!iteration) continue;
      const auto length = static_cast<double>(end - begin);
      sum(own, *iteration, length);
      ++counts_[own];
      if (parent != kRoot && parent != kNone) sum(parent, *iteration, -length);
    }
  }

  void sum(uint32_t node, uint32_t iteration, double ns) {
    if (sums_.size() <= node) sums_.resize(node + size_t{1});
    std::vector<double>& all = sums_[node];
    if (all.empty()) {
      times_ += iterations_.list.size();
      if (times_ > kMostTimes) {
        ++left_out_;
        return;
      }
      all.resize(iterations_.list.size());
    }
    all[iteration] += ns;
  }

  void add_device(const Device& device) {
    for (const DeviceOperation& operation : device.operations) {
      if (operation.kind == WorkKind::Wait) continue;
      const TrackOfTrace& track = walk_.tracks()[operation.track];
      LaunchNode wanted{track.writer_number, operation.correlation, 0, INT64_MAX};
      const auto launch =
          std::lower_bound(launches_.begin(), launches_.end(), wanted, [](const LaunchNode& a, const LaunchNode& b) {
            return std::tie(a.writer, a.correlation) < std::tie(b.writer, b.correlation);
          });
      const bool known = operation.correlation != 0 && launch != launches_.end() && launch->writer == wanted.writer &&
                         launch->correlation == wanted.correlation;
      const int64_t at = known ? launch->begin : operation.begin;
      const auto iteration = iteration_at(at, at);
      if (!iteration) continue;
      KeySums* const found = key_of(known ? launch->node : kRoot, track, operation.class_id);
      if (found == nullptr) {
        ++left_out_;
        continue;
      }
      KeySums& sums = *found;
      sums.ns[*iteration] += static_cast<double>(operation.end - operation.begin);
      ++sums.count;
    }
  }

  // The sums of a kernel by its launch; null: there are too many.
  KeySums* key_of(uint32_t launch, const TrackOfTrace& track, uint32_t class_id) {
    const auto [entry, is_new] = device_keys_by_class_.try_emplace({track.writer_number, launch, class_id}, nullptr);
    if (!is_new) return entry->second;
    const std::string key = paths_.text(launch) + " > " + name_of(track, class_id);
    const bool full = device_keys_.size() >= IterationSums::kMostKeys || times_ > kMostTimes;
    if (full && device_keys_.count(key) == 0) return nullptr;
    KeySums& sums = device_keys_[key];
    if (sums.ns.empty()) {
      times_ += iterations_.list.size();
      sums.ns.resize(iterations_.list.size());
    }
    return entry->second = &sums;
  }

  void finish(IterationSums& result) {
    for (uint32_t node = 1; node < sums_.size(); ++node) {
      if (sums_[node].empty() || counts_[node] == 0) continue;
      for (double& ns : sums_[node]) ns = std::max(ns, 0.0);
      result.keys.push_back({paths_.text(node), false, std::move(sums_[node]), counts_[node]});
    }
    for (auto& [key, sums] : device_keys_) result.keys.push_back({key, true, std::move(sums.ns), sums.count});
    std::sort(result.keys.begin(), result.keys.end(), [](const KeySums& a, const KeySums& b) {
      return std::tie(a.key, a.on_device) < std::tie(b.key, b.on_device);
    });
  }

  EventWalk walk_;
  Iterations iterations_;
  Paths paths_;
  std::map<uint32_t, std::unordered_map<uint64_t, uint32_t>> nodes_by_class_;  // by writer
  std::vector<std::vector<double>> sums_;                                      // by node and iteration
  std::unordered_map<uint32_t, uint64_t> counts_;
  std::vector<LaunchNode> launches_;
  std::map<std::string, KeySums> device_keys_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, KeySums*> device_keys_by_class_;  // by writer, launch and class
  size_t times_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace

IterationSums iteration_sums(const trace::Reader& reader) { return Sums(reader).compute(); }

}  // namespace kymo::analyze
