#include "analyze/report/collective_calls.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>

#include "analyze/operation_name.h"
#include "base/text.h"

namespace kymo::analyze {
namespace {

constexpr std::string_view kMore = "...", kSpaces = " \t";

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

std::optional<uint32_t> parse_number(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "5" or "0-7".
bool add_item(std::vector<uint32_t>& ranks, std::string_view item) {
  const size_t dash = item.find('-');
  const auto first = parse_number(trimmed(item.substr(0, dash)));
  const auto last = dash == item.npos ? first : parse_number(trimmed(item.substr(dash + 1)));
  if (!first || !last || *last < *first || ranks.size() + (*last - *first) >= RankList::kMostRanks) return false;
  for (uint64_t rank = *first; rank <= *last; ++rank) ranks.push_back(static_cast<uint32_t>(rank));
  return true;
}

}  // namespace

std::string RankList::text() const {
  return base::format("[{}{}]", base::join(ranks, ", "), is_complete ? "" : ", ...");
}

std::optional<RankList> parse_rank_list(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('[') != text.ends_with(']') || text.empty()) return std::nullopt;
  if (text.starts_with('[')) text = text.substr(1, text.size() - 2);
  RankList list;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view item = trimmed(text.substr(0, comma));
    if (item == kMore)
      list.is_complete = false;
    else if (!add_item(list.ranks, item))
      return std::nullopt;
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  if (list.ranks.empty()) return std::nullopt;
  std::sort(list.ranks.begin(), list.ranks.end());
  list.ranks.erase(std::unique(list.ranks.begin(), list.ranks.end()), list.ranks.end());
  return list;
}

ProcessGroup make_process_group(std::string_view name, std::string_view ranks, std::string_view size) {
  const auto list = parse_rank_list(ranks);
  ProcessGroup group{std::string(name), parse_number(trimmed(size)).value_or(0)};
  if (!name.empty() && !ranks.empty()) group.name += ' ';
  group.name += list ? list->text() : std::string(ranks);
  if (list && list->is_complete) group.members = std::max(group.members, static_cast<uint32_t>(list->ranks.size()));
  if (group.name.empty()) group.members = 0;  // a size alone does not say which ranks these are
  return group;
}

std::optional<RankList> ranks_in(std::string_view group_name) {
  const size_t begin = group_name.rfind('[');
  if (begin == group_name.npos) return std::nullopt;
  auto list = parse_rank_list(group_name.substr(begin));
  if (list && !list->is_complete) list.reset();
  return list;
}

namespace {

// Arguments that PyTorch's profiler gives to the kernels of collectives, and to the operators that launch them. Kymo
// has its own names for them in the ranges of NCCL.
constexpr std::string_view kGroupName[] = {"Process Group Name", "communicator"},
                           kGroupRanks[] = {"Process Group Ranks"}, kGroupSize[] = {"Group size", "ranks"},
                           kGroupId[] = {"communicator id"}, kSequence[] = {"Seq", "sequence"},
                           kCollective[] = {"Collective name"};
constexpr std::string_view kNccl = "nccl";  // in the names of its kernels, and the category of its calls

using Row = std::vector<trace::ValueCursor::Value>;

// The fields of a class that tell about a collective.
class Fields {
 public:
  Fields() = default;
  explicit Fields(const trace::EventClass& event_class)
      : group_name_(field(event_class, kGroupName)),
        group_ranks_(field(event_class, kGroupRanks)),
        group_size_(field(event_class, kGroupSize)),
        group_id_(field(event_class, kGroupId)),
        sequence_(field(event_class, kSequence)),
        collective_(field(event_class, kCollective)) {}

  bool name_a_group() const { return group_name_ >= 0 || group_ranks_ >= 0; }
  // Communicators of different ranks may have the same name, so the id of NCCL is a part of it.
  ProcessGroup group(const Row& row) const {
    std::string name = text(row, group_name_);
    if (const std::string id = text(row, group_id_); !id.empty() && id != name) name += " " + id;
    return make_process_group(name, text(row, group_ranks_), text(row, group_size_));
  }
  int64_t sequence(const Row& row) const {
    const std::string number = text(row, sequence_);
    int64_t value = -1;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    return error == std::errc() && end == number.data() + number.size() ? std::max<int64_t>(value, -1) : -1;
  }
  std::string collective(const Row& row) const { return text(row, collective_); }

