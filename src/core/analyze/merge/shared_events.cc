#include "analyze/merge/shared_events.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "analyze/report/device_work.h"
#include "base/text.h"
#include "trace/values.h"

namespace kymo::analyze {
namespace {

constexpr size_t kMostEvents = 4 << 20;

using Values = std::vector<trace::ValueCursor::Value>;

// What PyTorch says about a collective beside the name of its kernel.
struct CollectiveFields {
  explicit CollectiveFields(const trace::EventClass& event_class) {
    for (size_t i = 0; i < event_class.fields.size(); ++i) {
      const std::string& name = event_class.fields[i].name;
      if (name == "Collective name") collective = i;
      if (name == "Process Group Name") group = i;
      if (name == "Process Group Ranks") ranks = i;
      if (name == "Seq") number = i;
      if (name == "In msg nelems") size = i;
    }
  }
  bool any() const { return collective || group || ranks || number || size; }

  std::optional<size_t> collective, group, ranks, number, size;  // indices of the fields
};

// False for a message from one rank to another.
bool describe(const std::string& name, const CollectiveFields& fields, const Values& values, Kinds& kinds,
              SharedEvent& event) {
  std::string text = name;
  const auto value = [&](std::optional<size_t> at) {
    return at && *at < values.size() ? trace::to_text(values[*at]) : std::string();
  };
  const std::string collective = value(fields.collective);
  if (collective == "send" || collective == "recv") return false;
  // Groups of different ranks may have one name.
  text += "\n" + collective + "\n" + value(fields.group) + "\n" + value(fields.ranks);
  // In other collectives, each rank may have its own size.
  if (collective == "allreduce" || collective == "broadcast") text += "\n" + value(fields.size);
  if (fields.number && *fields.number < values.size()) event.number = static_cast<int64_t>(values[*fields.number].bits);
  event.kind = kinds.of(text);
  return true;
}

// The devices of a rank take part in the same collective: it arrives with the last of them, and ends in the mean.
class Devices {
 public:
  void add(const SharedEvent& event, uint32_t device) { all_.push_back({event, device}); }

  SharedEvents take() {
    std::stable_sort(all_.begin(), all_.end(),
                     [](const One& a, const One& b) { return a.event.begin < b.event.begin; });
    SharedEvents events;
    std::map<std::pair<uint32_t, std::optional<int64_t>>, Open> open;
    for (const One& one : all_) {
      Open& last = open[{one.event.kind, one.event.number}];
      if (last.ends.empty() || last.ends.count(one.device) != 0 || one.event.begin >= last.ends_first) {
        last = {events.size(), one.event.end, {}};
        events.push_back(one.event);
      }
      last.ends_first = std::min(last.ends_first, one.event.end);
      last.ends[one.device] = one.event.end;
      double mean = 0;
      for (const auto& [device, end] : last.ends)
        mean += static_cast<double>(difference(end, last.ends_first)) / static_cast<double>(last.ends.size());
      events[last.at].begin = one.event.begin;
      events[last.at].end = sum(last.ends_first, std::llround(mean));
    }
    all_.clear();
    std::ranges::stable_sort(events, {}, &SharedEvent::end);
    return events;
  }

  size_t size() const { return all_.size(); }

 private:
  struct One {
    SharedEvent event;
    uint32_t device = 0;
  };
  struct Open {
    size_t at = 0;
    int64_t ends_first = 0;
    std::map<uint32_t, int64_t> ends;  // by device
  };
  std::vector<One> all_;
};

}  // namespace

SharedEvents shared_events(EventWalk& walk, const std::string& mark, Kinds& kinds) {
  struct Wanted {
    const trace::EventClass* event_class = nullptr;
    CollectiveFields fields;
  };
  std::map<uint32_t, std::map<uint32_t, Wanted>> wanted;  // by writer and class
  std::map<std::string, uint32_t> device_numbers;
  std::vector<uint32_t> devices(walk.tracks().size());
  bool has_values = false;
  for (const TrackOfTrace& track : walk.tracks()) {
    const std::string device = base::format("{} {}", track.writer_number, track.track->device_id());
    devices[track.number] =
        device_numbers.try_emplace(device, static_cast<uint32_t>(device_numbers.size())).first->second;
    const auto [classes, is_new] = wanted.try_emplace(track.writer_number);
    if (!is_new) continue;
    for (const auto& [id, event_class] : track.writer->classes) {
      const bool counts = mark.empty() ? work_kind(event_class.category, event_class.name) == WorkKind::Communication
                                       : trace::shown_name(event_class) == mark;
      if (!counts) continue;
      const CollectiveFields fields(event_class);
      has_values = has_values || (mark.empty() && fields.any());
      classes->second.emplace(id, Wanted{&event_class, fields});
    }
  }
  Devices events;
  walk.each(
      trace::kRangeTimes | trace::kRangeClasses | (mark.empty() ? 0u : trace::kPoints) |
          (has_values ? trace::kRangeValues : 0u),
      [&](const TrackOfTrace& track) {
        return !wanted[track.writer_number].empty() && (track.on_device || !mark.empty());
      },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        const auto& classes = wanted[track.writer_number];
        const auto find = [&](uint32_t id) {
          const auto known = classes.find(id);
          return known == classes.end() ? nullptr : &known->second;
        };
        const auto& ids = batch.ranges.class_id;
        if (std::none_of(ids.begin(), ids.end(), find) && batch.points.size() == 0) return;
        trace::ValueCursor cursor(batch.ranges.values);
        static const Values kNone;
        for (size_t i = 0; i < batch.ranges.size(); ++i) {
          const Wanted* const known = find(ids[i]);
          const Values* values = &kNone;
          if (has_values) {
            const auto event_class = track.writer->classes.find(ids[i]);
            values = &cursor.next(event_class == track.writer->classes.end() ? nullptr : &event_class->second);
          }
          if (known == nullptr || events.size() >= kMostEvents) continue;
          SharedEvent event;
          event.begin = track.ns(batch.ranges.end[i] - batch.ranges.duration[i]);
          event.end = track.ns(batch.ranges.end[i]);
          if (!mark.empty() || describe(known->event_class->name, known->fields, *values, kinds, event))
            events.add(event, mark.empty() ? devices[track.number] : 0);
        }
        for (size_t i = 0; i < batch.points.size() && !mark.empty(); ++i) {
          if (find(batch.points.class_id[i]) == nullptr || events.size() >= kMostEvents) continue;
          const int64_t time = track.ns(batch.points.time[i]);
          events.add({time, time, 0, {}}, 0);
        }
      });
  return events.take();
}

}  // namespace kymo::analyze
