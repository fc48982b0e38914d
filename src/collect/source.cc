#include "collect/source.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "kymo/error.h"
#include "record/clock.h"

namespace kymo::collect {
namespace {

using record::Slot;
using record::SlotState;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kMostCells = 1 << 16;                    // in one chunk
constexpr auto kPatience = std::chrono::milliseconds(500);  // how long a few records may wait for more
constexpr unsigned kMostAttempts = 16;                      // to copy from a ring while its thread overtakes us
constexpr uint32_t kClockId = 1;
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

trace::ClockDomain clock_of(const record::SegmentHeader& header) {
  trace::ClockDomain domain;
  domain.id = kClockId;
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

void wake_blocked(record::SegmentHeader& header) {
  header.progress.fetch_add(1, std::memory_order_seq_cst);
  if (header.blocked_producers.load(std::memory_order_seq_cst) != 0)
    syscall(SYS_futex, &header.progress, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

Source::Source(record::SegmentHeader& header, trace::Origin origin, From from,
               const std::optional<record::Geometry>& geometry)
    : header_(header),
      geometry_(geometry ? *geometry : record::geometry_of(header)),
      origin_(std::move(origin)),
      queue_clocks_(kClockId + 1),
      clock_(clock_of(header)) {
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
  handles_.forgive();
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

// ---- Reading -------------------------------------------------------------------------------------------------------

bool Source::drain(trace::Writer& writer, bool everything) {
  if (!introduced_) introduce(writer);
  bool read = false;
  const uint32_t used = std::min(header_.slots_used.load(std::memory_order_acquire), geometry_.slot_capacity);
  for (uint32_t i = 0; i < used; ++i) read |= drain_ring(writer, i, everything);
  return read;
}

double Source::fullest() const {
  uint64_t most = 0;
  const uint32_t used = std::min(header_.slots_used.load(std::memory_order_acquire), geometry_.slot_capacity);
  for (uint32_t i = 0; i < used; ++i) {
    if (!record::has_memory(header_, i)) continue;
    const Slot& slot = slot_page(i)->slot;
    most = std::max(most, slot.head.load(std::memory_order_relaxed) - slot.tail.load(std::memory_order_relaxed));
  }
  return static_cast<double>(most) / geometry_.ring_cells;
}

// A few records make an inefficient chunk. They can stay in the ring for a short time without loss.
bool Source::worth_reading(Ring& ring, const Slot& slot, uint64_t head, uint32_t state, bool everything) {
  const uint64_t unread = head - ring.position;
  if (ring.decoded != ring.position) return true;
  const bool retired = state == static_cast<uint32_t>(SlotState::Retired);
  if (unread == 0) return retired;
  if (everything || retired || unread * 4 >= geometry_.ring_cells) return true;
  if (slot.side_count.load(std::memory_order_relaxed) > record::kSideCells / 2) return true;
  const auto now = Clock::now();
  if (ring.waiting_since == Clock::time_point{}) ring.waiting_since = now;
  return now - ring.waiting_since >= kPatience;
}

bool Source::drain_ring(trace::Writer& writer, uint32_t index, bool everything) {
  const uint32_t state = header_.slot_state[index].load(std::memory_order_acquire);
  if (!record::has_memory(header_, index)) return false;
  Slot& slot = slot_page(index)->slot;
  Ring& ring = this->ring(index);
  uint64_t head = slot.head.load(std::memory_order_acquire);
  if (!worth_reading(ring, slot, head, state, everything)) return false;
  ring.waiting_since = {};

  classes_.update(header_.registry);
  const bool read = ring.position != head;
  while (ring.position < head) {
    if (ring.decoded == ring.position) decode_next(ring, slot, index, head);
    write_decoded(writer, ring);
    slot.tail.store(ring.position, std::memory_order_release);
    wake_blocked(header_);
  }
  if (state == static_cast<uint32_t>(SlotState::Retired)) {
    drain_side(writer, ring, index);
    take_slot_losses(slot, ring.decoder.track());
    if (const auto cost = costs_.find(ring.decoder.track()); cost != costs_.end()) {
      new_costs_.push_back(cost->second);
      costs_.erase(cost);
    }
    tracks_.erase(ring.decoder.track());
    flush_catalog(writer);
    header_.retired_slots.fetch_sub(1, std::memory_order_relaxed);
    header_.slot_state[index].store(static_cast<uint32_t>(SlotState::Free), std::memory_order_release);
    wake_blocked(header_);
    return true;
  }
  return read;
}

void Source::decode_next(Ring& ring, Slot& slot, uint32_t index, uint64_t& head) {
  const record::Cell* cells =
      reinterpret_cast<const record::Cell*>(reinterpret_cast<char*>(slot_page(index)) + record::kPage);
  const uint64_t mask = geometry_.ring_cells - 1, capacity = geometry_.ring_cells, block = capacity / record::kBlocks;
  const bool overwrite =
      header_.policy.load(std::memory_order_relaxed) == static_cast<uint32_t>(record::RingPolicy::Overwrite);
  if (!overwrite) {
    if (head - ring.position > capacity) {  // a damaged slot: no thread can be this far ahead
      ring.decoder.lose_cells(head - ring.position, slot.tid.load(), "");
      ring.position = head;
    }
    // A large ring is read in pieces that end at a block's end: no record crosses it.
    const uint64_t cut = std::max((ring.position + kMostCells) / block, ring.position / block + 1) * block;
    ring.decoded = ring.decoder.decode(cells, mask, ring.position, std::min(head, cut));
    account(ring, ring.decoded - ring.position);
    return;
  }
  // Copies the cells first, then reads how far the thread has moved. Cells that it may have overwritten meanwhile are
  // not used. If the thread has overwritten all of them, because this thread did not get CPU time, a shorter and newer
  // piece is tried.
  if (copy_.size() != capacity) copy_ = std::vector<record::Cell>(capacity);
  uint64_t from = ring.position, safe = 0;
  for (unsigned attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (attempt != 0) head = slot.head.load(std::memory_order_acquire);
    const uint64_t most = capacity >> std::min(attempt, 2u);
    if (head - from > most) from = (head - most + block - 1) / block * block;
    for (uint64_t at = from; at < head; ++at) {
      copy_[at & mask].time.store(cells[at & mask].time.load(std::memory_order_acquire), std::memory_order_relaxed);
      copy_[at & mask].word.store(cells[at & mask].word.load(std::memory_order_acquire), std::memory_order_relaxed);
    }
    const uint64_t reached = (slot.head.load(std::memory_order_acquire) / block + 1) * block;
    safe = reached > capacity ? reached - capacity : 0;
    if (safe < head) break;
  }
  const uint64_t good = std::max(from, std::min(safe, head));
  if (good > ring.position) {
    ring.decoder.lose_cells(good - ring.position, slot.tid.load(),
                            std::string(slot.name, std::min<size_t>(slot.name_length, sizeof slot.name)));
    ring.position = good;
  }
  ring.decoded = ring.decoder.decode(copy_.data(), mask, ring.position, head);
  account(ring, ring.decoded - ring.position);
}

void Source::account(const Ring& ring, uint64_t cells) {
  trace::Cost& cost = costs_[ring.decoder.track()];
  cost.track = ring.decoder.track();
  cost.events += cells;
  cost.picoseconds_per_event = costs_[0].picoseconds_per_event;
  cost.blocked_ns = header_.ticks_per_second != 0 ? ring.decoder.blocked_ticks() * 1000 /
                                                        std::max<uint64_t>(header_.ticks_per_second / 1'000'000, 1)
                                                  : 0;
}

void Source::flush_clocks(trace::Writer& writer) {
  for (QueueClock& clock : queue_clocks_.all()) {
    trace::ClockDomain news;
    if (!clock.changes(news)) continue;
    news.boot_id = origin_.boot_id;
    writer.clock(id_, news);
    clock.told();
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
  };
  for (const uint32_t id : batch.ranges.class_id) state(id);
  for (const uint32_t id : batch.points.class_id) state(id);
  for (const auto* open : {&batch.opening, &batch.closing})
    for (const trace::OpenRange& range : *open) state(range.class_id);
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

void Source::write_decoded(trace::Writer& writer, Ring& ring) {
  const trace::EventBatch& batch = ring.decoder.batch();
  const bool new_track = ring.decoder.track_changed();
  if (trace::Track track; ring.decoder.take_changed_track(track)) {
    if (track.kind == trace::TrackKind::Thread)
      track.clock = kClockId;
    else if (!tracks_.contains(track.id))
      ++queues_;
    tracks_[track.id] = track;
    new_tracks_.push_back(track);
  }
  keep_losses(ring.decoder.take_losses());
  state_classes(batch);
  flush_catalog(writer);
  // Written also if it only states the open ranges or the owner of the ring: recovery uses the last chunk of a ring.
  if (ring.decoder.batch_has_events() || new_track || batch.opening != batch.closing) write_events(writer, batch);
  ring.position = ring.decoded;
}

void Source::write_events(trace::Writer& writer, const trace::EventBatch& batch) {
  const uint64_t count = batch.ranges.size() + batch.points.size();
  try {
    writer.events(id_, batch);
    events_ += count;
  } catch (const InvalidArgument& error) {
    // No chunk can hold it, now or later. Only these events are lost.
    keep_losses({{trace::LossCause::WriteFailed, batch.track, count, 0, 0, error.what()}});
  }
}

// Reads the side buffer of a thread that will not move it into its ring any more.
void Source::drain_side(trace::Writer& writer, Ring& ring, uint32_t index) {
  record::SlotPage& page = *slot_page(index);
  const uint32_t count = std::min(page.slot.side_count.load(std::memory_order_acquire), record::kSideCells);
  if (count == 0 && page.slot.lost_ends == 0) return;
  ring.decoder.decode_aside(page.side, count, page.slot.lost_ends, ring.position);
  write_decoded(writer, ring);
  page.slot.side_count.store(0, std::memory_order_release);
  page.slot.lost_ends = 0;
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
    add("events", now.events - before.events);
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
  keep_unknown_ends();
  costs_[0].collector_cpu_ns = collector_cpu_ns;
  note(writer);
  state_interfaces(writer);
  writer.ending(id_, ending_now());
}

}  // namespace kymo::collect