 private:
  static int field(const trace::EventClass& event_class, std::span<const std::string_view> names) {
    for (const std::string_view name : names)
      for (size_t i = 0; i < event_class.fields.size(); ++i)
        if (event_class.fields[i].name == name) return static_cast<int>(i);
    return -1;
  }
  static std::string text(const Row& row, int field) {
    return field < 0 || static_cast<size_t>(field) >= row.size() ? std::string()
                                                                 : trace::to_text(row[static_cast<size_t>(field)]);
  }

  int group_name_ = -1, group_ranks_ = -1, group_size_ = -1, group_id_ = -1, sequence_ = -1, collective_ = -1;
};

template <typename Item>
class Numbers {
 public:
  explicit Numbers(std::vector<Item>& list) : list_(list) {}
  uint32_t of(const Item& item) {
    const auto [entry, is_new] = numbers_.try_emplace(item, static_cast<uint32_t>(list_.size()));
    if (is_new) list_.push_back(item);
    return entry->second;
  }

 private:
  std::vector<Item>& list_;
  std::map<Item, uint32_t> numbers_;
};

class Calls {
 public:
  Calls(EventWalk& walk, const DeviceWork& work, const Iterations& iterations, const IterationNumbers& numbers)
      : walk_(walk), work_(work), iterations_(iterations), numbers_(numbers) {}

  CollectiveCalls compute() {
    walk_.each(
        trace::kRangeTimes | trace::kRangeClasses | trace::kRangeCorrelations | trace::kRangeValues,
        [](const TrackOfTrace& track) { return track.on_device; },
        [&](TrackOfTrace& track, const trace::EventBatch& batch) { add(track, batch); });
    if (!incomplete_.empty()) ask_host();
    if (lacks_calls_of_nccl()) ask_nccl();
    number_calls();
    return std::move(result_);
  }

 private:
  // What is known of a class of events.
  struct Known {
    const trace::EventClass* event_class = nullptr;
    bool is_communication = false, is_nccl = false;
    uint32_t name = 0;
    Fields fields;
  };
  // Work of which the device's track does not name the group, or the collective.
  struct Incomplete {
    uint32_t row = 0, track = 0;  // `track` and `begin` are those of its launch
    int64_t begin = 0;
    const Known* known = nullptr;  // of its class
  };
  // A range of the host that names a group.
  struct HostCall {
    int64_t begin = 0, end = 0, sequence = -1;
    uint32_t group = 0;
    std::string collective, name;  // `name` is that of the range: a program may name it as the collective
  };

  const Known& class_of(const TrackOfTrace& track, uint32_t class_id) {
    const auto [entry, is_new] = classes_.try_emplace({track.writer_number, class_id});
    Known& known = entry->second;
    const trace::EventClass* const found = track.writer->find_class(class_id);
    if (!is_new || found == nullptr) return known;
    const trace::EventClass& event_class = *found;
    known.event_class = &event_class;
    known.fields = Fields(event_class);
    known.is_communication =
        track.on_device && work_kind(event_class.category, event_class.name) == WorkKind::Communication;
    if (!known.is_communication) return known;
    known.is_nccl = event_class.name.find(kNccl) != std::string::npos;
    known.name = names_.of(operation_name(event_class));
    return known;
  }

  void add(TrackOfTrace& track, const trace::EventBatch& batch) {
    const trace::Ranges& ranges = batch.ranges;
    trace::ValueCursor values(ranges.values);
    for (size_t i = 0; i < ranges.size(); ++i) {
      const Known& known = class_of(track, ranges.class_id[i]);
      const Row& row = values.next(known.event_class);
      if (!known.is_communication) continue;
      const int64_t begin = track.ns(ranges.end[i] - ranges.duration[i]);
      const uint32_t number =
          ranges.correlation.empty() ? kNone : work_.find_launch(track.writer_number, ranges.correlation[i]);
      const Launch* const launch = number == kNone ? nullptr : &work_.launches[number];
      const auto iteration = iterations_.at(launch != nullptr ? launch->begin : begin);
      if (!iteration) {
        if (launch != nullptr && outside_.size() < CollectiveCalls::kMostRows)
          outside_.emplace_back(launch->track, launch->begin);
        continue;
      }
      if (result_.rows.size() >= CollectiveCalls::kMostRows) {
        ++result_.left_out;
        continue;
      }
      CollectiveCall& call = result_.rows.emplace_back();
      call.iteration = *iteration;
      const ProcessGroup group = known.fields.group(row);
      call.group = groups_.of(group);
      call.name = known.name;
      call.sequence = known.fields.sequence(row);
      call.waiting = waiting_in(known.event_class->name, known.fields.collective(row));
      call.track = track.number;
      call.begin = begin;
      call.end = track.ns(ranges.end[i]);
      if (launch != nullptr && (group.name.empty() || call.waiting == Waiting::Unknown))
        incomplete_.push_back({static_cast<uint32_t>(result_.rows.size() - 1), launch->track, launch->begin, &known});
    }
  }

