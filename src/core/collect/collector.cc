#include "collect/collector.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "base/text.h"
#include "collect/unrecorded.h"
#include "kymo/error.h"
#include "record/process.h"

namespace kymo::collect {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kShortestNap = 200us, kLongestNap = 20ms, kNapAmongMany = 1ms;
constexpr auto kDiscoverEvery = 20ms;
constexpr auto kNoteEvery = 1s;
constexpr auto kRetryAfter = 100ms;  // after a failed write to the file

void sleep_on(record::SegmentHeader& header, uint32_t seen, std::chrono::nanoseconds at_most) {
  const timespec timeout{0, static_cast<long>(at_most.count())};
  header.collector_sleeps.store(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &header.wake, FUTEX_WAIT, seen, &timeout, nullptr, 0);
  header.collector_sleeps.store(0, std::memory_order_relaxed);
}

}  // namespace

Collector::Collector(std::unique_ptr<Output> output, Discover discover)
    : output_(std::move(output)), discover_(std::move(discover)) {}

Collector::~Collector() {
  try {
    stop();
  } catch (...) {  // a caller that needs the error calls stop()
  }
}

void Collector::add(std::unique_ptr<Source> source) {
  sources_.push_back(std::move(source));
  if (output_->is_flight()) sources_.back()->introduce(output_->file());
  sources_.back()->introduce(output_->writer());
}

void Collector::announce(const trace::WriterId& session) {
  trace::Origin origin;
  origin.session = session.hex();
  origin.announces_ending = 1;
  output_->file().origin(session, origin);
  announced_ = session;
}

void Collector::add_refused(uint64_t pid, const std::string& why) {
  write_unrecorded(output_->writer(), {output_->session(), pid, 0, why});
  ++removed_lost_;
  ++removed_;
}

void Collector::add_unreadable(const std::string& segment) {
  if (!announced_) return;
  const trace::Loss loss{trace::LossCause::Unrecorded,
                         0,
                         1,
                         0,
                         0,
                         base::format("its shared memory {} was cut short by somebody before it was read", segment)};
  output_->file().losses(*announced_, {&loss, 1});
  ++removed_lost_;
  ++removed_;
}

void Collector::remove(Source& source) {
  source.drain(output_->writer(), true);
  source.finish(output_->writer(), base::clock_ns(CLOCK_THREAD_CPUTIME_ID));
  // At its end, a flight recorder may have discarded all other data of this source.
  if (output_->is_flight()) output_->file().ending(source.id(), source.ending_now());
  removed_events_ += source.events();
  removed_lost_ += source.lost();
  removed_threads_ += source.threads();
  removed_unfinished_ += source.unfinished();
  ++removed_;
  sources_.remove_if([&](const auto& held) { return held.get() == &source; });
}

void Collector::start() {
  try {
    thread_ = base::quiet_thread("kymo-collector", [this] { run(); });
  } catch (const std::system_error& error) {
    throw NotAvailable(base::format("no thread for the collector: {}; raise the limit on processes (ulimit -u)",
                                    error.code().message()));
  }
}

bool Collector::pass(bool everything) {
  bool read = false;
  for (auto& source : sources_) {
    read |= source->drain(output_->writer(), everything);
    restate_if_truncated();
  }
  write_companion();
  return read;
}

void Collector::write_companion() {
  Companion* const companion = companion_.load(std::memory_order_acquire);
  if (companion == nullptr) return;
  companion->write(output_->writer());
  restate_if_truncated();
}

// What the companion has not written yet refers to what it stated in the file that ends now.
void Collector::rotate() {
  if (Companion* const companion = companion_.load(std::memory_order_acquire)) companion->end_file(output_->writer());
  output_->rotate();
  for (auto& source : sources_) source->introduce(output_->writer());
}

void Collector::wait(uint32_t seen) {
  if (sources_.empty()) {
    std::this_thread::sleep_for(2ms);
    return;
  }
  // The thread can sleep on only one futex. With more than one process, the sleep is short, so the others do not wait
  // long.
  sleep_on(sources_.front()->header(), seen, sources_.size() == 1 ? nap_ : std::min(nap_, kNapAmongMany));
  // A ring should be read when it is a quarter full, because that is enough for a chunk. It must be read before it is
  // half full, because then its thread wakes us, and that costs the thread a system call.
  double fullest = 0;
  for (const auto& source : sources_) fullest = std::max(fullest, source->fullest());
  if (fullest > 3.0 / 8) nap_ = std::max(nap_ / 2, kShortestNap);
  if (fullest < 1.0 / 8) nap_ = std::min(nap_ * 2, kLongestNap);
}

