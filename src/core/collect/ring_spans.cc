// The part of the decoder for ranges in one record, and for rings of device queues.
#include <algorithm>
#include <string_view>
#include <utility>

#include "collect/ring_decoder.h"

namespace kymo::collect {
namespace {

constexpr size_t kStartWord = 0, kCorrelationWord = 1, kSpanWords = 2;  // then its values
constexpr size_t kQueueWords = 6;                                       // then name and uuid

// A string of a payload: its length, then its bytes. Moves `at` past it.
std::string take_text(const std::vector<uint64_t>& words, size_t& at) {
  if (at >= words.size()) return {};
  const uint64_t length = std::min<uint64_t>(words[at], (words.size() - at - 1) * 8);
  const std::string_view text(reinterpret_cast<const char*>(words.data() + at + 1), length);
  at += 1 + (length + 7) / 8;
  return std::string(text);
}

}  // namespace

void RingDecoder::begin_queue(uint64_t time) {
  if (words_.size() < kQueueWords) return damaged(time);
  trace::Track track;
  track.kind = trace::TrackKind::DeviceQueue;
  track.context = words_[0];
  track.queue = words_[1];
  ClockKey key;
  key.clock = words_[2];
  key.wrap_bits = static_cast<uint32_t>(std::min<uint64_t>(words_[3], 64));
  key.period_numerator = words_[4];
  key.period_denominator = words_[5];
  size_t at = kQueueWords;
  track.name = take_text(words_, at);
  track.device_uuid = take_text(words_, at);
  track.device_name = take_text(words_, at);

  // The queue of a flight recorder describes itself repeatedly. Another queue comes only after a Sync, or after lost
  // cells.
  track.id = track_.id;
  track.clock = track_.clock;
  const bool same = clock_ != nullptr && track == track_;
  if (same && !new_owner_) return;
  if (!new_owner_ && !cells_lost_) return damaged(time);
  key.device_uuid = track.device_uuid;
  begin_track(std::move(track));
  clock_ = &clocks_.find(key);
  track_.clock = clock_->id();
}

void RingDecoder::span(uint64_t time, uint32_t class_id) {
  if (words_.size() < kSpanWords) return damaged(time);
  const uint64_t start = words_[kStartWord], correlation = words_[kCorrelationWord];
  const bool backwards = clock_ != nullptr ? clock_->is_backwards(clock_->elapsed(start, time)) : start > time;
  if (backwards) return damaged(time);
  const trace::EventClass* event_class = class_id == trace::kInlineName ? &inline_name_ : classes_.find(class_id);
  if (event_class == nullptr || !put_values(*event_class, batch_.ranges.values, kSpanWords)) {
    damaged(time);
    class_id = trace::kInlineName;
    batch_.ranges.values.ints.push_back(0);
  }
  if (clock_ != nullptr)
    span_on_queue(start, time, class_id, correlation);
  else
    span_on_thread(start, time, class_id, correlation);
}

void RingDecoder::span_on_queue(uint64_t start, uint64_t end, uint32_t class_id, uint64_t correlation) {
  const uint64_t duration = clock_->elapsed(start, end);
  end = clock_->extend(end);
  start = end - std::min(duration, end);
  order_.add(start, end);
  add_range(start, end, class_id);
  correlate(correlation);
}

void RingDecoder::span_on_thread(uint64_t start, uint64_t end, uint32_t class_id, uint64_t correlation) {
  const bool fits = put_inside_span(start);
  add_range(start, end, class_id);
  correlate(correlation);
  if (fits) return;
  std::vector<uint16_t>& lane = batch_.ranges.lane;
  if (lane.empty()) lane.assign(batch_.ranges.end.size(), 0);
  lane[range_count_ - 1] = lanes_.take(start, end, 1);
}

// Ranges that ended on this thread since `start` are inside the call, so their depth is one more. False: a range began
// before `start` and ended or continues after it, or is already in the file.
bool RingDecoder::put_inside_span(uint64_t start) {
  trace::Ranges& ranges = batch_.ranges;
  if (!stack_.empty() && stack_.back().start > start) return false;
  size_t first = range_count_;
  while (first > 0 && ranges.end[first - 1] > start) {
    --first;
    if (ranges.end[first] - ranges.duration[first] < start) return false;
  }
  if (first == 0 && ended_before_ > start) return false;
  for (size_t i = first; i < range_count_; ++i) ranges.depth[i] += ranges.depth[i] < UINT16_MAX ? 1 : 0;
  return true;
}

// The column exists from the first range that has a correlation.
void RingDecoder::correlate(uint64_t correlation) {
  if (correlation == 0) return;
  std::vector<uint64_t>& column = batch_.ranges.correlation;
  if (column.empty()) column.assign(batch_.ranges.end.size(), 0);
  column[range_count_ - 1] = correlation;
}

}  // namespace kymo::collect
