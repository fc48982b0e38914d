#include "analyze/report/iterations.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "analyze/innermost.h"
#include "analyze/report/events.h"
#include "analyze/report/known_names.h"
#include "base/iteration_name.h"

namespace kymo::analyze {
namespace {

constexpr size_t kMostIterations = 1 << 20;
constexpr size_t kFewestRepeats = 3;
constexpr std::string_view kProfilerSteps = "ProfilerStep#{}";
constexpr uint32_t kUsualClasses = 1 << 20;  // only a forged trace has others

// What a class of a writer can be.
enum class Role : uint8_t { Plain, StepMark, Iteration, Optimizer };

Role role_of_class(const trace::EventClass& one, const std::string& name) {
  if (one.category == "kymo" && name == "step {}") return Role::StepMark;
  if (base::names_optimizer_step(name)) return Role::Optimizer;
  return base::names_iteration(name) ? Role::Iteration : Role::Plain;
}

struct Candidate {
  uint64_t count = 0, total = 0;  // total: ticks of those on lane 0
  uint64_t with_others = 0;       // that have ranges inside
  bool may_repeat = true;         // calls of libraries, waits and the work of a profiler are no iterations
  bool is_profiler = false;
  std::vector<Interval> list;      // only of iterations by name
  std::vector<int64_t> ends;       // only of optimizers
  std::vector<Interval> crossing;  // outermost ones on other lanes
  double crossing_ns = 0;          // their total
};

class Finder {
 public:
  Finder(EventWalk& walk, std::optional<uint32_t> main_track, const std::set<trace::WriterId>& helpers)
      : walk_(walk), helpers_(helpers) {
    if (main_track && counts(walk.tracks()[*main_track])) main_track_ = main_track;
  }