  void ask_host() {
    std::map<uint32_t, std::vector<HostCall>> calls;  // by track
    for (const Incomplete& one : incomplete_) calls.try_emplace(one.track);
    size_t count = 0;
    walk_.each(
        trace::kRangeTimes | trace::kRangeClasses | trace::kRangeValues,
        [&](const TrackOfTrace& track) { return calls.contains(track.number); },
        [&](TrackOfTrace& track, const trace::EventBatch& batch) {
          const trace::Ranges& ranges = batch.ranges;
          trace::ValueCursor values(ranges.values);
          for (size_t i = 0; i < ranges.size(); ++i) {
            const Known& known = class_of(track, ranges.class_id[i]);
            const Fields& fields = known.fields;
            const Row& row = values.next(known.event_class);
            if (!fields.name_a_group() || ++count > CollectiveCalls::kMostRows) continue;
            calls[track.number].push_back({track.ns(ranges.end[i] - ranges.duration[i]), track.ns(ranges.end[i]),
                                           fields.sequence(row), groups_.of(fields.group(row)), fields.collective(row),
                                           known.event_class->name});
          }
        });
    std::sort(incomplete_.begin(), incomplete_.end(), [](const Incomplete& a, const Incomplete& b) {
      return std::tie(a.track, a.begin) < std::tie(b.track, b.begin);
    });
    auto next = incomplete_.begin();
    for (auto& [track, list] : calls) next = add_groups(next, track, list);
  }

  // Gives the work of a track the groups of the innermost ranges around its launches. Returns that of the next track.
  std::vector<Incomplete>::iterator add_groups(std::vector<Incomplete>::iterator next, uint32_t track,
                                               std::vector<HostCall>& calls) {
    std::sort(calls.begin(), calls.end(), [](const HostCall& a, const HostCall& b) {
      return std::tie(a.begin, b.end) < std::tie(b.begin, a.end);  // outer ranges first
    });
    std::vector<const HostCall*> open;
    for (auto begun = calls.begin(); next != incomplete_.end() && next->track == track; ++next) {
      for (; begun != calls.end() && begun->begin <= next->begin; ++begun) {
        while (!open.empty() && open.back()->end < begun->begin) open.pop_back();
        open.push_back(&*begun);
      }
      while (!open.empty() && open.back()->end < next->begin) open.pop_back();
      if (open.empty()) continue;
      const HostCall& around = *open.back();
      set_group(*next, around.group, around.sequence);
      CollectiveCall& call = result_.rows[next->row];
      if (!around.collective.empty()) call.waiting = waiting_in(next->known->event_class->name, around.collective);
      if (call.waiting == Waiting::Unknown) call.waiting = waiting_in(around.name);
    }
    return next;
  }

  bool has_group(const Incomplete& one) const { return !result_.groups[result_.rows[one.row].group].name.empty(); }
  void set_group(const Incomplete& one, uint32_t group, int64_t sequence) {
    if (has_group(one)) return;
    result_.rows[one.row].group = group;
    result_.rows[one.row].sequence = sequence;
  }

  bool lacks_calls_of_nccl() const {
    return std::any_of(incomplete_.begin(), incomplete_.end(), [&](const Incomplete& one) {
      return one.known->is_nccl && (!has_group(one) || result_.rows[one.row].waiting == Waiting::Unknown);
    });
  }

  // A call of NCCL, as its interface for profilers reports it.
  struct NcclCall {
    int64_t time = 0, sequence = -1;
    uint32_t group = 0;
    Waiting waiting = Waiting::Unknown;
  };

