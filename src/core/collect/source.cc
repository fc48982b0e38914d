#include "collect/source.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "kymo/error.h"
#include "record/clock.h"

namespace kymo::collect {
namespace {

using record::Slot;

constexpr uint64_t kRestateEvery = 60;  // notes: a damaged chunk of classes costs at most a minute of data

// The cost of storing one record here. Nearly all of it is reading the clock.
uint64_t picoseconds_per_record() {
  constexpr int kReads = 2000;
  uint64_t sum = 0;
  const uint64_t began = base::monotonic_ns();
  for (int i = 0; i < kReads; ++i) sum += record::ticks();
  const uint64_t took = base::monotonic_ns() - began;
  return took * 1000 / kReads + (sum == 0 ? 1 : 0);
}

trace::ClockDomain clock_of(const record::SegmentHeader& header, uint32_t id) {
  trace::ClockDomain domain;
  domain.id = id;
  domain.kind = static_cast<trace::ClockKind>(header.tick_kind);
  if (header.ticks_per_second != 0) {
    const uint64_t shared = std::gcd(uint64_t{1'000'000'000}, header.ticks_per_second);
    domain.period_numerator = 1'000'000'000 / shared;
    domain.period_denominator = header.ticks_per_second / shared;
  } else {
    domain.period_numerator = 0;
    domain.period_denominator = 1;
  }
  domain.pairs.push_back({header.pair_ticks, header.pair_monotonic_ns, header.pair_realtime_ns, header.pair_error_ns,
                          header.pair_suspended_ns});
  return domain;
}

// True if the cause means that a record was lost. The other causes concern data that was recorded.
bool is_of_records(trace::LossCause cause) {
  switch (cause) {
    case trace::LossCause::RingFull:
    case trace::LossCause::CollectorStalled:
    case trace::LossCause::Overwritten:
    case trace::LossCause::NoSlot:
    case trace::LossCause::SignalBufferFull:
      return true;
    default:
      return false;
  }
}

const char* no_ring_text(uint32_t reason) {
  if ((reason & record::kNoRingMemory) != 0) return "shared memory was full";
  if ((reason & record::kNoRingSlot) != 0) return "too many threads at once";
  if ((reason & record::kNoRingEnded) != 0) return "the thread was ending";
  return "a signal handler interrupted the first record of its thread";
}

}  // namespace

Source::Source(record::SegmentHeader& header, trace::Origin origin, From from,
               const std::optional<record::Geometry>& geometry)
    : header_(header),
      geometry_(geometry ? *geometry : record::geometry_of(header)),
      origin_(std::move(origin)),
      queue_clocks_(kClockId + 1),
      clock_(clock_of(header, kClockId)) {
  std::copy(std::begin(header.writer), std::end(header.writer), id_.bytes.begin());
  clock_.boot_id = origin_.boot_id;
  origin_.announces_ending = 1;
  is_own_ = header.pid == static_cast<uint32_t>(getpid());
  header_.collector_attached.store(1, std::memory_order_relaxed);
  trace::Cost own;
  own.picoseconds_per_event = picoseconds_per_record();
  costs_[0] = own;
  // Two pairs give the rate: otherwise nobody could read the trace before the first note.
  if (header.ticks_per_second == 0) add_pair();
  if (from == From::Beginning) return;
  for (uint32_t i = 0; i < record::kInterfaceCount; ++i)
    counted_before_[i] = record::interface_counts(header, geometry_, i);
  const uint32_t used = std::min(header.slots_used.load(std::memory_order_acquire), geometry_.slot_capacity);
  for (uint32_t i = 0; i < used; ++i) {
    if (!record::has_memory(header, i)) continue;
    Slot& slot = slot_page(i)->slot;
    const uint64_t head = slot.head.load(std::memory_order_acquire);
    slot.tail.store(head, std::memory_order_release);
    ring(i).position = ring(i).decoded = head;
  }
}

void Source::resume(const Resume& state) {
  next_track_ = state.next_track;
  handles_.accept_unknown_ends();
  queue_clocks_.resume(state.clocks);
  for (const auto& [index, known] : state.rings) {
    if (index >= geometry_.slot_capacity || !record::has_memory(header_, index)) continue;
    Ring& restored = ring(index);
    const Slot& slot = slot_page(index)->slot;
    trace::Track track = known.track;
    if (!known.is_described && slot.queue == nullptr) {
      track.clock = kClockId;
      track.tid = slot.tid.load(std::memory_order_relaxed);
      track.name.assign(slot.name, std::min<size_t>(slot.name_length, sizeof slot.name));
      new_tracks_.push_back(track);
    }
    restored.decoder.resume(track, known.open, known.beyond_limit);
    queue_clocks_.recognize(known.track.clock, known.track.device_uuid, slot.clock, slot.wrap_bits);
    restored.position = restored.decoded = known.sequence_end;
  }
}

Source::Ring& Source::ring(uint32_t index) {
  if (rings_.size() <= index) rings_.resize(index + 1);
  std::unique_ptr<Ring>& ring = rings_[index];
  if (!ring) {
    // NOLINTNEXTLINE(modernize-make-unique): an aggregate, which not every compiler lets make_unique build
    ring = std::unique_ptr<Ring>(new Ring{RingDecoder(index, {classes_, handles_, queue_clocks_, next_track_})});
    ring->position = ring->decoded = slot_page(index)->slot.tail.load(std::memory_order_acquire);
  }
  return *ring;
}

void Source::introduce(trace::Writer& writer) {
  introduced_ = false;  // if the write fails, the next drain repeats it
  writer.origin(id_, origin_);
  writer.clock(id_, clock_);
  for (const QueueClock& clock : queue_clocks_.all()) {
    trace::ClockDomain domain = clock.whole();
    domain.boot_id = origin_.boot_id;
    writer.clock(id_, domain);
  }
  std::vector<trace::EventClass> known{blocked_class()};
  for (uint32_t id = 0; id < stated_classes_.size(); ++id)
    if (stated_classes_[id] != 0) known.push_back(*classes_.find(id));
  writer.classes(id_, known);
  std::vector<trace::Track> tracks;
  for (const auto& [track, description] : tracks_) tracks.push_back(description);
  if (!tracks.empty()) writer.tracks(id_, tracks);
  introduced_ = true;
}

void Source::flush_clocks(trace::Writer& writer) {
  for (QueueClock& clock : queue_clocks_.all()) {
    trace::ClockDomain news;
    if (!clock.changes(news)) continue;
    news.boot_id = origin_.boot_id;
    writer.clock(id_, news);
    clock.mark_written();
  }
}

// Only classes that events use are in the file. A forked child has the classes of its parent, perhaps thousands, and
// mostly uses few of them.
void Source::state_classes(const trace::EventBatch& batch) {
  const auto state = [this](uint32_t id) {
    if (id < stated_classes_.size() && stated_classes_[id] != 0) return;
    const trace::EventClass* const used = classes_.find(id);
    if (used == nullptr) return;  // an inline name, or the class of the collector itself
    if (stated_classes_.size() <= id) stated_classes_.resize(id + 1);
    stated_classes_[id] = 1;
    new_classes_.push_back(*used);
    has_interfaces_ |= header_.registry.interface[id].load(std::memory_order_relaxed) != 0;
  };
  for (const uint32_t id : batch.ranges.class_id) state(id);
  for (const uint32_t id : batch.points.class_id) state(id);
  for (const auto* open : {&batch.opening, &batch.closing})
    for (const trace::OpenRange& range : *open) state(range.class_id);
}

// Most programs use no interface: then there is nothing to count.
void Source::count_interfaces(const trace::EventBatch& batch) {
  if (!has_interfaces_) return;
  for (const auto* ids : {&batch.ranges.class_id, &batch.points.class_id})
    for (const uint32_t id : *ids)
      if (id <= record::kMaxClasses)
        ++events_by_interface_[header_.registry.interface[id].load(std::memory_order_relaxed)];
}

// Writes everything that the batch refers to, before the batch.
void Source::flush_catalog(trace::Writer& writer) {
  const auto write = [](auto& list, auto&& put) {
    if (list.empty()) return;
    put(list);
    list.clear();
  };
  flush_clocks(writer);
  write(new_classes_, [&](const auto& list) { writer.classes(id_, list); });
  write(new_tracks_, [&](const auto& list) { writer.tracks(id_, list); });
  write(new_losses_, [&](const auto& list) { writer.losses(id_, list); });
  write(new_costs_, [&](const auto& list) { writer.costs(id_, list); });
}

void Source::keep_losses(std::vector<trace::Loss> losses) {
  for (trace::Loss& loss : losses) {
    lost_ += loss.count;
    if (is_of_records(loss.cause)) dropped_ += loss.count;
    new_losses_.push_back(std::move(loss));
  }
}

void Source::take_slot_losses(Slot& slot, uint32_t track) {
  for (uint32_t cause = 0; cause < record::kLossCauses; ++cause) {
    const uint32_t count = slot.losses[cause].exchange(0, std::memory_order_relaxed);
    if (count == 0) continue;
    slot.loss_pending.fetch_sub(count, std::memory_order_relaxed);
    keep_losses(
        {{static_cast<trace::LossCause>(cause), track, count, slot.loss_first.load(), slot.loss_last.load(), ""}});
  }
}

// ---- Repeatedly, and at the end ------------------------------------------------------------------------------------

void Source::add_pair() { clock_.pairs.push_back(record::read_pair()); }

// An end without a start belongs to a range whose start was lost: it is counted once.
void Source::keep_unknown_ends() {
  std::vector<trace::Loss> unknown = handles_.unknown_ends();
  const uint64_t explained = std::min<uint64_t>(unknown.size(), dropped_ - std::min(dropped_, explained_));
  explained_ += explained;
  unknown.resize(unknown.size() - explained);
  keep_losses(std::move(unknown));
}

// As metadata of the process: "interface.nvtx.events" and so on.
void Source::state_interfaces(trace::Writer& writer) const {
  trace::Origin counts = origin_;
  counts.metadata.clear();
  for (uint32_t i = 0; i < record::kInterfaceCount; ++i) {
    const record::InterfaceCounts now = record::interface_counts(header_, geometry_, i), &before = counted_before_[i];
    const auto add = [&](const char* what, uint64_t count) {
      if (count == 0) return;
      counts.metadata.emplace_back(base::format("interface.{}.{}", record::kInterfaceNames[i], what),
                                   std::to_string(count));
    };
    add("events", now.events - before.events + events_by_interface_[i + 1]);
    add("lost", now.lost - before.lost);
    add("cost_ns", now.cost_ns - before.cost_ns);
  }
  if (!counts.metadata.empty()) writer.origin(id_, counts);
}

void Source::note(trace::Writer& writer) {
  keep_unknown_ends();
  add_pair();
  trace::ClockDomain newest = clock_;
  newest.pairs = {clock_.pairs.back()};
  // Only the first and the newest pair are kept, for writing the clock again. One pair per second for a day must not
  // accumulate.
  clock_.pairs = {clock_.pairs.front(), clock_.pairs.back()};
  writer.clock(id_, newest);
  if (++notes_ % kRestateEvery == 0) introduce(writer);
  for (const auto& [track, cost] : costs_) new_costs_.push_back(cost);
  flush_catalog(writer);
}

uint64_t Source::unfinished() const {
  uint64_t sum = handles_.open_count();
  for (const auto& ring : rings_) sum += ring ? ring->decoder.open_count() : 0;
  return sum;
}

void Source::lose_segment() {
  if (std::exchange(is_cut_, true)) return;
  keep_losses(
      {{trace::LossCause::DamagedRecord, 0, 1, 0, 0,
        "its shared memory was cut short by somebody: what was not read by then is lost, however much it was"}});
}

void Source::saw_alive() { header_.alive_until.store(record::ticks(), std::memory_order_relaxed); }

trace::Ending Source::ending_now() const { return {header_.alive_until.load(std::memory_order_relaxed)}; }

void Source::finish(trace::Writer& writer, uint64_t collector_cpu_ns) {
  const uint32_t used = std::min(header_.slots_used.load(std::memory_order_acquire), geometry_.slot_capacity);
  for (uint32_t i = 0; i < used; ++i) {
    if (!record::has_memory(header_, i)) continue;
    Ring& ring = this->ring(i);
    drain_side(writer, ring, i);
    take_slot_losses(slot_page(i)->slot, ring.decoder.track());
  }
  if (const uint64_t count = header_.lost_without_slot.exchange(0); count != 0)
    keep_losses({{trace::LossCause::NoSlot, 0, count, header_.lost_without_slot_first.load(),
                  header_.lost_without_slot_last.load(), no_ring_text(header_.no_ring_reason.load())}});
  if (const uint32_t count = header_.unrecorded_children.exchange(0); count != 0)
    keep_losses(
        {{trace::LossCause::Unrecorded, 0, count, 0, 0,
          base::format("forked by process {}, out of its sight (chroot) or without shared memory", header_.pid)}});
  for (uint32_t i = 0; i < record::kInterfaceCount; ++i)
    if (record::interface_counts(header_, geometry_, i).is_pending)
      keep_losses({{trace::LossCause::NotDelivered, 0, 1, 0, 0, std::string(record::kInterfaceNames[i])}});
  keep_unknown_ends();
  costs_[0].collector_cpu_ns = collector_cpu_ns;
  note(writer);
  state_interfaces(writer);
  writer.ending(id_, ending_now());
}

}  // namespace kymo::collect
