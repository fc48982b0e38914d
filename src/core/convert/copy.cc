#include "convert/copy.h"

#include <map>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "kymo/error.h"
#include "trace/model.h"
#include "trace/read_if_whole.h"
#include "trace/values.h"

namespace kymo::convert {
namespace {

template <class Value>
std::vector<Value> values_of(const std::map<uint32_t, Value>& map) {
  std::vector<Value> values;
  for (const auto& [id, value] : map) values.push_back(value);
  return values;
}

// What events of chosen tracks need from other tracks of their process.
struct Needs {
  std::unordered_set<uint64_t, base::SeededHash> handles;  // the ends of ranges across threads
  bool stacks = false;                                     // of allocations and samples
};

class Copy {
 public:
  using Change = std::function<void(trace::WriterInfo&)>;
  Copy(const trace::Reader& reader, const TrackChoice& tracks, trace::Writer& writer, const Change& change)
      : reader_(reader), chosen_(tracks), writer_(writer), change_(change) {}

  void run();

 private:
  using TrackKey = std::pair<trace::WriterId, uint32_t>;

  void find_needs();
  void introduce(const trace::WriterInfo& info);
  void keep_names(const trace::WriterInfo& info);
  bool read(const trace::EventChunk& chunk);
  void keep_needed_points(const trace::EventChunk& chunk);
  void finish(const trace::WriterInfo& info);
  bool is_kept(const trace::Loss& loss, const trace::WriterId& writer) const {
    return loss.track == 0 || chosen_.contains(writer, loss.track);
  }

  const trace::Reader& reader_;
  const TrackChoice& chosen_;
  trace::Writer& writer_;
  const Change change_;
  trace::EventBatch batch_;
  std::map<trace::WriterId, uint64_t> unreadable_;
  std::map<trace::WriterId, Needs> needs_;
  std::set<TrackKey> introduced_;  // tracks that are not chosen but needed
};

void Copy::run() {
  if (!chosen_.all()) find_needs();
  bool is_first = true;
  for (const auto& [id, info] : reader_.writers()) {
    if (!chosen_.contains(id)) {
      keep_names(info);
      continue;
    }
    if (change_) {
      trace::WriterInfo changed = info;
      change_(changed);
      introduce(changed);
    } else {
      introduce(info);
    }
    if (is_first) unreadable_[id] = reader_.problems().size();
    is_first = false;
  }
  for (const trace::EventChunk& chunk : reader_.event_chunks()) {
    if (!chosen_.contains(chunk.writer)) continue;
    const bool is_chosen = chosen_.contains(chunk.writer, chunk.track);
    if ((!is_chosen && chunk.point_count == 0) || !read(chunk)) continue;
    if (!is_chosen) keep_needed_points(chunk);
    if (is_chosen || batch_.points.size() != 0) writer_.events(chunk.writer, batch_);
  }
  for (const auto& [id, info] : reader_.writers())
    if (chosen_.contains(id)) finish(info);
}

void Copy::find_needs() {
  for (const trace::EventChunk& chunk : reader_.event_chunks()) {
    if (chunk.point_count == 0 || !chosen_.contains(chunk.writer, chunk.track)) continue;
    if (!trace::read_if_whole(reader_, chunk, batch_, trace::kPoints)) continue;  // counted when it is copied
    const trace::Points& points = batch_.points;
    Needs& needs = needs_[chunk.writer];
    for (size_t i = 0; i < points.size(); ++i) {
      if (points.kind[i] == trace::PointKind::AsyncBegin) needs.handles.insert(points.id[i]);
      if (points.kind[i] == trace::PointKind::Allocation || points.kind[i] == trace::PointKind::Sample)
        needs.stacks = true;
    }
  }
}

// Records that an event refers to come before the event.
void Copy::introduce(const trace::WriterInfo& info) {
  writer_.origin(info.id, info.origin);
  for (const auto& [id, clock] : info.clocks) writer_.clock(info.id, clock);
  std::vector<trace::Track> tracks;
  for (const auto& [id, track] : info.tracks)
    if (chosen_.contains(info.id, id)) tracks.push_back(track);
  writer_.tracks(info.id, tracks);
  writer_.classes(info.id, values_of(info.classes));
  writer_.stacks(info.id, values_of(info.modules), values_of(info.frames), values_of(info.stacks));
}

// One writer has the names of code for all of its session. If it is not chosen, another one gets them.
void Copy::keep_names(const trace::WriterInfo& info) {
  if (info.frames.empty() || info.frames.begin()->second.offset == 0) return;
  for (const auto& [id, other] : reader_.writers()) {
    if (!chosen_.contains(id) || !other.frames.empty() || other.origin.session != info.origin.session) continue;
    return writer_.stacks(id, values_of(info.modules), values_of(info.frames), {});
  }
}

bool Copy::read(const trace::EventChunk& chunk) {
  try {
    reader_.read(chunk, batch_);
    return true;
  } catch (const Error&) {
    ++unreadable_[chunk.writer];
    return false;
  }
}

// The track is not chosen, but events of chosen tracks may need some of its points.
void Copy::keep_needed_points(const trace::EventChunk& chunk) {
  batch_.ranges = {};
  batch_.opening.clear();
  batch_.closing.clear();
  const trace::WriterInfo& info = reader_.writers().at(chunk.writer);
  const Needs& needs = needs_[chunk.writer];
  const trace::Points& points = batch_.points;
  trace::keep_points(batch_.points, info.classes, [&](size_t i, const trace::EventClass* event_class, uint64_t&) {
    if (points.kind[i] == trace::PointKind::AsyncEnd) return needs.handles.contains(points.id[i]);
    return needs.stacks && points.kind[i] == trace::PointKind::Instant && event_class != nullptr &&
           trace::is_definition(*event_class);
  });
  const auto track = info.tracks.find(chunk.track);
  if (points.size() == 0 || track == info.tracks.end()) return;
  if (introduced_.insert({chunk.writer, chunk.track}).second) writer_.tracks(info.id, {&track->second, 1});
}

void Copy::finish(const trace::WriterInfo& info) {
  std::vector<trace::Loss> losses;
  for (const trace::Loss& loss : info.losses)
    if (is_kept(loss, info.id)) losses.push_back(loss);
  if (const uint64_t unreadable = unreadable_[info.id]; unreadable != 0)
    losses.push_back(
        {trace::LossCause::DamagedRecord, 0, unreadable, 0, 0, "parts of the original trace that could not be read"});
  writer_.losses(info.id, losses);
  std::vector<trace::Cost> costs;
  for (const auto& [track, cost] : info.costs)
    if (track == 0 || chosen_.contains(info.id, track)) costs.push_back(cost);
  writer_.costs(info.id, costs);
  if (info.ending) writer_.ending(info.id, *info.ending);
}

}  // namespace

void copy_trace(const trace::Reader& reader, trace::Writer& writer,
                const std::function<void(trace::WriterInfo&)>& change) {
  const TrackChoice all(reader, {});
  Copy(reader, all, writer, change).run();
}

void copy_trace(const trace::Reader& reader, const TrackChoice& tracks, trace::Writer& writer) {
  Copy(reader, tracks, writer, {}).run();
}

}  // namespace kymo::convert
