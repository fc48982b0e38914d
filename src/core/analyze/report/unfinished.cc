#include "analyze/report/unfinished.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "kymo/error.h"
#include "trace/values.h"

namespace kymo::analyze {
namespace {

constexpr int64_t kSmallestPart = 100;  // a hundredth of the trace
constexpr size_t kMostNames = 20;

std::string name_of(const trace::WriterInfo& writer, const trace::OpenRange& range) {
  const trace::EventClass* const event_class = writer.find_class(range.class_id);
  const trace::Values values{range.ints, range.doubles, range.text};
  return trace::full_name(event_class, trace::ValueCursor(values).next(event_class));
}

bool may_be_idle(const trace::WriterInfo& writer, const trace::OpenRange& range) {
  const trace::EventClass* const one = writer.find_class(range.class_id);
  return one != nullptr && one->category == "wait" && one->name != "wait for mutex" &&
         one->name != "wait for read lock" && one->name != "wait for write lock";
}

struct Found {
  Unfinished unfinished;
  uint32_t class_id = 0;
};

std::vector<Found> open_at_the_end(const EventWalk& walk) {
  std::vector<Found> found;
  std::set<uint32_t> done;
  std::map<uint32_t, int64_t> last;  // events by track
  const std::vector<trace::EventChunk>& chunks = walk.reader().event_chunks();
  trace::EventBatch batch;
  for (size_t i = chunks.size(); i-- > 0;) {
    const TrackOfTrace* const track = walk.track_of(chunks[i]);
    if (track == nullptr || track->on_device || done.contains(track->number)) continue;
    int64_t& last_event = last.try_emplace(track->number, std::numeric_limits<int64_t>::min()).first->second;
    if (chunks[i].range_count + chunks[i].point_count != 0)
      last_event = std::max(last_event, track->ns(chunks[i].last));
    try {
      walk.reader().read(chunks[i], batch, trace::kRangeDepths | trace::kOpenStacks);
    } catch (const Error&) {
      done.insert(track->number);  // the error is reported when its events are read
      continue;
    }
    if (!RangesBackwards::says_what_is_open(batch)) continue;
    done.insert(track->number);
    // A thread that waits for a condition or a file at the end may have nothing to do. One that waits for a mutex has.
    while (!batch.closing.empty() && may_be_idle(*track->writer, batch.closing.back())) batch.closing.pop_back();
    if (batch.closing.empty()) continue;
    Found& one = found.emplace_back();
    one.class_id = batch.closing.back().class_id;
    one.unfinished.track = track->number;
    one.unfinished.outer_begin = track->ns(batch.closing.front().start);
    one.unfinished.begin = track->ns(batch.closing.back().start);
    one.unfinished.since = std::max(last_event, one.unfinished.begin);
    one.unfinished.until = std::max(track->end_ns, one.unfinished.since);
    for (size_t at = batch.closing.size() - std::min(batch.closing.size(), kMostNames); at < batch.closing.size(); ++at)
      one.unfinished.ranges.push_back(name_of(*track->writer, batch.closing[at]));
  }
  return found;
}

}  // namespace

std::vector<Unfinished> find_unfinished(EventWalk& walk) {
  std::vector<Found> found = open_at_the_end(walk);
  if (found.empty()) return {};
  const bool has_events = walk.first_ns() != 0 || walk.last_ns() != 0;
  int64_t first = has_events ? walk.first_ns() : found.front().unfinished.outer_begin;
  int64_t end = has_events ? walk.last_ns() : first;
  for (const Found& one : found) {
    first = std::min(first, one.unfinished.outer_begin);
    end = std::max(end, one.unfinished.until);
  }
  const uint64_t whole = static_cast<uint64_t>(end) - static_cast<uint64_t>(first);
  std::erase_if(found, [&](const Found& one) {
    const uint64_t silent = static_cast<uint64_t>(one.unfinished.until) - static_cast<uint64_t>(one.unfinished.since);
    return silent < whole / kSmallestPart;
  });
  if (found.empty()) return {};

  std::map<std::pair<uint32_t, uint32_t>, uint64_t> longest;  // of those that ended, by writer and class
  for (const Found& one : found) longest[{walk.tracks()[one.unfinished.track].writer_number, one.class_id}];
  walk.each(
      trace::kRangeTimes | trace::kRangeClasses,
      [&](const TrackOfTrace& track) {
        const auto of_writer = longest.lower_bound({track.writer_number, 0});
        return !track.on_device && of_writer != longest.end() && of_writer->first.first == track.writer_number;
      },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        for (size_t i = 0; i < batch.ranges.size(); ++i) {
          const auto one = longest.find({track.writer_number, batch.ranges.class_id[i]});
          if (one == longest.end() || one->first.second == trace::kInlineName) continue;
          one->second = std::max(one->second, track.clock.duration_ns(batch.ranges.duration[i]));
        }
      });
  std::erase_if(found, [&](const Found& one) {
    const uint64_t open = static_cast<uint64_t>(one.unfinished.until) - static_cast<uint64_t>(one.unfinished.begin);
    const uint64_t usual = longest[{walk.tracks()[one.unfinished.track].writer_number, one.class_id}];
    return usual != 0 && open <= usual;
  });
  std::vector<Unfinished> result;
  for (Found& one : found) result.push_back(std::move(one.unfinished));
  std::stable_sort(result.begin(), result.end(),
                   [](const Unfinished& a, const Unfinished& b) { return a.until - a.since > b.until - b.since; });
  return result;
}

}  // namespace kymo::analyze
