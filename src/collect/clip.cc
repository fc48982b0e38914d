#include "collect/clip.h"

#include <memory>
#include <unordered_map>

#include "base/seeded_hash.h"
#include "base/text.h"
#include "collect/clip_batch.h"
#include "kymo/error.h"
#include "trace/clock.h"

namespace kymo::collect {
namespace {

using trace::EventChunk;
using trace::PointKind;

// What a range by handle does at the edges of the span.
struct ByHandle {
  bool begins_after = false, ends_before = false;
};

struct ClipRing {
  std::vector<const EventChunk*> chunks;  // in the order of time, up to the last that touches the span
};

// Events that say what later ones mean are kept wherever they are.
bool is_definition(const std::map<uint32_t, trace::EventClass>& classes, uint32_t id) {
  const auto found = classes.find(id);
  return found != classes.end() && found->second.category == "kymo.stack";
}

class Clip {
 public:
  Clip(const trace::Reader& reader, trace::Writer& writer, const ClipOptions& options)
      : reader_(reader), writer_(writer), options_(options) {}

  Clipped run() {
    for (const auto& [id, info] : reader_.writers()) clip_writer(info);
    return result_;
  }

 private:
  const trace::ClockMap* clock_of(const trace::WriterInfo& info, uint32_t track) {
    const auto described = info.tracks.find(track);
    if (described == info.tracks.end()) return nullptr;
    const auto domain = info.clocks.find(described->second.clock);
    if (domain == info.clocks.end()) return nullptr;
    auto& clock = clocks_[domain->first];
    if (clock == nullptr) clock = std::make_unique<trace::ClockMap>(domain->second);
    return clock->usable() ? clock.get() : nullptr;
  }

  bool begins_too_late(const trace::ClockMap& clock, uint64_t first_tick) const {
    return clock.to_monotonic_ns(first_tick) > options_.to_ns;
  }

  void clip_writer(const trace::WriterInfo& info) {
    clocks_.clear();
    handles_.clear();
    introduce(info);
    uint64_t unreadable = 0;
    std::map<std::pair<uint32_t, uint32_t>, ClipRing> rings;
    for (const EventChunk& chunk : reader_.event_chunks()) {
      if (chunk.writer != info.id) continue;
      const trace::ClockMap* clock = clock_of(info, chunk.track);
      if (clock == nullptr) {
        ++unreadable;
        continue;
      }
      if (chunk.point_count != 0) note_handles(chunk, *clock);
      // A range by handle may end in a chunk that begins after the span: such a one is looked at for that alone.
      if (chunk.point_count != 0 || !begins_too_late(*clock, chunk.first))
        rings[{chunk.track, chunk.ring}].chunks.push_back(&chunk);
    }
    for (const auto& [key, ring] : rings) unreadable += clip_ring(info, *clock_of(info, key.first), ring);
    finish(info, unreadable);
    result_.problems += unreadable;
  }

  void introduce(const trace::WriterInfo& info) {
    trace::Origin origin = info.origin;
    origin.metadata.insert(origin.metadata.end(), options_.metadata.begin(), options_.metadata.end());
    writer_.origin(info.id, origin);
    const auto values_of = [](const auto& map) {
      std::vector<typename std::decay_t<decltype(map)>::mapped_type> values;
      for (const auto& [id, value] : map) values.push_back(value);
      return values;
    };
    for (const auto& [id, clock] : info.clocks) writer_.clock(info.id, clock);
    writer_.tracks(info.id, values_of(info.tracks));
    writer_.classes(info.id, values_of(info.classes));
    if (!info.stacks.empty() || !info.frames.empty() || !info.modules.empty())
      writer_.stacks(info.id, values_of(info.modules), values_of(info.frames), values_of(info.stacks));
  }

  void note_handles(const EventChunk& chunk, const trace::ClockMap& clock) {
    try {
      reader_.read(chunk, batch_, trace::kPoints);
    } catch (const Error&) {
      return;  // clip_ring finds the same and counts it
    }
    const trace::Points& points = batch_.points;
    for (size_t i = 0; i < points.size(); ++i) {
      if (points.kind[i] != PointKind::AsyncBegin && points.kind[i] != PointKind::AsyncEnd) continue;
      const int64_t ns = clock.to_monotonic_ns(points.time[i]);
      if (points.kind[i] == PointKind::AsyncBegin) {
        if (ns > options_.to_ns) handles_[points.id[i]].begins_after = true;
      } else if (ns < options_.from_ns) {
        handles_[points.id[i]].ends_before = true;
      }
    }
  }

