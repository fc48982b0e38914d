#include "ondemand/job.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/clock.h"
#include "base/environment.h"
#include "base/quiet_thread.h"
#include "base/text.h"
#include "ondemand/own_file.h"
#include "ondemand/recorder.h"
#include "record/process.h"

namespace kymo::ondemand {
namespace {

using wire::RequestState;

constexpr uint64_t kMillisecond = 1'000'000, kSecond = 1'000 * kMillisecond;
// Recording is on this long before a given start: a host with many processes and few cores needs it.
constexpr uint64_t kLead = 2 * kSecond;
constexpr size_t kRingBytes = 256 << 10;
constexpr uint64_t kIterationTimeout = 300 * kSecond;    // for a first iteration
constexpr uint64_t kTimeoutBeforeInstead = 2 * kSecond;  // if there is an alternative

SessionOptions job_session_options() {
  SessionOptions options = requested_session_options();
  // A smaller ring is ready sooner, and the collector is woken before it is full.
  if (base::environment("KYMO_RING_BYTES") == nullptr) options.ring_bytes = kRingBytes;
  return options;
}

// The work of this thread is never recorded.
template <class Body>
std::thread job_thread(const char* name, Body body) {
  return base::quiet_thread(name, [body] {
    record::forbid_recording_on_this_thread();
    body();
  });
}

}  // namespace

// A process that was stopped gets its request late. If the clock was set meanwhile, the request seems to be from the
// future: then it counts from its arrival.
Job::Job(JobRequest request) : request_(std::move(request)), arrived_ns_(base::monotonic_ns()), asked_ns_(arrived_ns_) {
  const uint64_t now = base::realtime_ns();
  if (request_.asked_at_ns != 0 && request_.asked_at_ns < now)
    asked_ns_ -= std::min(asked_ns_, now - request_.asked_at_ns);
  try {
    begin();
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

Job::~Job() {
  close_down();
  if (writer_.joinable()) writer_.join();
}

void Job::begin() {
  if (request_.kind == JobKind::Memory) check_memory_name(request_.output);
  file_.emplace(request_.output, request_.allowed, request_.existing);
  if (request_.kind == JobKind::Last) {
    require_flight();
    to_ns_ = arrived_ns_;
    from_ns_ = to_ns_ - std::min(request_.last_ns, to_ns_);
    return write_in_thread();
  }
  all_clients().prepare(request_.flags);
  if (request_.duration_ns == 0) return await_iteration();
  step_ = Step::AwaitTime;
  advance_time(arrived_ns_);
}

// ---- By time

uint64_t Job::start_monotonic_ns() const {
  // Reads both clocks now: the time of day may be set while the job waits. Takes the closest of a few readings, because
  // the thread may be interrupted between the two clocks.
  constexpr int kReadings = 5;
  int64_t ahead = 0;  // of CLOCK_REALTIME
  uint64_t closest = kNever;
  for (int i = 0; i < kReadings; ++i) {
    const uint64_t before = base::monotonic_ns(), real = base::realtime_ns(), after = base::monotonic_ns();
    if (after - before >= closest) continue;
    closest = after - before;
    ahead = static_cast<int64_t>(real) - static_cast<int64_t>(before + closest / 2);
  }
  const int64_t start = static_cast<int64_t>(request_.start_at_ns) - ahead;
  return start > 0 ? static_cast<uint64_t>(start) : 1;
}

uint64_t Job::due_realtime_ns() const {
  if (step_ != Step::AwaitTime || request_.start_at_ns == 0) return 0;
  return request_.start_at_ns - std::min(request_.start_at_ns - 1, kLead);
}

void Job::advance_time(uint64_t now) {
  if (step_ == Step::AwaitTime) {
    const bool at_once = request_.start_at_ns == 0;
    const uint64_t start = at_once ? now : start_monotonic_ns();
    if (start > now + kLead) return;
    if (!at_once && start + request_.duration_ns <= now) return fail("the requested time is over; request a later one");
    begin_recording();
    from_ns_ = at_once ? began_ns_ : start;
    to_ns_ = from_ns_ + request_.duration_ns;
    state_window(0);
    const int64_t late_ns = static_cast<int64_t>(began_ns_) - static_cast<int64_t>(at_once ? asked_ns_ : start);
    result_.late_ns = std::max<int64_t>(late_ns, 0);
    step_ = Step::AwaitBegin;
    now = base::monotonic_ns();
  }
  if (step_ == Step::AwaitBegin) {
    if (now < from_ns_) return;
    step_ = Step::Record;
    state_ = RequestState::Recording;
  }
  if (now >= to_ns_) end_recording(to_ns_);
}

// ---- By iterations

void Job::await_iteration() {
  step_ = Step::AwaitIteration;
  if (stepped_iterations().started() != 0) {
    iterations_ = &stepped_iterations();
    return arm_iterations();
  }
  watches_ranges_ = watch_ranges();
  stepped_iterations().wait_for(0, kNever - 1);
  if (watches_ranges_) seen_iterations().wait_for(0, kNever - 1);
  next_look_ns_ = arrived_ns_ + (request_.instead_ns != 0 ? kTimeoutBeforeInstead : kIterationTimeout);
}

// Recording is switched on during the iteration before, so that the first iteration is recorded from its start.
void Job::arm_iterations() {
  if (step_ == Step::AwaitIteration) {
    const uint64_t next = std::max(iterations_->started(), request_.start_iteration.value_or(0));
    const uint64_t first = first_iteration(next, request_.iteration_roundup);
    if (first > iterations_->started() && iterations_->wait_for(first - 1, kNever - 1)) return;
    begin_recording();
    step_ = Step::AwaitBegin;
  }
  // The iteration may begin during this search; then use the next one that fits.
  while (true) {
    const uint64_t next = std::max(iterations_->started(), request_.start_iteration.value_or(0));
    const uint64_t first = first_iteration(next, request_.iteration_roundup);
    if (iterations_->wait_for(first, first + request_.iterations)) return;
  }
}

void Job::advance_iterations(uint64_t now) {
  if (iterations_ == nullptr) {
    if (stepped_iterations().from_ns() != 0) iterations_ = &stepped_iterations();
    if (iterations_ == nullptr && watches_ranges_ && seen_iterations().from_ns() != 0) iterations_ = &seen_iterations();
    if (iterations_ != nullptr) {
      next_look_ns_ = kNever;
      return arm_iterations();
    }
    if (now < next_look_ns_) return;
    if (request_.instead_ns == 0)
      return fail("no iteration has started: call kymo::step() in the program's loop, or name a range in it \"step\"");
    request_.duration_ns = request_.instead_ns;
    next_look_ns_ = kNever;
    stepped_iterations().wait_no_more();
    step_ = Step::AwaitTime;
    return advance_time(now);
  }
  if (step_ == Step::AwaitIteration && iterations_->from_ns() != 0) return arm_iterations();
  if (step_ == Step::AwaitBegin && iterations_->from_ns() != 0) {
    from_ns_ = iterations_->from_ns();
    state_window(0);
    step_ = Step::Record;
    state_ = RequestState::Recording;
  }
  if (step_ == Step::Record && iterations_->to_ns() != 0) end_recording(iterations_->to_ns());
}

// ---- Recording

void Job::begin_recording() {
  const bool memory = request_.kind == JobKind::Memory;
  the_recorder().begin(RecorderOwner::Request, file_->part(), job_session_options(), memory || request_.flags.memory);
  if (memory)
    all_clients().start_memory_profile();
  else
    all_clients().start();
  clients_started_ = true;
  began_ns_ = base::monotonic_ns();
}

// `to_ns` is 0 until the end is reached. The trace of a program that is killed before has no end.
void Job::state_window(uint64_t to_ns) {
  if (request_.kind != JobKind::Trace) return;
  const uint64_t late_ns = to_ns == 0 && began_ns_ > from_ns_ ? began_ns_ - from_ns_ : 0;
  the_recorder().state_window(RecorderOwner::Request, {from_ns_, to_ns}, late_ns);
}

void Job::end_recording(uint64_t to_ns) {
  to_ns_ = to_ns;
  clients_started_ = false;
  if (request_.kind == JobKind::Memory)
    all_clients().stop_memory_profile();
  else
    all_clients().stop();
  write_in_thread();
}

void Job::write_in_thread() {
  step_ = Step::Write;
  state_ = RequestState::Writing;
  writer_ = job_thread("kymo-writer", [this] {
    try {
      write();
    } catch (const NothingAllocated& error) {
      write_error_ = error.what();
      keep_part_ = false;
    } catch (const std::exception& error) {
      write_error_ = error.what();
    }
    written_.store(true, std::memory_order_release);
    wake_agent();
  });
}

void Job::write() {
  state_window(to_ns_);
  the_recorder().end(RecorderOwner::Request);
  if (request_.kind == JobKind::Last) the_recorder().dump_flight(file_->part());
  if (request_.kind == JobKind::Memory) {
    trace_ = write_memory_profile(*file_);
    return;
  }
  trace_ = write_trace(*file_, TraceScope{{from_ns_, to_ns_}, request_.metadata}, request_.form);
}

void Job::take_written() {
  writer_.join();
  step_ = Step::Done;
  if (cancelled_) {
    if (write_error_.empty()) ::remove(trace_.path.c_str());
    state_ = result_.state = RequestState::Cancelled;
  } else if (!write_error_.empty()) {
    state_ = result_.state = RequestState::Failed;
    result_.text = write_error_;
    if (keep_part_) {
      file_->keep();
      result_.text += base::format("; what was recorded is in {}", file_->part());
    }
  } else {
    result_.path = trace_.path;
    result_.bytes = trace_.bytes;
    result_.events = trace_.events;
    result_.losses = trace_.losses;
    result_.took_ns = to_ns_ - std::min(from_ns_, to_ns_);
    result_.text = ended_early_.empty() ? "" : base::format("it is shorter than asked for: {}", ended_early_);
    state_ = result_.state = RequestState::Finished;
  }
  file_.reset();
  close_down();
}

// ---- From outside

void Job::advance() {
  if (done()) return;
  try {
    if (step_ == Step::Write) {
      if (written_.load(std::memory_order_acquire)) take_written();
      return;
    }
    if (began_ns_ != 0 && the_recorder().owner() != RecorderOwner::Request)
      return finish_early("the program has started a recording of its own");
    if (request_.duration_ns != 0)
      advance_time(base::monotonic_ns());
    else
      advance_iterations(base::monotonic_ns());
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

void Job::cancel() {
  if (done()) return;
  cancelled_ = true;
  if (step_ == Step::Write) return;  // the file is removed after it is written
  fail("");
}

void Job::stop() {
  if (done() || step_ == Step::Write) return;
  if (!has_recorded(base::monotonic_ns())) return cancel();
  finish_early("it was stopped");
}

bool Job::has_recorded(uint64_t now) const { return began_ns_ != 0 && from_ns_ != 0 && from_ns_ < now; }

void Job::finish_early(const std::string& why) {
  if (done() || step_ == Step::Write) return;
  const uint64_t now = the_recorder().gave_way_ns().value_or(base::monotonic_ns());
  if (!has_recorded(now)) return fail(base::format("{} before the trace began", why));
  ended_early_ = why;
  try {
    end_recording(std::min(now, to_ns_ != 0 ? to_ns_ : now));
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

void Job::fail(const std::string& why) {
  close_down();
  step_ = Step::Done;
  result_.text = why;
  state_ = result_.state = cancelled_ ? RequestState::Cancelled : RequestState::Failed;
  file_.reset();
}

void Job::close_down() noexcept {
  try {
    if (std::exchange(clients_started_, false)) {
      if (request_.kind == JobKind::Memory)
        all_clients().stop_memory_profile();
      else
        all_clients().stop();
    }
  } catch (const std::exception&) {  // the first error is reported
  }
  try {
    if (step_ != Step::Write) the_recorder().end(RecorderOwner::Request);
  } catch (const std::exception&) {
  }
  stepped_iterations().wait_no_more();
  seen_iterations().wait_no_more();
  stop_watching_ranges();  // also informs the interfaces that nothing records any more
}

uint64_t Job::due_ns() const {
  if (step_ == Step::Write || step_ == Step::Done) return kNever;
  if (step_ == Step::AwaitIteration) return next_look_ns_;
  if (request_.duration_ns == 0) return kNever;
  if (step_ == Step::AwaitBegin) return from_ns_;
  return step_ == Step::Record ? to_ns_ : kNever;
}

uint32_t Job::progress() const {
  if (done()) return wire::kWholeProgress;
  if (step_ != Step::Record) return 0;
  const uint64_t now = base::monotonic_ns();
  uint64_t part = now - std::min(now, from_ns_), whole = to_ns_ - std::min(from_ns_, to_ns_);
  if (request_.duration_ns == 0) return 0;
  part = std::min(part, whole);
  return whole == 0 ? wire::kWholeProgress : static_cast<uint32_t>(part * wire::kWholeProgress / whole);
}

std::string Job::text() const {
  if (step_ == Step::AwaitIteration && iterations_ == nullptr) return "waits for an iteration to start";
  if (step_ == Step::AwaitIteration || (step_ == Step::AwaitBegin && request_.duration_ns == 0))
    return base::format("waits for the next iteration that fits; {} have started", iterations_->started());
  if (file_ && began_ns_ != 0 && step_ != Step::Write) return base::format("recording into {}", file_->part());
  return {};
}

}  // namespace kymo::ondemand