  Iterations find() {
    walk_.each(
        trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kPoints,
        [this](const TrackOfTrace& track) { return counts(track); },
        [this](TrackOfTrace& track, const trace::EventBatch& batch) { add(track, batch); });
    if (!crossed_.empty()) add_crossing();
    Iterations found;
    if (from_profiler(found) || from_marks(found) || from_names(found) || from_optimizer(found) || from_repeats(found))
      return found;
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

  struct CrossingSearch {
    RangesBackwards ranges;
    Innermost<char> innermost;
  };

  bool counts(const TrackOfTrace& track) const { return !track.on_device && !helpers_.contains(track.writer->id); }

  static Interval interval_of(const TrackOfTrace& track, const trace::Ranges& ranges, size_t i) {
    return {track.ns(ranges.end[i] - ranges.duration[i]), track.ns(ranges.end[i])};
  }

  // Ranges that overlap others are on lanes of their own. Those that are inside no other range are outermost as well.
  void add_crossing() {
    std::map<uint32_t, CrossingSearch> searches;
    for (const uint32_t track : crossed_) searches[track];
    const auto visit = [&](const TrackOfTrace& track, CrossingSearch& search, const TrackRange& range) {
      const bool counts = range.lane != 0 && range.depth == 0 && range.class_id != trace::kInlineName &&
                          search.innermost.around(range.begin) == nullptr;
      search.innermost.add(range.begin, range.end, {}, [](char, int64_t, int64_t) {});
      if (!counts || role_of(track, range.class_id).role != Role::Plain) return;
      Candidate& candidate = *role_of(track, range.class_id).candidate;
      candidate.count += 1;
      candidate.with_others += 1;
      candidate.crossing_ns += static_cast<double>(range.end - range.begin);
      if (candidate.crossing.size() < kMostIterations) candidate.crossing.push_back({range.begin, range.end});
    };
    walk_.each_backwards(
        RangesBackwards::kParts, [&](const TrackOfTrace& track) { return searches.count(track.number) != 0; },
        [&](TrackOfTrace& track, const trace::EventBatch& batch) {
          CrossingSearch& search = searches.at(track.number);
          search.ranges.add(track, batch, [&](const TrackRange& range) { visit(track, search, range); });
        });
    for (auto& entry : searches) {
      const TrackOfTrace& track = walk_.tracks()[entry.first];
      entry.second.ranges.finish([&](const TrackRange& range) { visit(track, entry.second, range); });
    }
  }

  ClassRole& role_of(const TrackOfTrace& track, uint32_t class_id) {
    std::vector<ClassRole>& roles = roles_[track.number];
    if (class_id >= roles.size() && class_id < kUsualClasses) roles.resize(class_id + size_t{1});
    ClassRole& role = class_id < kUsualClasses ? roles[class_id] : unusual_roles_[{track.number, class_id}];
    if (role.candidate != nullptr) return role;
    const trace::EventClass* const known = track.writer->find_class(class_id);
    const std::string name = known != nullptr ? trace::shown_name(*known) : std::string();
    if (known != nullptr) role.role = role_of_class(*known, name);
    role.candidate =
        &candidates_[{track.number, role.role == Role::Iteration ? base::without_iteration_number(name) : name}];
    role.candidate->is_profiler = known != nullptr && is_profiler_cost(known->category, name);
    role.candidate->may_repeat =
        !role.candidate->is_profiler && !(known != nullptr && is_library_call(known->category)) && !is_wait(name);
    return role;
  }

  void add(TrackOfTrace& track, const trace::EventBatch& batch) {
    if (roles_.size() <= track.number) roles_.resize(walk_.tracks().size());
    if (nests_.empty()) nests_.resize(walk_.tracks().size());
    const trace::Ranges& ranges = batch.ranges;
    for (size_t i = 0; i < ranges.size(); ++i) {
      // The ranges inside end first.
      const bool has_others = ranges.depth[i] == 0 && nests_[track.number] != 0;
      if (ranges.lane.empty() || ranges.lane[i] == 0) nests_[track.number] = ranges.depth[i] != 0;
      if (ranges.class_id[i] == trace::kInlineName) continue;
      if (ranges.depth[i] != 0 && ranges.class_id[i] < roles_[track.number].size() &&
          roles_[track.number][ranges.class_id[i]].candidate != nullptr &&
          roles_[track.number][ranges.class_id[i]].role == Role::Plain)
        continue;
      const ClassRole& role = role_of(track, ranges.class_id[i]);
      if (role.role == Role::Optimizer) {
        std::vector<int64_t>& ends = role.candidate->ends;
        if (ends.size() < kMostIterations) ends.push_back(track.ns(ranges.end[i]));
        continue;
      }
      if (ranges.depth[i] != 0 && role.role != Role::Iteration) continue;
      if (role.role == Role::Plain && !ranges.lane.empty() && ranges.lane[i] != 0) {
        crossed_.insert(track.number);
        continue;
      }
      role.candidate->count += 1;
      role.candidate->with_others += has_others;
      role.candidate->total += ranges.duration[i];
      if (role.role == Role::Iteration && role.candidate->list.size() < kMostIterations)
        role.candidate->list.push_back(interval_of(track, ranges, i));
    }
    for (size_t i = 0; i < batch.points.size(); ++i) {
      if (batch.points.kind[i] != trace::PointKind::Instant) continue;
      if (role_of(track, batch.points.class_id[i]).role != Role::StepMark) continue;
      std::vector<int64_t>& marks = marks_[track.number];
      if (marks.size() < kMostIterations) marks.push_back(track.ns(batch.points.time[i]));
    }
  }

  // A profiler that records its steps as ranges also marks them, but marks do not have the first and the last one.
  // Where the profiler has seen only some of the steps, the marks count.
  bool from_profiler(Iterations& found) {
    const auto marks = most_marks();
    if (marks == marks_.end()) return false;  // then from_names() finds them
    const auto steps = candidates_.find({marks->first, std::string(kProfilerSteps)});
    if (steps == candidates_.end() || steps->second.list.size() + 1 < marks->second.size()) return false;
    if (steps->second.list.empty()) return false;
    take(*steps, found);
    return true;
  }

  std::map<uint32_t, std::vector<int64_t>>::iterator most_marks() {
    return std::max_element(marks_.begin(), marks_.end(),
                            [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  }

  bool from_marks(Iterations& found) {
    const auto most = most_marks();
    if (most == marks_.end() || most->second.size() < 2) return false;
    std::vector<int64_t>& marks = most->second;
    found.source = Iterations::Source::StepMarks;
    found.name = "step";
    found.track = most->first;
    take_between(marks, found);
    return true;
  }

  // A loop that has several optimizers calls each of them once in most cases.
  bool from_optimizer(Iterations& found) {
    std::pair<const Key, Candidate>* best = nullptr;
    for (auto& entry : candidates_)
      if (entry.second.ends.size() > (best == nullptr ? 1 : best->second.ends.size())) best = &entry;
    if (best == nullptr) return false;
    found.source = Iterations::Source::OptimizerSteps;
    found.name = best->first.second;
    found.track = best->first.first;
    take_between(best->second.ends, found);
    return true;
  }

  static void take_between(std::vector<int64_t>& times, Iterations& found) {
    std::sort(times.begin(), times.end());
    for (size_t i = 0; i + 1 < times.size(); ++i) found.list.push_back({times[i], times[i + 1]});
  }

  bool from_names(Iterations& found) {
    const std::pair<const Key, Candidate>* best = nullptr;
    for (const auto& entry : candidates_)
      if (!entry.second.list.empty() && (best == nullptr || total_ns(entry) > total_ns(*best))) best = &entry;
    if (best == nullptr) return false;
    const bool are_few = best->second.list.size() < kFewestRepeats && best->first.second != kProfilerSteps;
    if (are_few && !is_most(*best)) return false;
    take(*best, found);
    return true;
  }

  static void take(const std::pair<const Key, Candidate>& ranges, Iterations& found) {
    found.source = Iterations::Source::NamedRanges;
    found.name = ranges.first.second;
    found.track = ranges.first.first;
    found.list = ranges.second.list;
    sort(found.list);
  }

  bool from_repeats(Iterations& found) {
    const auto track = busiest();
    if (!track) return false;
    const std::pair<const Key, Candidate>* best = nullptr;
    for (const auto& entry : candidates_) {
      if (entry.first.first != *track) continue;
      if (entry.second.count < kFewestRepeats || !entry.second.may_repeat) continue;
      if (best == nullptr || total_ns(entry) > total_ns(*best)) best = &entry;
    }
    // An iteration has something inside, and takes most of the time.
    if (best == nullptr || best->second.count > kMostIterations || !is_most(*best)) return false;
    if (2 * best->second.with_others < best->second.count) return false;
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
              found.list.push_back(interval_of(one, ranges, i));
        });
    found.list.insert(found.list.end(), chosen->crossing.begin(), chosen->crossing.end());
    sort(found.list);
    return !found.list.empty();
  }

  bool is_most(const std::pair<const Key, Candidate>& entry) const {
    return 2 * total_ns(entry) >= static_cast<double>(walk_.last_ns() - walk_.first_ns());
  }

  double total_ns(const std::pair<const Key, Candidate>& entry) const {
    return walk_.tracks()[entry.first.first].clock.to_ns(entry.second.total) + entry.second.crossing_ns;
  }

  std::optional<uint32_t> busiest() const {
    if (main_track_) return main_track_;
    std::map<uint32_t, double> totals;
    for (const auto& entry : candidates_)
      if (!entry.second.is_profiler) totals[entry.first.first] += total_ns(entry);
    const auto most = std::max_element(totals.begin(), totals.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == totals.end() ? std::nullopt : std::optional(most->first);
  }

  static void sort(std::vector<Interval>& list) { std::ranges::sort(list, {}, &Interval::begin); }

  EventWalk& walk_;
  const std::set<trace::WriterId>& helpers_;
  std::optional<uint32_t> main_track_;
  std::vector<std::vector<ClassRole>> roles_;  // by track and class
  std::map<std::pair<uint32_t, uint32_t>, ClassRole> unusual_roles_;
  std::vector<uint8_t> nests_;  // by track: whether the last range was inside another
  std::map<Key, Candidate> candidates_;
  std::map<uint32_t, std::vector<int64_t>> marks_;  // by track
  std::set<uint32_t> crossed_;                      // tracks with ranges that overlap others without being inside
};

}  // namespace

std::optional<uint32_t> Iterations::at(int64_t time) const {
  const auto after =
      std::partition_point(list.begin(), list.end(), [&](const Interval& one) { return one.end <= time; });
  if (after == list.end() || after->begin > time) return std::nullopt;
  return static_cast<uint32_t>(after - list.begin());
}

size_t Iterations::longest() const {
  const auto is_shorter = [](const Interval& a, const Interval& b) { return a.end - a.begin < b.end - b.begin; };
  return static_cast<size_t>(std::max_element(list.begin(), list.end(), is_shorter) - list.begin());
}

size_t Iterations::median() const {
  std::vector<size_t> order(list.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return list[a].end - list[a].begin < list[b].end - list[b].begin; });
  return order[(order.size() - 1) / 2];
}

Iterations find_iterations(EventWalk& walk, std::optional<uint32_t> main_track,
                           const std::set<trace::WriterId>& helpers) {
  return Finder(walk, main_track, helpers).find();
}

bool may_name_iterations(const trace::WriterInfo& process) {
  return std::any_of(process.classes.begin(), process.classes.end(), [](const auto& one) {
    return role_of_class(one.second, trace::shown_name(one.second)) != Role::Plain;
  });
}

}  // namespace kymo::analyze