  std::map<uint32_t, std::vector<NcclCall>> read_nccl_calls() {
    std::map<uint32_t, std::vector<NcclCall>> calls;  // by track
    size_t count = 0;
    walk_.each(
        trace::kPoints | trace::kPointValues, [](const TrackOfTrace& track) { return !track.on_device; },
        [&](TrackOfTrace& track, const trace::EventBatch& batch) {
          const trace::Points& points = batch.points;
          trace::ValueCursor values(points.values);
          for (size_t i = 0; i < points.size(); ++i) {
            const Known& known = class_of(track, points.class_id[i]);
            const Row& row = values.next(known.event_class);
            if (points.kind[i] != trace::PointKind::AsyncBegin || !known.fields.name_a_group() ||
                known.event_class->category != kNccl)
              continue;
            if (++count > CollectiveCalls::kMostRows) continue;
            calls[track.number].push_back({track.ns(points.time[i]), known.fields.sequence(row),
                                           groups_.of(known.fields.group(row)), waiting_in(known.event_class->name)});
          }
        });
    return calls;
  }

  // NCCL reports a call on the thread that launched its kernel, after the launch. So the call of a kernel is the first
  // one between its launch and the next launch of communication. That of a CUDA graph is reported on another thread:
  // then the communicator is known if there is only one.
  void ask_nccl() {
    auto calls = read_nccl_calls();
    std::set<uint32_t> groups;
    for (auto& [track, list] : calls) {
      std::ranges::sort(list, {}, &NcclCall::time);
      for (const NcclCall& call : list) groups.insert(call.group);
    }
    std::sort(outside_.begin(), outside_.end());
    // ask_host() sorted them by track and launch. A CUDA graph is one launch of many kernels.
    for (auto one = incomplete_.begin(); one != incomplete_.end();) {
      const auto next = std::find_if(one, incomplete_.end(), [&](const Incomplete& other) {
        return other.track != one->track || other.begin > one->begin;
      });
      int64_t end = std::numeric_limits<int64_t>::max();
      if (next != incomplete_.end() && next->track == one->track) end = next->begin;
      if (const auto other = std::upper_bound(outside_.begin(), outside_.end(), std::pair(one->track, one->begin));
          other != outside_.end() && other->first == one->track)
        end = std::min(end, other->second);
      const auto& list = calls[one->track];
      const auto found = std::lower_bound(list.begin(), list.end(), one->begin,
                                          [](const NcclCall& call, int64_t begin) { return call.time < begin; });
      const bool is_reported = found != list.end() && found->time < end;
      for (; one != next; ++one) {
        if (!one->known->is_nccl) continue;
        if (is_reported) {
          set_group(*one, found->group, found->sequence);
          Waiting& waiting = result_.rows[one->row].waiting;
          if (waiting == Waiting::Unknown) waiting = found->waiting;
        } else if (groups.size() == 1) {
          set_group(*one, *groups.begin(), -1);
        }
      }
    }
  }

  void number_calls() {
    std::ranges::stable_sort(result_.rows, {}, &CollectiveCall::begin);
    const std::vector<uint32_t> runs = iteration_runs(numbers_);
    std::map<std::tuple<bool, uint64_t, uint32_t, uint32_t, uint32_t, int64_t, Waiting>, uint32_t> counts;
    const auto count_of = [&](const CollectiveCall& call) -> uint32_t& {
      const auto number = numbers_.empty() ? std::nullopt : numbers_[call.iteration];
      const uint32_t run = runs.empty() ? 0 : runs[call.iteration];
      return counts[{number.has_value(), number.value_or(call.iteration), run, call.group, call.name, call.sequence,
                     call.waiting}];
    };
    for (CollectiveCall& call : result_.rows) call.call = count_of(call)++;
    for (CollectiveCall& call : result_.rows) call.calls = count_of(call);
  }

