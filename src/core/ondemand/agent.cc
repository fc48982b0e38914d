#include "ondemand/agent.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/printable.h"
#include "base/quiet_thread.h"
#include "ondemand/clients.h"
#include "ondemand/identity.h"
#include "ondemand/iterations.h"
#include "ondemand/recorder.h"
#include "ondemand/requests.h"
#include "record/process.h"

namespace kymo::ondemand {
namespace {

constexpr uint64_t kAgentMillisecond = 1'000'000;
constexpr auto kForkTimeout = std::chrono::milliseconds(100);
constexpr int kHangUpMilliseconds = 200;
constexpr int kClosingMilliseconds = 20;
constexpr uint64_t kLookAtClock = 1'000 * kAgentMillisecond;

}  // namespace

Agent::Agent(AgentOptions options)
    : options_(std::move(options)),
      link_(
          daemon_sockets(options_.daemon), [this] { return hello(); },
          [this](const wire::Packet& packet) { receive(packet); }, say_once),
      fabric_([this](const std::string& text) { receive_config(text); }) {}

void Agent::start() {
  wake_.open();
  std::thread thread = base::quiet_thread("kymo-agent", [this] { run(); });
  thread_.store(thread.get_id());
  thread.detach();  // the process may end while it runs
}

void Agent::run() {
  record::forbid_recording_on_this_thread();
  awake_.lock();
  has_started_.store(true);
  stop_watching_ranges();  // in a forked child: the parent may have watched them
  if (options_.wait_first_ms != 0) {
    pollfd file{wake_.file(), POLLIN, 0};
    awake_.unlock();
    poll(&file, 1, options_.wait_first_ms);
    awake_.lock();
  }
  start_flight();
  link_.connect();
  if (options_.asks_peers) fabric_.open();
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_ && job_ == nullptr) break;
    }
    sleep();
  }
  link_.close(kHangUpMilliseconds);
  fabric_.close();
  stop_flight();
  awake_.unlock();
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

