#include "collect/ring_decoder.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

namespace kymo::collect {
namespace {

using record::Cell;
using record::Kind;
using trace::FieldType;
using trace::LossCause;
using trace::PointKind;

constexpr size_t kMaxOpenHandles = 1 << 20;
constexpr size_t kDeepest = 0xffff;

// The words of payloads.
constexpr size_t kStartWord = 0, kCorrelationWord = 1, kSpanWords = 2;  // then its values
constexpr size_t kQueueWords = 6;                                       // then name and uuid

// The kinds of points have one order in segments and in files.
PointKind point_kind(Kind kind) {
  constexpr int kDistance = static_cast<int>(Kind::Instant) - static_cast<int>(PointKind::Instant);
  static_assert(static_cast<int>(Kind::AsyncEnd) - static_cast<int>(PointKind::AsyncEnd) == kDistance);
  static_assert(static_cast<int>(Kind::Free) - static_cast<int>(PointKind::Free) == kDistance);
  return static_cast<PointKind>(static_cast<int>(kind) - kDistance);
}

// Keeps the memory.
void clear(trace::Values& values) {
  values.ints.clear();
  values.doubles.clear();
  values.text.clear();
}

// The max size in the head of a chunk.
size_t stated_bytes(const trace::Values& values) {
  return values.ints.size() * 10 + values.doubles.size() * 8 + values.text.size();
}

// Handles that no program has: made of the track and the number of such ranges around it.
constexpr uint64_t kBeyondLimit = uint64_t{1} << 63;
uint64_t handle_beyond_limit(uint32_t track, uint64_t level) {
  return kBeyondLimit | uint64_t{track & 0x7fffffff} << 32 | (level & 0xffffffff);
}

// A string of a payload: its length, then its bytes. Moves `at` past it.
std::string take_text(const std::vector<uint64_t>& words, size_t& at) {
  if (at >= words.size()) return {};
  const uint64_t length = std::min<uint64_t>(words[at], (words.size() - at - 1) * 8);
  const std::string_view text(reinterpret_cast<const char*>(words.data() + at + 1), length);
  at += 1 + (length + 7) / 8;
  return std::string(text);
}

bool has_id(Kind kind) { return kind >= Kind::AsyncBegin && kind <= Kind::Free; }

}  // namespace

// ---- Ranges across threads -----------------------------------------------------------------------------------------

void OpenHandles::begin(uint64_t handle) {
  if (open_.size() < kMaxOpenHandles) open_.insert(handle);
}

void OpenHandles::end(uint64_t handle, uint32_t track, uint64_t time) {
  if (open_.erase(handle) == 0 && !accepts_unknown_ends_ && open_.size() < kMaxOpenHandles)
    late_.push_back({handle, track, time, false});
}

std::vector<trace::Loss> OpenHandles::unknown_ends() {
  std::vector<trace::Loss> unknown;
  std::erase_if(late_, [&](LateEnd& late) {
    if (open_.erase(late.handle) != 0) return true;
    if (late.old) unknown.push_back({trace::LossCause::UnknownRange, late.track, 1, late.time, late.time, ""});
    return std::exchange(late.old, true);
  });
  return unknown;
}

// ---- One ring ------------------------------------------------------------------------------------------------------

trace::EventClass blocked_class() { return {kBlockedClass, "waiting for the collector", "kymo", 0xff9e9e9e, {}}; }

RingDecoder::RingDecoder(uint32_t ring, const Shared& shared)
    : classes_(shared.classes), handles_(shared.handles), clocks_(shared.clocks), next_track_(shared.next_track) {
  batch_.ring = ring;
}

void RingDecoder::resume(const trace::Track& track, std::vector<trace::OpenRange> open, uint64_t beyond_limit) {
  track_ = track;
  new_owner_ = false;
  clock_ = track.kind == trace::TrackKind::DeviceQueue ? clocks_.find(track.clock) : nullptr;
  forget_open_ranges();
  for (auto& range : open) {
    next_open_values() = {std::move(range.ints), std::move(range.doubles), std::move(range.text)};
    open_value_bytes_ += stated_bytes(open_values_[open_values_count_ - 1]);
    stack_.push_back({range.start, range.class_id, open_values_count_, record::kAnyStack});
  }
  beyond_limit_ = beyond_limit;
}

std::optional<uint64_t> RingDecoder::beyond_limit_after(const trace::Points& points, uint32_t track) {
  for (size_t i = points.size(); i-- > 0;) {
    const uint64_t level = points.id[i] - handle_beyond_limit(track, 0);
    if (level > 0xffffffff) continue;
    if (points.kind[i] == PointKind::AsyncBegin) return level + 1;
    if (points.kind[i] == PointKind::AsyncEnd) return level;
  }
  return std::nullopt;
}

std::vector<trace::OpenRange> RingDecoder::open_ranges() const {
  std::vector<trace::OpenRange> open;
  open.reserve(stack_.size());
  for (const Open& range : stack_) {
    trace::OpenRange made;
    made.start = range.start;
    made.class_id = range.class_id;
    if (range.values != 0) {
      const trace::Values& values = open_values_[range.values - 1];
      made.ints = values.ints;
      made.doubles = values.doubles;
      made.text = values.text;
    }
    open.push_back(std::move(made));
  }
  return open;
}

bool RingDecoder::batch_has_events() const { return batch_.ranges.size() != 0 || batch_.points.size() != 0; }

std::vector<trace::Loss> RingDecoder::take_losses() { return std::exchange(losses_, {}); }

bool RingDecoder::take_changed_track(trace::Track& track) {
  if (!std::exchange(track_changed_, false)) return false;
  track = track_;
  return true;
}

trace::Values& RingDecoder::next_open_values() {
  if (open_values_count_ == open_values_.size()) open_values_.emplace_back();
  trace::Values& values = open_values_[open_values_count_++];
  clear(values);
  return values;
}

void RingDecoder::forget_open_ranges() {
  stack_.clear();
  open_values_count_ = 0;
  open_value_bytes_ = 0;
  beyond_limit_ = 0;
}

// Splits the payload words by the fields of the class. False: they do not match, and `into` is unchanged.
bool RingDecoder::put_values(const trace::EventClass& event_class, trace::Values& into, size_t skip_words) const {
  const size_t ints = into.ints.size(), doubles = into.doubles.size(), text = into.text.size();
  size_t at = skip_words;
  for (const trace::Field& field : event_class.fields) {
    const uint64_t word = word_at(at);
    const bool string = field.type == FieldType::String;
    if (at >= words_.size() || (string && word > (words_.size() - at - 1) * 8)) {
      into.ints.resize(ints);
      into.doubles.resize(doubles);
      into.text.resize(text);
      return false;
    }
    ++at;
    if (field.type == FieldType::Double) {
      into.doubles.push_back(std::bit_cast<double>(word));
      continue;
    }
    into.ints.push_back(word);
    if (!string) continue;
    into.text.append(reinterpret_cast<const char*>(words_.data() + at), word);
    at += (word + 7) / 8;
  }
  return true;
}

void RingDecoder::begin(uint64_t time, uint32_t class_id, uint16_t stack) {
  // The text of a record is not longer than the record.
  if (beyond_limit_ != 0 || stack_.size() >= kMaxNested ||
      open_value_bytes_ + words_.size() * 10 > kMaxNestedValueBytes)
    return begin_beyond_limit(time, class_id);
  const trace::EventClass* event_class = class_id == trace::kInlineName ? &inline_name_ : classes_.find(class_id);
  trace::Values& values = next_open_values();
  if (event_class == nullptr || !put_values(*event_class, values, 0)) {
    // Its end will follow, so the range stays, without a name.
    damaged(time);
    class_id = trace::kInlineName;
    values.ints.push_back(0);
  }
  open_value_bytes_ += stated_bytes(values);
  stack_.push_back({time, class_id, open_values_count_, stack});
}

void RingDecoder::begin_beyond_limit(uint64_t time, uint32_t class_id) {
  add_point(PointKind::AsyncBegin, time, class_id, handle_beyond_limit(track_.id, beyond_limit_), 0);
  ++beyond_limit_;
}

void RingDecoder::end_beyond_limit(uint64_t time) {
  --beyond_limit_;
  words_.clear();
  add_point(PointKind::AsyncEnd, time, trace::kInlineName, handle_beyond_limit(track_.id, beyond_limit_), 0);
}

void RingDecoder::add_range(uint64_t start, uint64_t end, uint32_t class_id) {
  trace::Ranges& ranges = batch_.ranges;
  const size_t i = range_count_++;
  ranges.end[i] = end;
  ranges.duration[i] = end - start;
  ranges.class_id[i] = class_id;
  ranges.depth[i] = static_cast<uint16_t>(std::min(stack_.size(), kDeepest));
}

void RingDecoder::end(uint64_t time, uint16_t stack) {
  if (beyond_limit_ != 0) return end_beyond_limit(time);
  const auto matches = [stack](const Open& open) {
    return open.stack == stack || open.stack == record::kAnyStack || stack == record::kAnyStack;
  };
  if (!stack_.empty() && matches(stack_.back())) [[likely]]
    return end_innermost(time);
  for (size_t above = 1; above < stack_.size(); ++above) {
    const size_t index = stack_.size() - 1 - above;
    if (!matches(stack_[index])) continue;
    if (above <= kMaxSplit) return end_below(time, index);
    stack_[index].stack = stack_.back().stack;  // they change places, so that every end still has a range
    return end_innermost(time);
  }
  overwritten_ += begins_lost_ ? 1 : 0;  // it began in cells that are lost, or before the recording: that is not a loss
}

// Ends a range while ranges of other stacks are open inside it. The ranges of a track nest, so those inside are split:
// their first part ends here with it, and their second part begins here.
void RingDecoder::end_below(uint64_t time, size_t index) {
  struct Inner {
    Open open;
    trace::Values values;
  };
  std::vector<Inner> inner;
  size_ranges(batch_.ranges.end.size() + stack_.size() - 1 - index);
  while (stack_.size() > index + 1) {
    const Open& open = stack_.back();
    inner.push_back({open, open.values != 0 ? open_values_[open.values - 1] : trace::Values{}});
    end_innermost(time);
  }
  end_innermost(time);
  for (; !inner.empty(); inner.pop_back()) {
    Open& open = inner.back().open;
    open.start = time;
    if (open.values != 0) {
      next_open_values() = std::move(inner.back().values);
      open.values = open_values_count_;
      open_value_bytes_ += stated_bytes(open_values_[open_values_count_ - 1]);
    }
    stack_.push_back(open);
  }
}

void RingDecoder::end_innermost(uint64_t time) {
  const Open open = stack_.back();
  stack_.pop_back();
  add_range(open.start, time, open.class_id);
  if (open.values == 0) return;
  const trace::Values& from = open_values_[open.values - 1];
  trace::Values& to = batch_.ranges.values;
  to.ints.insert(to.ints.end(), from.ints.begin(), from.ints.end());
  to.doubles.insert(to.doubles.end(), from.doubles.begin(), from.doubles.end());
  to.text += from.text;
  open_value_bytes_ -= stated_bytes(from);
  --open_values_count_;  // the innermost range with values is the last in it
}

void RingDecoder::point(Kind kind, uint64_t time, uint32_t class_id) {
  if (clock_ != nullptr) time = clock_->extend(time);
  const uint64_t id = has_id(kind) ? word_at(0) : 0;
  if (kind == Kind::AsyncBegin) handles_.begin(id);
  if (kind == Kind::AsyncEnd) handles_.end(id, track_.id, time);
  add_point(point_kind(kind), time, class_id, id, has_id(kind) ? 1 : 0);
}

void RingDecoder::add_point(PointKind kind, uint64_t time, uint32_t class_id, uint64_t id, size_t skip_words) {
  trace::Points& points = batch_.points;
  const trace::EventClass* event_class = class_id == trace::kInlineName ? &inline_name_ : classes_.find(class_id);
  if (event_class == nullptr || !put_values(*event_class, points.values, skip_words)) {
    if (kind != PointKind::AsyncEnd) damaged(time);  // an end has no name
    class_id = trace::kInlineName;
    points.values.ints.push_back(0);
  }
  points.time.push_back(time);
  points.kind.push_back(kind);
  points.class_id.push_back(class_id);
  points.id.push_back(id);
}

void RingDecoder::size_ranges(size_t size) {
  batch_.ranges.end.resize(size);
  batch_.ranges.duration.resize(size);
  batch_.ranges.class_id.resize(size);
  batch_.ranges.depth.resize(size);
  if (!batch_.ranges.lane.empty()) batch_.ranges.lane.resize(size);
  if (!batch_.ranges.correlation.empty()) batch_.ranges.correlation.resize(size);
}

uint64_t RingDecoder::decode(const Cell* cells, uint64_t mask, uint64_t from, uint64_t to) {
  if (range_count_ != 0) ended_before_ = batch_.ranges.end[range_count_ - 1];
  batch_.ranges.lane.clear();
  batch_.ranges.correlation.clear();
  size_ranges((to - from + stack_.size()) / 2);  // a range has two cells, or one if its start was in an earlier batch
  range_count_ = 0;
  clear(batch_.ranges.values);
  batch_.points = {};
  batch_.opening = open_ranges();
  batch_.sequence_begin = from;

  uint64_t at = from;
  while (at < to) {
    const uint64_t time = cells[at & mask].time.load(std::memory_order_relaxed);
    const uint64_t word = cells[at & mask].word.load(std::memory_order_relaxed);
    const Kind kind = record::kind_of(word);
    // The two most frequent kinds first: a loop of plain ranges has only these.
    if (kind == Kind::End) {
      end(time, record::stack_of(word));
      ++at;
      continue;
    }
    const uint32_t class_id = record::class_of(word);
    if (kind == Kind::Begin && classes_.is_plain(class_id) && stack_.size() < kMaxNested && beyond_limit_ == 0) {
      stack_.push_back({time, class_id, 0, record::stack_of(word)});
      ++at;
      continue;
    }
    if (kind == Kind::Sync && at != from) break;  // another thread or another recording: it gets its own batch
    const uint32_t payload = record::payload_cells_of(word);
    if (payload >= to - at) {  // truncated or damaged: the cells after it cannot be trusted
      damaged(time);
      at = to;
      break;
    }
    words_.clear();
    for (uint32_t i = 1; i <= payload && kind != Kind::Pad; ++i) {
      words_.push_back(cells[(at + i) & mask].time.load(std::memory_order_relaxed));
      words_.push_back(cells[(at + i) & mask].word.load(std::memory_order_relaxed));
    }
    if (kind == Kind::Span)
      span(time, class_id);
    else if (kind == Kind::Begin)
      begin(time, class_id, record::stack_of(word));
    else if (kind >= Kind::Instant && kind <= Kind::Free)
      point(kind, time, class_id);
    else
      special(kind, time);
    at += 1 + payload;
  }
  size_ranges(range_count_);
  if (clock_ != nullptr) order_.arrange(batch_.ranges, classes_);
  if (overwritten_ != 0) losses_.push_back({LossCause::Overwritten, track_.id, overwritten_, 0, 0, kCellsLost});
  overwritten_ = 0;
  batch_.sequence_end = at;
  batch_.closing = open_ranges();
  batch_.track = track_.id;
  return at;
}

void RingDecoder::decode_aside(const Cell* cells, uint32_t count, uint64_t lost_ends, uint64_t sequence) {
  decode(cells, record::kSideCells - 1, 0, count);
  // The times of these ends are not known. They are not before the last known time.
  const uint64_t time = count != 0 ? cells[count - 1].time.load(std::memory_order_relaxed) : 0;
  for (; lost_ends != 0 && beyond_limit_ != 0; --lost_ends) end_beyond_limit(time);
  size_t room = range_count_ + std::min<uint64_t>(lost_ends, stack_.size());
  size_ranges(room);
  while (range_count_ < room) end_innermost(std::max(time, stack_.back().start));
  batch_.closing = open_ranges();
  batch_.sequence_begin = batch_.sequence_end = sequence;
}

void RingDecoder::open_wait(uint32_t class_id, uint64_t start, std::vector<uint64_t> words, uint64_t sequence) {
  decode(nullptr, 0, sequence, sequence);
  // The thread cannot have begun a range in it: if it has, the wait was left by a jump.
  if (!stack_.empty() && stack_.back().start > start) return;
  words_ = std::move(words);
  begin(start, class_id, 0);
  batch_.closing = open_ranges();
}

// ---- Ranges in one record, and rings of device queues --------------------------------------------------------------

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

// ---- Records about the recording itself: owners of the ring, clocks, losses ----------------------------------------

void RingDecoder::damaged(uint64_t time) {
  if (clock_ != nullptr) time = clock_->last_time();
  losses_.push_back({LossCause::DamagedRecord, track_.id, 1, time, time, ""});
}

void RingDecoder::lose_cells(uint64_t count, uint32_t tid, std::string name) {
  count += stack_.size();
  forget_open_ranges();
  cells_lost_ = begins_lost_ = true;
  if (tid == 0) {
    overwritten_ += count;
    return;
  }
  if (track_.id == 0 || track_.tid != tid) {
    trace::Track track;
    track.tid = tid;
    track.name = std::move(name);
    begin_track(std::move(track));
  }
  losses_.push_back({LossCause::Overwritten, track_.id, count, 0, 0, kCellsLost});
}

void RingDecoder::begin_track(trace::Track track) {
  track_ = std::move(track);
  track_.id = next_track_++;
  track_changed_ = true;
  blocked_ticks_ = 0;
  clock_ = nullptr;
  order_.clear();
  lanes_.clear();
  ended_before_ = 0;
  new_owner_ = cells_lost_ = false;
}

void RingDecoder::special(Kind kind, uint64_t time) {
  switch (kind) {
    case Kind::Pad:
    case Kind::ThreadEnd:
      break;
    case Kind::Sync:
      forget_open_ranges();
      batch_.opening.clear();
      begins_lost_ = false;
      new_owner_ = true;
      break;
    case Kind::ThreadBegin: {
      trace::Track track;
      track.tid = word_at(0);
      begin_track(std::move(track));
      break;
    }
    case Kind::QueueBegin:
      begin_queue(time);
      break;
    case Kind::ClockPair:
      if (clock_ == nullptr || words_.size() < 5) return damaged(time);
      clock_->add_pair({words_[0], words_[1], words_[2], words_[3], words_[4]});
      break;
    case Kind::ThreadName: {
      if (words_.empty()) break;
      size_t at = 0;
      track_.name = take_text(words_, at);
      track_changed_ = true;
      break;
    }
    case Kind::Blocked:
      if (words_.empty()) return damaged(time);
      blocked_ticks_ += time - word_at(0);
      if (clock_ == nullptr) add_range(word_at(0), time, kBlockedClass);  // the device did not wait
      break;
    case Kind::Loss: {
      trace::Loss loss{static_cast<LossCause>(word_at(0)), track_.id, word_at(1), word_at(2), word_at(3), ""};
      if (clock_ != nullptr && loss.last != 0) {  // 0: the time is not known
        loss.first = clock_->extend(loss.first);
        loss.last = clock_->extend(loss.last);
      }
      losses_.push_back(loss);
      break;
    }
    default:
      damaged(time);
      break;
  }
}

}  // namespace kymo::collect