void Collector::run() {
  record::forbid_recording_on_this_thread();
  auto last_discovery = Clock::time_point{}, last_note = Clock::now();
  while (!stopping_.load(std::memory_order_acquire)) {
    const uint32_t seen = sources_.empty() ? 0 : sources_.front()->header().wake.load(std::memory_order_acquire);
    bool read = false;
    try {
      const auto now = Clock::now();
      if (discover_ && now - last_discovery >= kDiscoverEvery) {
        discover_(*this, false);
        last_discovery = now;
      }
      answer_copies();
      answer_window();
      for (auto& source : sources_)
        if (source->is_own()) source->saw_alive();
      read = pass(false);
      output_->copy_on();
      if (now - last_note >= kNoteEvery) {
        last_note = now;
        for (auto& source : sources_) source->note(output_->writer());
      }
      if (output_->is_rotation_due()) rotate();
      answer_dumps();
      answer_flush();
      failure_ = nullptr;
    } catch (const std::exception&) {
      failure_ = std::current_exception();
      answer_dumps();
      answer_flush();
    }
    try {
      update_progress();
    } catch (const std::bad_alloc&) {  // a program at its memory limit
      if (!failure_) failure_ = std::current_exception();
    }
    if (failure_)
      std::this_thread::sleep_for(kRetryAfter);
    else if (!read)
      wait(seen);
  }
  cpu_ns_ = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

// Someone truncated the file: it has lost the names and the events that use them. After this, the rest can be read
// again.
void Collector::restate_if_truncated() {
  const uint64_t bytes = output_->writer().take_truncated_bytes();
  if (bytes == 0) return;
  was_truncated_ = true;
  if (announced_) announce(*announced_);
  for (auto& source : sources_) source->introduce(output_->writer());
  if (Companion* const companion = companion_.load(std::memory_order_acquire)) companion->restate();
  for (auto& source : sources_)
    if (stated_ && !output_->is_flight()) output_->writer().window(source->id(), *stated_);
  if (!announced_ && sources_.empty()) return;
  const trace::Loss loss{trace::LossCause::Truncated, 0, bytes, 0, 0, ""};
  output_->writer().losses(announced_ ? *announced_ : sources_.front()->id(), {&loss, 1});
  ++removed_lost_;
}

void Collector::complete() {
  if (discover_) discover_(*this, true);
  if (forget_flight_) output_->forget_flight();
  answer_window();
  for (auto& source : sources_)
    if (source->is_own()) source->saw_alive();
  pass(true);
  for (auto& source : sources_) source->finish(output_->writer(), cpu_ns_);
  restate_if_truncated();
  if (announced_) output_->file().ending(*announced_, {});
  failure_ = nullptr;
  update_progress();
  output_->close();
  for (auto& source : sources_) source->header().closed.store(1, std::memory_order_release);
  complete_ = true;
}

void Collector::stop() {
  if (thread_.joinable()) {
    stopping_.store(true, std::memory_order_release);
    thread_.join();
    leave_unanswered();
    for (auto& source : sources_) source->header().collector_attached.store(0, std::memory_order_release);
  }
  if (!complete_) complete();
}

void Collector::update_progress() {
  Progress now;
  now.processes = removed_ + sources_.size();
  now.live_processes = sources_.size();
  now.events = removed_events_;
  now.lost = removed_lost_;
  now.threads = removed_threads_;
  now.unfinished = removed_unfinished_;
  for (const auto& source : sources_) {
    now.events += source->events();
    now.lost += source->lost();
    now.threads += source->threads();
    now.unfinished += source->unfinished();
  }
  now.bytes = output_->bytes();
  now.is_truncated = was_truncated_;
  now.file = output_->end_path();
  if (failure_) {
    try {
      std::rethrow_exception(failure_);
    } catch (const std::exception& error) {
      now.error = error.what();
    }
  }
  const std::lock_guard lock(mutex_);
  progress_ = std::move(now);
}

Progress Collector::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

}  // namespace kymo::collect
