#include "analyze/report/iterations.h"

#include <algorithm>
#include <map>

#include "base/iteration_name.h"

namespace kymo::analyze {
namespace {

constexpr size_t kMostIterations = 1 << 20;
constexpr size_t kFewestRepeats = 3;

// What a class of a writer can be.
enum class Role : uint8_t { Plain, StepMark, Iteration };

struct Candidate {
  uint64_t count = 0, total = 0;
  std::vector<Interval> list;  // only of iterations by name
};

class Finder {
 public:
  Finder(EventWalk& walk, std::optional<uint32_t> main_track) : walk_(walk), main_track_(main_track) {}

  Iterations find() {
    walk_.each(trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kPoints, is_host,
               [this](TrackOfTrace& track, const trace::EventBatch& batch) { add(track, batch); });
    Iterations found;
    if (from_marks(found) || from_names(found) || from_repeats(found)) return found;
    found.list = {{walk_.first_ns(), walk_.last_ns()}};
    found.track = busiest();
    return found;
  }

 private:
  using Key = std::pair<uint32_t, std::string>;  // track and name

  struct ClassRole {
    Role role = Role::Plain;
    Candidate* candidate = nullptr;
  };

  static bool is_host(const TrackOfTrace& track) { return !track.on_device; }

  ClassRole& role_of(const TrackOfTrace& track, uint32_t class_id) {
    std::vector<ClassRole>& roles = roles_[track.number];
    if (class_id >= roles.size()) roles.resize(class_id + size_t{1});
    ClassRole& role = roles[class_id];
    if (role.candidate != nullptr) return role;
    const auto known = track.writer->classes.find(class_id);
    const std::string name = known != track.writer->classes.end() ? known->second.name : std::string();
    const bool is_mark = known != track.writer->classes.end() && known->second.category == "kymo" && name == "step {}";
    role.role = is_mark ? Role::StepMark : base::names_iteration(name) ? Role::Iteration : Role::Plain;
    role.candidate =
        &candidates_[{track.number, role.role == Role::Iteration ? std::string(without_number(name)) : name}];
    return role;
  }

  void add(TrackOfTrace& track, const trace::EventBatch& batch) {
    if (roles_.size() <= track.number) roles_.resize(walk_.tracks().size());
    if (nests_.empty()) nests_.resize(walk_.tracks().size());
    const trace::Ranges& ranges = batch.ranges;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (ranges.depth[i] != 0) nests_[track.number] = true;
      if (ranges.class_id[i] == trace::kInlineName) continue;
      if (ranges.depth[i] != 0 && ranges.class_id[i] < roles_[track.number].size() &&
          roles_[track.number][ranges.class_id[i]].candidate != nullptr &&
          roles_[track.number][ranges.class_id[i]].role == Role::Plain)
        continue;
      const ClassRole& role = role_of(track, ranges.class_id[i]);
      const bool is_outermost = ranges.depth[i] == 0 && (ranges.lane.empty() || ranges.lane[i] == 0);
      if (!is_outermost && role.role != Role::Iteration) continue;
      role.candidate->count += 1;
      role.candidate->total += ranges.duration[i];
      if (role.role == Role::Iteration && role.candidate->list.size() < kMostIterations)
        role.candidate->list.push_back({track.ns(ranges.end[i] - ranges.duration[i]), track.ns(ranges.end[i])});
    }
    for (size_t i = 0; i < batch.points.size(); ++i) {
      if (batch.points.kind[i] != trace::PointKind::Instant) continue;
      if (role_of(track, batch.points.class_id[i]).role != Role::StepMark) continue;
      std::vector<int64_t>& marks = marks_[track.number];
      if (marks.size() < kMostIterations) marks.push_back(track.ns(batch.points.time[i]));
    }
  }

  bool from_marks(Iterations& found) {
    const auto most = std::max_element(marks_.begin(), marks_.end(),
                                       [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    if (most == marks_.end() || most->second.size() < 2) return false;
    std::vector<int64_t>& marks = most->second;
    std::sort(marks.begin(), marks.end());
    found.source = Iterations::Source::StepMarks;
    found.name = "step";
    found.track = most->first;
    for (size_t i = 0; i + 1 < marks.size(); ++i) found.list.push_back({marks[i], marks[i + 1]});
    return true;
  }

  bool from_names(Iterations& found) {
    const std::pair<const Key, Candidate>* best = nullptr;
    for (const auto& entry : candidates_)
      if (!entry.second.list.empty() && (best == nullptr || entry.second.total > best->second.total)) best = &entry;
    if (best == nullptr) return false;
    found.source = Iterations::Source::NamedRanges;
    found.name = best->first.second;
    found.track = best->first.first;
    found.list = best->second.list;
    sort(found.list);
    return true;
  }

  bool from_repeats(Iterations& found) {
    const auto track = busiest();
    if (!track || nests_.empty()) return false;
    const std::pair<const Key, Candidate>* best = nullptr;
    for (const auto& entry : candidates_) {
      if (entry.first.first != *track) continue;
      if (entry.second.count >= kFewestRepeats && (best == nullptr || entry.second.total > best->second.total))
        best = &entry;
    }
    // An iteration has something inside, and takes most of the time.
    if (best == nullptr || best->second.count > kMostIterations || !nests_[*track]) return false;
    const double taken = walk_.tracks()[*track].clock.to_ns(best->second.total);
    if (2 * taken < static_cast<double>(walk_.last_ns() - walk_.first_ns())) return false;
    found.source = Iterations::Source::RepeatingRange;
    found.name = best->first.second;
    found.track = *track;
    const Candidate* const chosen = &best->second;
    walk_.each(
        trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths,
        [&](const TrackOfTrace& one) { return one.number == *track; },
        [&](TrackOfTrace& one, const trace::EventBatch& batch) {
          const trace::Ranges& ranges = batch.ranges;
          for (size_t i = 0; i < ranges.size(); ++i)
            if (ranges.depth[i] == 0 && (ranges.lane.empty() || ranges.lane[i] == 0) &&
                ranges.class_id[i] != trace::kInlineName && role_of(one, ranges.class_id[i]).candidate == chosen)
              found.list.push_back({one.ns(ranges.end[i] - ranges.duration[i]), one.ns(ranges.end[i])});
        });
    sort(found.list);
    return !found.list.empty();
  }

  std::optional<uint32_t> busiest() const {
    if (main_track_) return main_track_;
    std::map<uint32_t, double> totals;
    for (const auto& [key, candidate] : candidates_)
      totals[key.first] += walk_.tracks()[key.first].clock.to_ns(candidate.total);
    const auto most = std::max_element(totals.begin(), totals.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == totals.end() ? std::nullopt : std::optional(most->first);
  }

  static void sort(std::vector<Interval>& list) {
    std::sort(list.begin(), list.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  }

  EventWalk& walk_;
  const std::optional<uint32_t> main_track_;
  std::vector<std::vector<ClassRole>> roles_;  // by track and class
  std::vector<uint8_t> nests_;                 // by track: some range is inside another
  std::map<Key, Candidate> candidates_;
  std::map<uint32_t, std::vector<int64_t>> marks_;  // by track
};

}  // namespace

std::string_view without_number(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name;
}

Iterations find_iterations(EventWalk& walk, std::optional<uint32_t> main_track) {
  return Finder(walk, main_track).find();
}

}  // namespace kymo::analyze