// Sleeps once, and handles the events that woke it.
void Agent::sleep() {
  std::vector<pollfd> files{{wake_.file(), POLLIN, 0}};
  link_.add_files(files);
  fabric_.add_files(files);
  fabric_.ask(job_ != nullptr);
  const uint64_t due = due_ns(), now = base::monotonic_ns();
  timespec timeout{};
  if (due != kNever && due > now) {
    timeout.tv_sec = static_cast<time_t>((due - now) / 1'000'000'000);
    timeout.tv_nsec = static_cast<long>((due - now) % 1'000'000'000);
  }
  awake_.unlock();
  const int ready = ppoll(files.data(), files.size(), due == kNever ? nullptr : &timeout, nullptr);
  awake_.lock();
  if (ready < 0)
    for (pollfd& file : files) file.revents = 0;
  pass(files);
}

void Agent::pass(const std::vector<pollfd>& files) {
  wake_.drain();
  if (!wake_.is_whole()) take_files_again();
  if (new_clients_.exchange(false)) {
    try {
      all_clients().init_new();
    } catch (const std::exception&) {  // it is still called for traces, and reports the error then
    }
  }
  link_.serve(files);
  fabric_.serve(files);
  uint64_t asked = 0;
  {
    const std::lock_guard lock(mutex_);
    asked = finish_asked_;
    if (asked == finish_done_) asked = 0;
  }
  if (asked != 0 && job_ != nullptr) job_->finish_early("the program has ended");
  advance_job();
  if (asked != 0 && job_ == nullptr) {
    const std::lock_guard lock(mutex_);
    finish_done_ = asked;
    changed_.notify_all();
  }
}

// The program has closed all descriptors and may be about to open its own, so the agent waits before it opens its own.
void Agent::take_files_again() {
  awake_.unlock();
  poll(nullptr, 0, kClosingMilliseconds);
  awake_.lock();
  wake_.open();
  link_.files_closed();
  fabric_.files_closed();
}

uint64_t Agent::due_ns() const {
  const uint64_t now = base::monotonic_ns();
  uint64_t due = std::min(link_.due_ns(), fabric_.due_ns());
  if (wake_.file() < 0) due = std::min(due, now + kLookAtClock);
  if (job_ == nullptr) return due;
  // The clock may be set while a job waits for a time of day, so this never sleeps long.
  if (const uint64_t at = job_->due_realtime_ns(); at != 0) {
    const uint64_t real = base::realtime_ns();
    due = std::min(due, now + std::min(at - std::min(at, real), kLookAtClock));
  }
  return std::min({due, job_->due_ns(), next_report_ns_});
}

// ---- Requests

wire::Hello Agent::hello() const { return describe_process(); }

void Agent::receive(const wire::Packet& packet) {
  const uint32_t serial = packet.serial;
  if (const auto* start = std::get_if<wire::Start>(&packet.message)) {
    take_request(*start, serial);
  } else if (const auto* cancel = std::get_if<wire::Cancel>(&packet.message)) {
    if (check_running(cancel->id, cancel->kType, serial)) cancel->keep ? job_->stop() : job_->cancel();
  } else if (std::holds_alternative<wire::Welcome>(packet.message)) {
    resend_all();
  }
}

// False: the daemon was informed that there is no such request.
bool Agent::check_running(uint64_t id, wire::MessageType asked, uint32_t serial) {
  if (job_ != nullptr && asker_ == Asker::Daemon && job_->request().id == id) return true;
  link_.send(wire::Refused{wire::RefusedCode::Malformed, static_cast<uint32_t>(asked),
                           "request not found: it has ended or never existed"},
             serial);
  return false;
}

void Agent::take_request(const wire::Start& start, uint32_t serial) {
  wire::Outcome result{.state = wire::RequestState::Failed};
  if (job_ != nullptr) {
    result.state = wire::RequestState::Busy;
    result.text = "this process is already making a trace: wait for it, or cancel it";
    return report_result(start.id, start.kind, result, serial);
  }
  auto request = job_of(start, link_.daemon().output_folders);
  if (request) return begin_job(std::move(*request), Asker::Daemon, serial);
  result.text = request.reason();
  report_result(start.id, start.kind, result, serial);
}

void Agent::receive_config(const std::string& text) {
  auto request = job_of_config(text);
  if (!request) return say_to_peers(request.reason());
  if (job_ != nullptr) return say_to_peers("this process is already making a trace");
  begin_job(std::move(*request), Asker::Peers, 0);
}

// Their protocol has no answer, so the reason is printed for the user of the program.
void Agent::say_to_peers(const std::string& problem) {
  fprintf(stderr, "kymo: cannot make the trace that was requested through KINETO_USE_DAEMON: %s\n", problem.c_str());
}

// The daemon's refusal has no other reader. A forked child does not repeat it.
void Agent::say_once(const std::string& problem) {
  static std::atomic<bool> is_said{false};
  if (!is_said.exchange(true)) fprintf(stderr, "kymo: cannot use kymod: %s\n", base::printable(problem).c_str());
}

void Agent::begin_job(JobRequest request, Asker asker, uint32_t serial) {
  asker_ = asker;
  serial_ = serial;
  reported_state_ = {};
  reported_progress_ = 0;
  job_ = std::make_unique<Job>(std::move(request));
  report_status();
}

void Agent::advance_job() {
  if (job_ == nullptr) {
    // For example, the program's own recording has ended: the flight recorder starts again.
    if (the_recorder().owner() == RecorderOwner::Nobody) start_flight();
    return;
  }
  job_->advance();
  if (!job_->done()) return report_status();
  const uint64_t id = job_->request().id;
  const auto kind = job_->request().kind == JobKind::Memory ? wire::RequestKind::Memory : wire::RequestKind::Trace;
  const wire::Outcome result = job_->result();
  job_.reset();
  next_report_ns_ = kNever;
  start_flight();
  if (asker_ == Asker::Daemon)
    report_result(id, kind, result, serial_);
  else if (result.state == wire::RequestState::Failed)
    say_to_peers(result.text);
}

// ---- Answers

void Agent::report_status() {
  constexpr uint32_t kStep = 50;  // thousandths
  constexpr uint64_t kLeast = 100 * kAgentMillisecond;
  const uint64_t now = base::monotonic_ns();
  const wire::RequestState state = job_->state();
  const uint32_t progress = job_->progress();
  next_report_ns_ = kNever;
  if (asker_ != Asker::Daemon || job_->done()) return;
  if (state == wire::RequestState::Recording && job_->request().duration_ns != 0)
    next_report_ns_ = now + std::max(kLeast, job_->request().duration_ns / (wire::kWholeProgress / kStep));
  if (state == reported_state_ && progress < reported_progress_ + kStep) return;
  reported_state_ = state;
  reported_progress_ = progress;
  if (link_.welcome()) link_.send(wire::Status{job_->request().id, state, progress, job_->text()}, serial_);
}

void Agent::report_result(uint64_t id, wire::RequestKind kind, const wire::Outcome& result, uint32_t serial) {
  wire::Done done{result, id, kind};
  done.text.resize(std::min(done.text.size(), wire::kLongestText));
  send_or_keep(done, serial);
}

void Agent::send_or_keep(const wire::Message& message, uint32_t serial) {
  constexpr size_t kMaxPending = 64;
  if (link_.welcome()) return link_.send(message, serial);
  pending_.push_back({message, serial});
  if (pending_.size() > kMaxPending) pending_.pop_front();
}

void Agent::resend_all() {
  for (const PendingResult& pending : std::exchange(pending_, {})) link_.send(pending.message, pending.serial);
  reported_state_ = {};
  if (job_ != nullptr) report_status();
}

// ---- From the program's threads

void Agent::clients_changed() {
  new_clients_.store(true);
  wake_agent();
}

void Agent::finish_job(int milliseconds) {
  if (thread_.load() == std::this_thread::get_id()) return;
  std::unique_lock lock(mutex_);
  const uint64_t asked = ++finish_asked_;
  wake_agent();
  changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return finish_done_ >= asked || stopped_; });
}

void Agent::stop(int milliseconds) {
  if (thread_.load() == std::this_thread::get_id()) return;
  std::unique_lock lock(mutex_);
  stopping_ = true;
  ++finish_asked_;
  wake_agent();
  changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return stopped_; });
}

bool Agent::lock_for_fork() {
  if (thread_.load() == std::this_thread::get_id()) return false;  // a client forks
  const auto deadline = std::chrono::steady_clock::now() + kForkTimeout;
  // A thread that is just starting may hold locks of the C library or a sanitizer, which the child could never take.
  while (!has_started_.load() && std::chrono::steady_clock::now() < deadline) usleep(50);
  return awake_.try_lock_until(deadline);
}

void Agent::unlock_after_fork() { awake_.unlock(); }

void Agent::abandon_in_child(bool was_locked) noexcept {
  wake_nobody();
  if (!was_locked) return;  // it was in the middle of something: its state is unknown
  wake_.abandon();
  link_.abandon();
  fabric_.abandon();
}

}  // namespace kymo::ondemand
