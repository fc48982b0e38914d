#include "collect/collector.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "base/text.h"
#include "kymo/error.h"
#include "record/process.h"
#include "trace/model.h"

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

void write_loss(trace::Writer& file, const trace::WriterId& writer, trace::LossCause cause, std::string detail) {
  const trace::Loss loss{cause, 0, 1, 0, 0, std::move(detail)};
  file.losses(writer, {&loss, 1});
}

}  // namespace

void write_unrecorded(trace::Writer& file, const Unrecorded& process) {
  const trace::WriterId writer = trace::random_writer_id();
  trace::Origin origin;
  origin.session = process.session;
  origin.pid = process.pid;
  origin.parent_pid = process.parent_pid;
  file.origin(writer, origin);
  write_loss(file, writer, trace::LossCause::Unrecorded,
             base::format("process {} could not record: {}", process.pid, process.why));
}

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
  for (auto& source : sources_) read |= source->drain(output_->writer(), everything);
  write_companions();
  return read;
}

void Collector::accompany(Companion& companion) {
  for (auto& place : companions_) {
    Companion* nobody = nullptr;
    if (place.compare_exchange_strong(nobody, &companion, std::memory_order_acq_rel)) return;
  }
}

template <class Visit>
void Collector::each_companion(Visit visit) {
  for (auto& place : companions_)
    if (Companion* const companion = place.load(std::memory_order_acquire)) visit(*companion);
}

void Collector::write_companions() {
  each_companion([this](Companion& one) { one.write(output_->writer()); });
}

// What the companion has not written yet refers to what it stated in the file that ends now.
void Collector::rotate() {
  each_companion([this](Companion& one) { one.end_file(output_->writer()); });
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

void Collector::complete() {
  if (discover_) discover_(*this, true);
  if (forget_flight_) output_->forget_flight();
  answer_window();
  for (auto& source : sources_)
    if (source->is_own()) source->saw_alive();
  pass(true);
  for (auto& source : sources_) source->finish(output_->writer(), cpu_ns_);
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

// ---- What other threads request: dumps and copies of a flight recorder, windows, flushes ---------------------------

// Also reads processes that started or ended since the last search. Also writes a clock pair of now: with a clock of
// unknown rate, a reader can convert only times between two pairs.
void Collector::read_all() {
  if (discover_) discover_(*this, false);
  pass(true);
  for (auto& source : sources_) source->note(output_->writer());
}

Output::Endings Collector::endings() const {
  Output::Endings all;
  for (const auto& source : sources_) all.emplace_back(source->id(), source->ending_now());
  return all;
}

// Waits for the answer. Throws if the work failed.
void Collector::ask(std::unique_lock<std::mutex>& lock, Request& request) {
  refuse_when_ended();
  request = {true};
  answered_.wait(lock, [&] { return !request.is_asked; });
  if (request.error) std::rethrow_exception(std::exchange(request.error, nullptr));
}

// Does what was asked for, if something was. Needs the mutex.
template <class Work>
void Collector::answer(Request& request, Work work) {
  if (!request.is_asked) return;
  try {
    work();
  } catch (const std::exception&) {
    request.error = std::current_exception();
  }
  request.is_asked = false;
  answered_.notify_all();
}

void Collector::answer_dumps() {
  if (dump_soon_ != nullptr && dump_soon_->exchange(false)) {
    try {
      read_all();
      output_->dump(output_->path(), endings());
    } catch (const std::exception&) {  // nobody waits for this dump; the flight recorder keeps its data
    }
  }
  const std::lock_guard lock(mutex_);
  answer(dump_, [this] {
    read_all();
    output_->dump(dump_path_, endings());
  });
}

void Collector::leave_unanswered() {
  const std::lock_guard lock(mutex_);
  const auto ended = std::make_exception_ptr(Error("the recording has ended meanwhile"));
  for (Request* request : {&dump_, &copy_end_, &flush_})
    if (std::exchange(request->is_asked, false)) request->error = ended;
  ended_ = true;
  answered_.notify_all();
}

void Collector::answer_copies() {
  const std::lock_guard lock(mutex_);
  if (copy_asked_) output_->begin_copy(copy_asked_->path, copy_asked_->from);
  copy_asked_.reset();
  answer(copy_end_, [this] {
    write_window();
    read_all();
    output_->end_copy(endings());
  });
}

void Collector::state_window(const trace::Window& window, uint64_t late_ns) {
  const std::lock_guard lock(mutex_);
  if (window_asked_) late_ns = std::max(late_ns, window_asked_->late_ns);
  window_asked_ = WindowAsked{window, late_ns};
}

void Collector::answer_window() {
  const std::lock_guard lock(mutex_);
  write_window();
}

// Needs the mutex. A request that fails stays pending for the next pass.
void Collector::write_window() {
  if (!window_asked_) return;
  const trace::Window window = window_asked_->window;
  const uint64_t late_ns = window_asked_->late_ns;
  std::vector<trace::WriterId> writers;
  for (const auto& source : sources_) writers.push_back(source->id());
  output_->add_to_file([&](trace::Writer& file) {
    for (const trace::WriterId& writer : writers) {
      file.window(writer, window);
      if (late_ns == 0) continue;
      write_loss(file, writer, trace::LossCause::LateStart,
                 base::format("recording began {:.3f} ms after the start that was asked for",
                              static_cast<double>(late_ns) / 1e6));
    }
  });
  window_asked_.reset();
}

void Collector::begin_copy(const std::string& path) {
  const std::lock_guard lock(mutex_);
  refuse_when_ended();
  copy_asked_ = CopyAsked{path, std::chrono::steady_clock::now()};
}

void Collector::end_copy() {
  std::unique_lock lock(mutex_);
  ask(lock, copy_end_);
}

void Collector::dump(const std::string& path) {
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [this] { return !dump_.is_asked; });
  dump_path_ = path;
  ask(lock, dump_);
}

void Collector::flush() {
  std::unique_lock lock(mutex_);
  ask(lock, flush_);
}

void Collector::answer_flush() {
  const std::lock_guard lock(mutex_);
  answer(flush_, [this] {
    read_all();
    output_->writer().index();
  });
}

void Collector::refuse_when_ended() const {
  if (ended_) throw Error("the recording has ended meanwhile");
}

}  // namespace kymo::collect
