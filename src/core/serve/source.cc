#include "serve/source.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "kymo/error.h"
#include "trace/definition.h"
#include "trace/last_alive.h"
#include "trace/loss_words.h"
#include "trace/window_view.h"

namespace kymo::serve {

namespace {

// Times of a damaged file may have any value, so the arithmetic wraps.
int64_t difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// Ids are assigned in order, so a table by id is nearly full. A forged id must not make the table huge.
bool belongs_in_table(uint32_t class_id, size_t class_count) { return class_id < 1024 + 4 * class_count; }

// Reading all heads of a very long trace takes too long at the start: this many say enough.
constexpr size_t kHeadsAtStart = 4096;

}  // namespace

int64_t FileClock::relative(int64_t realtime) const { return std::max<int64_t>(0, difference(realtime, zero_)); }

void FileClock::ns(std::span<const uint64_t> ticks, std::vector<int64_t>& into) const {
  into.resize(ticks.size());
  clock_.to_realtime_ns(ticks, into.data());
  for (int64_t& time : into) time = relative(time);
}

Source::Source(trace::Reader reader, NameTable& names) : reader_(std::move(reader)), names_(names) {
  unknown_.name = names_.of_class("(unknown class)", {});
  inline_.name = names_.of_class("{}", {});
  inline_.is_inline = true;
  describe();
  add_chunks();
}

// How many rows the tracks have, for the layout of the page, from chunks that are new.
void Source::count_rows(size_t from) {
  const size_t step = std::max<size_t>(1, (chunks_.size() - from) / kHeadsAtStart);
  for (size_t i = from; i < chunks_.size(); i += step) {
    if (chunks_[i].track == kNoTrack || reader_.event_chunks()[i].range_count == 0) continue;
    try {
      for (const trace::DepthSummary& depth : reader_.summaries(reader_.event_chunks()[i]))
        tracks_[chunks_[i].track].rows = std::max(tracks_[chunks_[i].track].rows, depth.depth + 1u);
    } catch (const Error&) {
      // tiles report it
    }
  }
}

void Source::describe() {
  const std::map<trace::WriterId, trace::WriterInfo>& writers = reader_.writers();
  times_.emplace(reader_);
  alive_ns_ = trace::last_alive_ns(reader_);
  classes_.clear();
  for (const auto& [id, writer] : writers) {
    WriterNames& table = classes_[id];
    for (const auto& [class_id, event_class] : writer.classes) {
      if (!belongs_in_table(class_id, writer.classes.size())) {
        table.sparse[class_id] = describe_class(event_class);
        continue;
      }
      if (class_id >= table.dense.size()) table.dense.resize(class_id + size_t{1}, unknown_);
      table.dense[class_id] = describe_class(event_class);
    }
    if (table.dense.empty()) table.dense.push_back(inline_);
    table.dense[trace::kInlineName] = inline_;
  }

  // The start of the file stays where it was when it had its first events.
  if (!times_->empty() && !reference_) {
    const trace::WriterId& first = writers.begin()->first;
    reference_ = {first, difference(times_->offset_ns(first, 0), earliest_open_ns())};
  }
  if (reference_) shift_ns_ = difference(reference_->second, times_->offset_ns(reference_->first, 0));
  const convert::Places places(reader_);
  std::map<std::string, uint32_t> labels;
  for (uint32_t i = 0; i < groups_.size(); ++i) labels[groups_[i].label] = i;
  std::vector<uint32_t> group_ids;
  for (const convert::Group& group : places.groups()) {
    const std::string label = convert::group_label(group);
    const auto [known, is_new] = labels.try_emplace(label, static_cast<uint32_t>(groups_.size()));
    if (is_new)
      groups_.push_back({group.pid, group.name, label, group.writer != nullptr ? group.writer->origin.host : "",
                         group.writer == nullptr});
    group_ids.push_back(known->second);
  }
  clock_error_ns_ = 0;
  if (times_->empty()) return;  // no event has a time, so there is nothing to show yet
  for (const convert::Place& place : places.all()) {
    const auto domain = place.writer->clocks.find(place.track->clock);
    if (domain == place.writer->clocks.end()) continue;
    trace::ClockMap map = trace::clock_map(domain->second);
    if (!map.usable()) continue;
    clock_error_ns_ = std::max(clock_error_ns_, map.error_ns());
    const uint64_t tick = domain->second.pairs.empty() ? 0 : domain->second.pairs.front().ticks;
    const int64_t offset = offset_ns(place.writer->id, map.to_monotonic_ns(tick));
    const int64_t zero = difference(map.to_realtime_ns(tick), offset);
    FileClock clock(std::move(map), zero);
    const auto [known, is_new] =
        by_track_.try_emplace({place.writer->id, place.track->id}, static_cast<uint32_t>(tracks_.size()));
    if (is_new) {
      const bool is_queue = place.track->kind == trace::TrackKind::DeviceQueue;
      tracks_.push_back({place.writer->id,
                         place.track->id,
                         group_ids[place.group->index],
                         place.name,
                         place.tid,
                         is_queue,
                         place.track->device(),
                         std::move(clock),
                         {}});
      threads_[thread_key(tracks_.back())].push_back(tracks_.size() - 1);
    } else {
      tracks_[known->second].clock = std::move(clock);
      tracks_[known->second].name = place.name;
    }
    start_realtime_ns_ = zero;
  }
  describe_losses();
}

// Of a file that grows: ranges that are open now and will end later began before the first event. 0 or negative.
int64_t Source::earliest_open_ns() const {
  if (!reader_.is_being_written()) return 0;
  std::map<std::pair<trace::WriterId, uint32_t>, const trace::EventChunk*> last;
  for (const trace::EventChunk& chunk : reader_.event_chunks()) last[{chunk.writer, chunk.track}] = &chunk;
  int64_t earliest = 0;
  trace::EventBatch batch;
  std::map<trace::WriterId, trace::TrackClocks> clocks;
  for (const auto& [key, chunk] : last) {
    const auto writer = reader_.writers().find(key.first);
    if (writer == reader_.writers().end()) continue;
    const trace::ClockMap* clock = clocks.try_emplace(key.first, writer->second).first->second.find(key.second);
    if (clock == nullptr) continue;
    try {
      reader_.read(*chunk, batch, trace::kOpenStacks);
    } catch (const Error&) {
      continue;  // tiles report it
    }
    for (const trace::OpenRange& open : batch.closing)
      earliest = std::min(earliest, times_->offset_ns(key.first, clock->to_monotonic_ns(open.start)));
  }
  return earliest;
}

Source::ClassName Source::describe_class(const trace::EventClass& event_class) const {
  ClassName described;
  described.name = names_.of_class(event_class.name, event_class.category);
  described.has_places = !event_class.fields.empty() && event_class.name.find('{') != std::string::npos;
  described.is_definition = trace::is_definition(event_class);
  described.event_class = &event_class;
  return described;
}

void Source::add_chunks() {
  const std::vector<trace::EventChunk>& all = reader_.event_chunks();
  const size_t before = chunks_.size();
  for (size_t i = before; i < all.size(); ++i) {
    ChunkTimes times;
    const auto track = by_track_.find({all[i].writer, all[i].track});
    if (track != by_track_.end()) {
      times.track = track->second;
      SourceTrack& of = tracks_[track->second];
      times.first = of.clock.ns(all[i].first);
      times.last = std::max(times.first, of.clock.ns(all[i].last));
      of.chunks.push_back(static_cast<uint32_t>(i));
      of.ranges += all[i].range_count;
      of.points += all[i].point_count;
      if (all[i].range_count + all[i].point_count > 0) {
        of.start_ns = std::min(of.start_ns, times.first);
        of.end_ns = std::max(of.end_ns, times.last);
        duration_ns_ = std::max(duration_ns_, times.last);
      }
    }
    chunks_.push_back(times);
  }
  count_rows(before);
}

void Source::describe_losses() {
  losses_.clear();
  for (const auto& [id, writer] : reader_.writers()) {
    for (const trace::Loss& loss : writer.losses) {
      SourceLoss shown;
      const trace::LossWords& words = trace::loss_words(loss.cause);
      shown.key = words.key;
      shown.text = base::format("{} {}{}{}", words.thing, words.reason, loss.detail.empty() ? "" : ": ", loss.detail);
      shown.count = loss.count;
      if (const auto track = by_track_.find({id, loss.track}); track != by_track_.end()) {
        const SourceTrack& of = tracks_[track->second];
        shown.track = track->second;
        shown.group = of.group;
        if (loss.last != 0) shown.time = {of.clock.ns(loss.first), of.clock.ns(loss.last)};
      }
      losses_.push_back(std::move(shown));
    }
  }
}

std::optional<size_t> Source::find_track(const trace::WriterId& writer, uint32_t track) const {
  const auto found = by_track_.find({writer, track});
  return found == by_track_.end() ? std::nullopt : std::optional<size_t>(found->second);
}

// Queues, and threads without an id, are each for themselves.
Source::ThreadKey Source::thread_key(const SourceTrack& track) {
  if (track.is_queue || track.tid == 0) return {track.group, 0, track.writer, track.track};
  return {track.group, track.tid, {}, 0};
}

size_t Source::main_track(size_t track) const {
  if (tracks_[track].ranges > 0) return track;
  for (const size_t other : same_thread(track))
    if (tracks_[other].ranges > 0) return other;
  return track;
}

int64_t Source::offset_ns(const trace::WriterId& writer, int64_t monotonic_ns) const {
  return difference(times_->offset_ns(writer, monotonic_ns), -shift_ns_);
}

std::map<trace::WriterId, trace::Window> Source::between(int64_t from_ns, int64_t to_ns) const {
  const auto moved = [&](int64_t ns) { return static_cast<uint64_t>(std::max<int64_t>(0, difference(ns, shift_ns_))); };
  // Ranges that have not ended are cut at the end of a window. After the last event there is nothing to cut.
  if (to_ns > duration_ns_) return times_->between(moved(from_ns), {});
  return times_->between(moved(from_ns), moved(to_ns));
}

const Source::ClassName& Source::class_of(const trace::WriterId& writer, uint32_t class_id) const {
  const auto table = classes_.find(writer);
  if (table == classes_.end()) return class_id == trace::kInlineName ? inline_ : unknown_;
  if (class_id < table->second.dense.size()) return table->second.dense[class_id];
  const auto found = table->second.sparse.find(class_id);
  return found == table->second.sparse.end() ? unknown_ : found->second;
}

bool Source::refresh(bool being_written) {
  const bool has_ended = reader_.is_being_written() && !being_written;
  reader_.set_being_written(being_written);
  std::vector<uint64_t> before;
  for (const trace::EventChunk& chunk : reader_.event_chunks()) before.push_back(chunk.offset);
  if (!reader_.refresh() && !has_ended) return false;
  // A window that was stated later may hide chunks that were shown.
  const std::vector<trace::EventChunk>& after = reader_.event_chunks();
  const bool same = after.size() >= before.size() &&
                    std::equal(before.begin(), before.end(), after.begin(),
                               [](uint64_t offset, const trace::EventChunk& chunk) { return offset == chunk.offset; });
  if (!same) {
    ++generation_;
    chunks_.clear();
    for (SourceTrack& track : tracks_) {
      track.chunks.clear();
      track.ranges = track.points = 0;
    }
  }
  describe();
  add_chunks();
  return true;
}

}  // namespace kymo::serve
