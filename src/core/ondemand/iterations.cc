#include "ondemand/iterations.h"

#include "base/clock.h"
#include "base/iteration_name.h"
#include "kymo/annotate.h"
#include "kymo/ondemand.h"
#include "kymo/sink_calls.h"
#include "ondemand/own_file.h"
#include "record/process.h"

namespace kymo::ondemand {
namespace {

constinit Iterations stepped, seen;

// Marks have the times of another clock.
constexpr uint64_t kClockErrorNs = 200;

// If ranges with several such names are nested, only those with the first name that was seen count.
constinit std::atomic<uint64_t> counted_name{0};
constinit std::atomic<uint32_t> optimizers_before{0};

uint64_t name_hash(std::string_view name) noexcept {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash | 1;
}

void note_range(const kymo_label* label) noexcept {
  const std::string_view name(label->name, label->name_length);
  if (!base::may_begin_iteration(name)) return;
  // A name that contains its number ("step 7", not "step {}") is different each time: only the part before the number
  // counts.
  const uint64_t hash =
      name_hash(base::names_optimizer_step(name) ? name : name.substr(0, name.find_first_of("0123456789{#")));
  // Iterations may have another name too, which is better: theirs is the whole iteration.
  constexpr uint32_t kOptimizersBefore = 3;
  uint64_t nobody = 0;
  if (base::names_optimizer_step(name) && counted_name.load(std::memory_order_relaxed) == nobody &&
      optimizers_before.fetch_add(1, std::memory_order_relaxed) < kOptimizersBefore)
    return;
  if (counted_name.compare_exchange_strong(nobody, hash, std::memory_order_relaxed) || nobody == hash) seen.begin_one();
}

constexpr kymo_sink range_sink() noexcept {
  kymo_sink sink{};
  sink.name = "iterations";
  sink.range_push = [](const char*, const kymo_label* label) { note_range(label); };
  sink.range_start = [](const char*, const kymo_label* label, uint64_t) { note_range(label); };
  sink.listens = [](kymo_sink_interest interest) {
    return static_cast<int>(interest == KYMO_SINK_NESTED || interest == KYMO_SINK_STARTED);
  };
  return sink;
}
constinit const kymo_sink the_range_sink = range_sink();

}  // namespace

void Iterations::begins(uint64_t number) noexcept {
  if (number != from_.load(std::memory_order_acquire)) return;
  from_ns_.store(base::monotonic_ns(), std::memory_order_release);
  wake_agent();
}

void Iterations::has_begun(uint64_t number) noexcept {
  if (number != to_.load(std::memory_order_acquire)) return;
  to_ns_.store(base::monotonic_ns() + kClockErrorNs, std::memory_order_release);
  wake_agent();
}

bool Iterations::wait_for(uint64_t from, uint64_t to) noexcept {
  from_ns_.store(0, std::memory_order_relaxed);
  to_ns_.store(0, std::memory_order_relaxed);
  from_.store(from, std::memory_order_relaxed);
  to_.store(to, std::memory_order_release);
  armed_.store(from, std::memory_order_seq_cst);
  // An iteration that began at the same time may have missed it.
  if (started_.load(std::memory_order_seq_cst) <= from || from_ns() != 0) return true;
  wait_no_more();
  return false;
}

void Iterations::wait_no_more() noexcept {
  armed_.store(kNone, std::memory_order_release);
  from_.store(kNone, std::memory_order_relaxed);
  to_.store(kNone, std::memory_order_relaxed);
}

void Iterations::restart() noexcept { started_.store(0, std::memory_order_relaxed); }

Iterations& stepped_iterations() noexcept { return stepped; }
Iterations& seen_iterations() noexcept { return seen; }

bool watch_ranges() noexcept {
  seen.restart();
  counted_name.store(0, std::memory_order_relaxed);
  optimizers_before.store(0, std::memory_order_relaxed);
  if (kymo_add_sink(&the_range_sink) == 0) return false;
  record::watch_ranges(note_range);
  return true;
}

void stop_watching_ranges() noexcept {
  record::watch_ranges(nullptr);
  kymo_remove_sink(&the_range_sink);
}

uint64_t first_iteration(uint64_t next, uint64_t roundup) noexcept {
  if (roundup <= 1) return next;
  const uint64_t over = next % roundup;
  return over == 0 ? next : next + (roundup - over);
}

}  // namespace kymo::ondemand

namespace kymo {
void step() noexcept {
  ondemand::stepped.begin_one([](uint64_t number) { mark(Label("step {}", "kymo"), number); });
}
uint64_t steps() noexcept { return ondemand::stepped.started(); }
}  // namespace kymo
