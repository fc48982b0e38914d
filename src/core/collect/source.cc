#include "collect/source.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/environment.h"
#include "base/host.h"
#include "base/text.h"
#include "base/version.h"
#include "collect/options.h"
#include "kymo/error.h"
#include "record/clock.h"
#include "trace/clock.h"
#include "trace/read_if_whole.h"

namespace kymo::collect {
namespace {

using record::Slot;
using record::SlotState;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kRestateEvery = 60;   // notes: a damaged chunk of classes costs at most a minute of data
constexpr uint64_t kMaxCells = 1 << 16;  // in one chunk
constexpr auto kMaxDelay = std::chrono::milliseconds(500);  // how long a few records may wait for more
constexpr unsigned kMaxAttempts = 16;                       // to copy from a ring while its thread overtakes us

// The cost of storing one record here. Nearly all of it is reading the clock. The shortest round counts: this thread
// may have been interrupted in the others.
uint64_t picoseconds_per_record() {
  constexpr int kRounds = 10, kReads = 200;
  uint64_t sum = 0, shortest = UINT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t began = base::monotonic_ns();
    for (int i = 0; i < kReads; ++i) sum += record::ticks();
    shortest = std::min(shortest, base::monotonic_ns() - began);
  }
  return shortest * 1000 / kReads + (sum == 0 ? 1 : 0);
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

void wake_blocked(record::SegmentHeader& header, uint32_t events, int at_most) {
  header.progress.fetch_add(1, std::memory_order_seq_cst);
  if (header.blocked_producers.load(std::memory_order_seq_cst) != 0)
    syscall(SYS_futex, &header.progress, FUTEX_WAKE_BITSET, at_most, nullptr, nullptr, events);
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

void Source::saw_alive() { header_.alive_until.store(record::ticks(), std::memory_order_relaxed); }

trace::Ending Source::ending_now() const { return {header_.alive_until.load(std::memory_order_relaxed)}; }

void Source::finish(trace::Writer& writer, uint64_t collector_cpu_ns) {
  const uint32_t used = std::min(header_.slots_used.load(std::memory_order_acquire), geometry_.slot_capacity);
  for (uint32_t i = 0; i < used; ++i) {
    if (!record::has_memory(header_, i)) continue;
    Ring& ring = this->ring(i);
    drain_side(writer, ring, i);
    open_wait(writer, ring, i);
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

// ---- Reads the rings, and writes their events ----------------------------------------------------------------------

bool Source::drain(trace::Writer& writer, bool everything) {
  if (!introduced_) introduce(writer);
  bool read = false;
  const uint32_t used = std::min(header_.slots_used.load(std::memory_order_acquire), geometry_.slot_capacity);
  for (uint32_t i = 0; i < used; ++i) read |= drain_ring(writer, i, everything);
  return read;
}

double Source::fullest() const {
  uint64_t max = 0;
  const uint32_t used = std::min(header_.slots_used.load(std::memory_order_acquire), geometry_.slot_capacity);
  for (uint32_t i = 0; i < used; ++i) {
    if (!record::has_memory(header_, i)) continue;
    const Slot& slot = slot_page(i)->slot;
    max = std::max(max, slot.head.load(std::memory_order_relaxed) - slot.tail.load(std::memory_order_relaxed));
  }
  return static_cast<double>(max) / geometry_.ring_cells;
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
  return now - ring.waiting_since >= kMaxDelay;
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
  read_until(writer, ring, index, head);
  if (state != static_cast<uint32_t>(SlotState::Retired)) return read;
  free_retired(writer, ring, index);
  return true;
}

void Source::read_until(trace::Writer& writer, Ring& ring, uint32_t index, uint64_t head) {
  Slot& slot = slot_page(index)->slot;
  while (ring.position < head) {
    if (ring.decoded == ring.position) decode_next(ring, slot, index, head);
    write_decoded(writer, ring);
    slot.tail.store(ring.position, std::memory_order_release);
    wake_blocked(header_, record::ring_read(index), INT_MAX);
  }
}

// Reads the rest of a slot and frees it, if no thread has taken it meanwhile. The collector owns the slot while it does
// that.
void Source::free_retired(trace::Writer& writer, Ring& ring, uint32_t index) {
  Slot& slot = slot_page(index)->slot;
  std::atomic<uint32_t>& state = header_.slot_state[index];
  auto expected = static_cast<uint32_t>(SlotState::Retired);
  if (!state.compare_exchange_strong(expected, static_cast<uint32_t>(SlotState::Live))) return;
  try {
    read_until(writer, ring, index, slot.head.load(std::memory_order_acquire));
    drain_side(writer, ring, index);
    take_slot_losses(slot, ring.decoder.track());
    end_track(ring.decoder.track());
    flush_catalog(writer);
  } catch (...) {  // the next pass tries again
    state.store(static_cast<uint32_t>(SlotState::Retired), std::memory_order_release);
    throw;
  }
  header_.retired_slots.fetch_sub(1, std::memory_order_relaxed);
  state.store(static_cast<uint32_t>(SlotState::Free), std::memory_order_release);
  wake_blocked(header_, record::kSlotFreed, 1);
}

void Source::end_track(uint32_t track) {
  if (track == 0) return;  // nothing was read of it
  if (const auto cost = costs_.find(track); cost != costs_.end()) {
    new_costs_.push_back(cost->second);
    costs_.erase(cost);
  }
  tracks_.erase(track);
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
    const uint64_t cut = std::max((ring.position + kMaxCells) / block, ring.position / block + 1) * block;
    ring.decoded = ring.decoder.decode(cells, mask, ring.position, std::min(head, cut));
    account(ring, ring.decoded - ring.position);
    return;
  }
  // Copies the cells first, then reads how far the thread has moved. Cells that it may have overwritten meanwhile are
  // not used. If the thread has overwritten all of them, because this thread did not get CPU time, a shorter and newer
  // piece is tried.
  if (copy_.size() != capacity) copy_ = std::vector<record::Cell>(capacity);
  uint64_t from = ring.position, safe = 0;
  for (unsigned attempt = 0; attempt < kMaxAttempts; ++attempt) {
    if (attempt != 0) head = slot.head.load(std::memory_order_acquire);
    const uint64_t max = capacity >> std::min(attempt, 2u);
    if (head - from > max) from = (head - max + block - 1) / block * block;
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
  if (ring.decoder.blocked_ticks() == 0) return;
  trace::ClockDomain clock = clock_;
  clock.pairs.push_back(record::read_pair());
  cost.blocked_ns = trace::clock_map(clock).duration_ns(ring.decoder.blocked_ticks());
}

void Source::write_decoded(trace::Writer& writer, Ring& ring) {
  const trace::EventBatch& batch = ring.decoder.batch();
  if (ring.owner != ring.decoder.track()) end_track(ring.owner);
  ring.owner = ring.decoder.track();
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
    count_interfaces(batch);
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

// The thread may go on meanwhile: then what was read of its wait may be of two waits, and is of none.
void Source::open_wait(trace::Writer& writer, Ring& ring, uint32_t index) {
  const Slot& slot = slot_page(index)->slot;
  const uint32_t class_id = slot.wait_class.load(std::memory_order_acquire);
  const uint64_t start = slot.wait_start.load(std::memory_order_relaxed);
  std::vector<uint64_t> words{slot.wait_object.load(std::memory_order_relaxed),
                              slot.wait_node.load(std::memory_order_relaxed),
                              slot.wait_holder.load(std::memory_order_relaxed)};
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool is_live =
      header_.slot_state[index].load(std::memory_order_relaxed) == static_cast<uint32_t>(SlotState::Live);
  if (class_id == 0 || !is_live || slot.wait_class.load(std::memory_order_relaxed) != class_id ||
      slot.wait_start.load(std::memory_order_relaxed) != start || ring.decoder.track() == 0)
    return;
  classes_.update(header_.registry);
  if (classes_.find(class_id) == nullptr) return;
  ring.decoder.open_wait(class_id, start, std::move(words), ring.position);
  write_decoded(writer, ring);
}

// ---- Describes the process: by its segment, which outlives it, and by /proc while it runs --------------------------

namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> split_at_nul(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const size_t end = text.find('\0');
    pieces.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return pieces;
}

// NAME=VALUE each. A segment has none of them if its command line is long, or if an earlier version made it.
std::vector<std::string> variables_of(const record::SegmentHeader& header, uint32_t begin) {
  std::string_view stored(header.origin + begin, record::kOriginBytes - begin);
  stored = stored.substr(0, stored.find(std::string_view("\0", 2)));
  if (stored.starts_with('\0')) stored = {};
  if (!stored.empty()) return split_at_nul(stored);
  return split_at_nul(read_text("/proc/" + std::to_string(header.pid) + "/environ"));
}

std::string processor_name() {
  const std::string text = read_text("/proc/cpuinfo");
  for (const std::string_view key : {"model name", "CPU part"}) {
    const size_t at = text.find(key);
    if (at == std::string::npos) continue;
    const size_t begin = text.find(": ", at), end = text.find('\n', at);
    if (begin == std::string::npos || begin > end) continue;
    const std::string name = text.substr(begin + 2, end - begin - 2);
    return key == "CPU part" ? "ARM part " + name : name;
  }
  return {};
}

}  // namespace

trace::Origin origin_of(const record::SegmentHeader& header) {
  trace::Origin origin;
  origin.session = base::hex(header.session);
  origin.pid = header.pid;
  origin.parent_pid = header.parent_pid;
  origin.start_realtime_ns = header.start_realtime_ns;
  origin.policy = policy_name(static_cast<Policy>(header.policy.load(std::memory_order_relaxed)));
  origin.kymo_version = base::kVersion;
  const uint32_t bytes = std::min(header.origin_bytes, record::kOriginBytes);
  auto pieces = split_at_nul(std::string_view(header.origin, bytes));
  if (!pieces.empty()) {
    origin.executable = pieces.front();
    pieces.erase(pieces.begin());
  }
  origin.command_line = std::move(pieces);
  origin.host = base::host_name();
  utsname system;
  if (uname(&system) == 0) {
    origin.metadata.emplace_back("system", std::string(system.sysname) + " " + system.release + " " + system.machine);
  }
  origin.boot_id = base::boot_id();
  if (auto name = processor_name(); !name.empty()) origin.metadata.emplace_back("processor", name);
  origin.metadata.emplace_back("processors", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
  for (const std::string& variable : variables_of(header, bytes)) {
    if (!base::describes_run(variable)) continue;
    const size_t equals = variable.find('=');
    origin.metadata.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return origin;
}

// ---- What a trace already has of a process -------------------------------------------------------------------------

namespace {

// For the last track that owned the ring. Ranges above the limit are possible only if the open ranges are near the
// limit.
uint64_t beyond_limit(const trace::Reader& reader, const trace::EventChunk& last,
                      const std::vector<trace::OpenRange>& open) {
  size_t bytes = 0;
  for (const trace::OpenRange& range : open)
    bytes += range.ints.size() * 10 + range.doubles.size() * 8 + range.text.size();
  if (open.size() < RingDecoder::kMaxNested && bytes < RingDecoder::kMaxNestedValueBytes / 4) return 0;
  const std::vector<trace::EventChunk>& chunks = reader.event_chunks();
  for (size_t i = chunks.size(); i-- > 0;) {
    const trace::EventChunk& chunk = chunks[i];
    if (chunk.writer != last.writer || chunk.ring != last.ring || chunk.track != last.track) continue;
    trace::EventBatch batch;
    if (!trace::read_if_whole(reader, chunk, batch, trace::kPoints)) continue;
    if (const auto count = RingDecoder::beyond_limit_after(batch.points, chunk.track)) return *count;
  }
  return 0;
}

}  // namespace

Resume resume_of(const trace::Reader& reader, const trace::WriterId& writer) {
  Resume state;
  std::map<uint32_t, const trace::EventChunk*> last;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    if (chunk.writer != writer) continue;
    const auto [at, fresh] = last.emplace(chunk.ring, &chunk);
    if (!fresh && chunk.sequence_end >= at->second->sequence_end) at->second = &chunk;
  }
  const auto found = reader.writers().find(writer);
  if (found == reader.writers().end()) return state;
  const trace::WriterInfo& known = found->second;
  for (const auto& [ring, chunk] : last) {
    trace::EventBatch batch;
    try {
      reader.read(*chunk, batch, trace::kOpenStacks);
    } catch (const Error&) {  // damaged: the ranges that were open in it have lost their starts
    }
    trace::Track track;
    const auto described = known.tracks.find(chunk->track);
    const bool is_described = described != known.tracks.end();
    if (is_described) track = described->second;
    track.id = chunk->track;
    const uint64_t beyond = beyond_limit(reader, *chunk, batch.closing);
    state.next_track = std::max(state.next_track, chunk->track + 1);
    state.rings[ring] = {chunk->sequence_end, std::move(track), is_described, std::move(batch.closing), beyond};
  }
  state.clocks = known.clocks;
  if (!known.tracks.empty()) state.next_track = std::max(state.next_track, known.tracks.rbegin()->first + 1);
  return state;
}

}  // namespace kymo::collect