  EventWalk& walk_;
  const DeviceWork& work_;
  const Iterations& iterations_;
  const IterationNumbers& numbers_;
  CollectiveCalls result_;
  Numbers<ProcessGroup> groups_{result_.groups};
  Numbers<std::string> names_{result_.names};
  std::vector<Incomplete> incomplete_;
  std::vector<std::pair<uint32_t, int64_t>> outside_;       // launches of communication outside of iterations
  std::map<std::pair<uint32_t, uint32_t>, Known> classes_;  // by writer and class
};

}  // namespace

CollectiveCalls collective_calls(EventWalk& walk, const DeviceWork& work, const Iterations& iterations,
                                 const IterationNumbers& numbers) {
  const bool has_any = std::any_of(work.devices.begin(), work.devices.end(), [](const Device& device) {
    return std::any_of(device.operations.begin(), device.operations.end(),
                       [](const DeviceOperation& one) { return one.kind == WorkKind::Communication; });
  });
  return has_any ? Calls(walk, work, iterations, numbers).compute() : CollectiveCalls{};
}

std::vector<SharedCall> shared_calls(EventWalk& walk, const DeviceWork& work) {
  std::unordered_map<uint32_t, uint32_t> device_of;  // by track, of those that communicate
  std::set<uint32_t> devices;
  for (uint32_t device = 0; device < work.devices.size(); ++device)
    for (const DeviceOperation& one : work.devices[device].operations)
      if (one.kind == WorkKind::Communication && device_of.try_emplace(one.track, device).second)
        devices.insert(device);
  if (devices.size() < 2) return {};
  Iterations whole;
  whole.list = {{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}};
  CollectiveCalls calls = collective_calls(walk, work, whole, {});
  std::erase_if(calls.rows, [](const CollectiveCall& call) { return call.waiting == Waiting::NotForAll; });
  const auto key = [](const CollectiveCall& call) { return std::tie(call.group, call.name, call.sequence); };
  std::stable_sort(calls.rows.begin(), calls.rows.end(), [&](const CollectiveCall& a, const CollectiveCall& b) {
    return key(a) != key(b) ? key(a) < key(b) : a.end < b.end;
  });
  std::vector<SharedCall> shared;
  SharedCall next;
  const auto finish = [&] {
    if (next.members.size() > 1) shared.push_back(next);
    next.members.clear();
  };
  for (const CollectiveCall& call : calls.rows) {
    const uint32_t device = device_of[call.track];
    const auto is_other = [&](const SharedCall::Member& one) {
      return one.device == device || key(one.call) != key(call);
    };
    if (!next.members.empty() && (std::any_of(next.members.begin(), next.members.end(), is_other) ||
                                  call.begin >= next.members.front().call.end))
      finish();
    next.members.push_back({device, call});
  }
  finish();
  return shared;
}

namespace {

constexpr std::string_view kAllToAll = "alltoall", kSend = "send";
constexpr std::string_view kForAll[] = {"allreduce", "allgather", "reducescatter", kAllToAll, "barrier"};
constexpr std::string_view kNotForAll[] = {"broadcast", "reduce", "gather", "scatter", kSend, "recv"};

// "ncclDevKernel_ReduceScatter_Sum(…)" and "_reduce_scatter_base" both contain "reducescatter".
std::string plain(std::string_view name) {
  std::string letters;
  for (const char c : name.substr(0, name.find('('))) {
    if (c >= 'A' && c <= 'Z')
      letters += static_cast<char>(c - 'A' + 'a');
    else if (c >= 'a' && c <= 'z')
      letters += c;
  }
  return letters;
}

template <typename Words>
bool has_one_of(const std::string& name, const Words& words) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view word) { return name.find(word) != name.npos; });
}

Waiting waiting_in_plain(const std::string& name) {
  if (has_one_of(name, kForAll)) return Waiting::ForAll;  // first: some contain the name of one with a root
  return has_one_of(name, kNotForAll) ? Waiting::NotForAll : Waiting::Unknown;
}

}  // namespace

Waiting waiting_in(std::string_view name) { return waiting_in_plain(plain(name)); }

Waiting waiting_in(std::string_view kernel, std::string_view collective) {
  const std::string of_kernel = plain(kernel), named = plain(collective);
  const Waiting by_kernel = waiting_in_plain(of_kernel), by_name = waiting_in_plain(named);
  if (by_kernel == Waiting::NotForAll) {
    const bool is_all_to_all = of_kernel.find(kSend) != of_kernel.npos && named.find(kAllToAll) != named.npos;
    return is_all_to_all ? Waiting::ForAll : Waiting::NotForAll;
  }
  return by_name == Waiting::Unknown ? by_kernel : by_name;
}

}  // namespace kymo::analyze