  Outside outside(const trace::WriterInfo& info, PointKind kind, uint32_t class_id, uint64_t id, bool before) const {
    if (kind == PointKind::Instant && before && is_definition(info.classes, class_id)) return Outside::Keep;
    const auto handle = handles_.find(id);
    const ByHandle known = handle != handles_.end() ? handle->second : ByHandle{};
    if (kind == PointKind::AsyncBegin && before && !known.ends_before) return Outside::Keep;
    if (kind == PointKind::AsyncEnd && !before && !known.begins_after) return Outside::Keep;
    return Outside::Drop;
  }

  // Returns how many chunks could not be read.
  uint64_t clip_ring(const trace::WriterInfo& info, const trace::ClockMap& clock, const ClipRing& ring) {
    uint64_t unreadable = 0;
    const EventChunk* last = nullptr;  // that may hold ranges of the span
    for (const EventChunk* chunk : ring.chunks)
      if (!begins_too_late(clock, chunk->first)) last = chunk;
    bool is_first = true;
    for (const EventChunk* chunk : ring.chunks) {
      const bool before = clock.to_monotonic_ns(chunk->last) < options_.from_ns;
      if (before && chunk != last && chunk->point_count == 0) continue;
      try {
        reader_.read(*chunk, batch_);
      } catch (const Error&) {
        ++unreadable;
        continue;
      }
      const auto [low, high] = ticks_in(batch_);
      BatchClip clip{ticks_of_span(clock, options_.from_ns, options_.to_ns, low, high), is_first, chunk == last,
                     [&](PointKind kind, uint32_t class_id, uint64_t id, bool earlier) {
                       return outside(info, kind, class_id, id, earlier);
                     }};
      const bool only_points = (before && chunk != last) || begins_too_late(clock, chunk->first);
      if (only_points) batch_.opening.clear(), batch_.closing.clear(), batch_.ranges = {};
      // Where the clock has no tick within the span there is nothing to keep, and no edge to cut at.
      if (clip.span.empty()) continue;
      result_.cut += clip_batch(batch_, clip, info.classes);
      if (batch_.ranges.size() == 0 && batch_.points.size() == 0 && batch_.closing.empty()) continue;
      result_.events += batch_.ranges.size() + batch_.points.size();
      writer_.events(info.id, batch_);
      if (!only_points) is_first = false;
    }
    return unreadable;
  }

  // One whose time is not known may.
  bool falls_into_span(const trace::WriterInfo& info, const trace::Loss& loss) {
    if (loss.first == 0 && loss.last == 0) return true;
    const trace::ClockMap* clock = clock_of(info, loss.track);
    if (clock == nullptr) return true;
    return clock->to_monotonic_ns(loss.last) >= options_.from_ns &&
           clock->to_monotonic_ns(loss.first) <= options_.to_ns;
  }

  void finish(const trace::WriterInfo& info, uint64_t unreadable) {
    std::vector<trace::Loss> losses;
    for (const trace::Loss& loss : info.losses) {
      if (!falls_into_span(info, loss)) continue;
      losses.push_back(loss);
      result_.losses += loss.count;
    }
    if (unreadable != 0)
      losses.push_back({trace::LossCause::DamagedRecord, 0, unreadable, 0, 0, "chunks that could not be read"});
    if (options_.late_ns != 0) {
      losses.push_back({trace::LossCause::LateStart, 0, 1, 0, 0,
                        base::format("recording began {:.3f} ms after the start that was asked for",
                                     static_cast<double>(options_.late_ns) / 1e6)});
    }
    writer_.losses(info.id, losses);
    std::vector<trace::Cost> costs;
    for (const auto& [track, cost] : info.costs) costs.push_back(cost);
    writer_.costs(info.id, costs);
    if (info.ending) writer_.ending(info.id, *info.ending);
  }

  const trace::Reader& reader_;
  trace::Writer& writer_;
  const ClipOptions& options_;
  Clipped result_;
  std::map<uint32_t, std::unique_ptr<trace::ClockMap>> clocks_;  // of the writer at hand, as what follows
  std::unordered_map<uint64_t, ByHandle, base::SeededHash> handles_;
  trace::EventBatch batch_;
};

}  // namespace

Clipped clip_trace(const trace::Reader& reader, trace::Writer& writer, const ClipOptions& options) {
  if (options.to_ns < options.from_ns)
    throw InvalidArgument(base::format("a span that ends {} ns before it begins", options.from_ns - options.to_ns));
  return Clip(reader, writer, options).run();
}

Clipped clip_file(const std::string& from, const std::string& to, const ClipOptions& options) {
  const trace::Reader reader(from);
  trace::Writer writer(to, trace::Writer::Mode::Append);
  const Clipped clipped = clip_trace(reader, writer, options);
  writer.close();
  return clipped;
}

}  // namespace kymo::collect
