#include "daemon/kineto_programs.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/output_path.h"
#include "base/text.h"
#include "daemon/output.h"

namespace kymo::daemon {
namespace {

constexpr std::chrono::seconds kLongestSilence{60};
constexpr size_t kMaxKineto = 8192, kMaxKinetoPerUser = 4096;
constexpr int kMaxPollsWithoutFile = 2;  // a file may come a moment after the program is ready again
// After the end of the recording, until libkineto has started to write: it looks once a second.
constexpr uint64_t kWritesAfterNs = 3 * kNsPerSecond;

wire::ProcessEntry kineto_entry(const ProcessFacts& facts, int64_t job) {
  wire::ProcessEntry entry;
  entry.pid = facts.pid;
  entry.uid = facts.uid;
  entry.protocol = wire::Protocol::Kineto;
  entry.parents = facts.parents;
  entry.name = facts.name;
  entry.command_line = facts.command_line;
  if (job != 0) entry.job = std::to_string(job);
  entry.started_at_ns = facts.started_at_ns;
  entry.seen_at_ns = base::realtime_ns();
  return entry;
}

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_size == other.st_size &&
         one.st_mtim.tv_sec == other.st_mtim.tv_sec && one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

// libkineto has no start time for a memory profile. So it gets the request only when the time has come.
bool starts_at_a_poll(const ProgramRequest& request) {
  return request.kind == wire::RequestKind::Memory && request.options.start_at_ns != 0;
}

wire::Done failed(uint64_t id, std::string why, wire::RequestState state = wire::RequestState::Failed) {
  return {{.state = state, .text = std::move(why)}, id};
}

}  // namespace

KinetoProgram::KinetoProgram(Loop& loop, const ProcessFacts& facts, int64_t job)
    : Program(kineto_entry(facts, job), facts),
      loop_(loop),
      job_(job),
      seen_(Loop::Clock::now()),
      folder_(start_variable(facts.pid, "KINETO_ONDEMAND_TRACE_DIR").value.value_or("")) {
  if (folder_.empty()) folder_ = kKinetoFolder;
}

std::optional<wire::Done> KinetoProgram::objection(const ProgramRequest& request) const {
  if (waiting_ || handed_) return failed(request.id, "it already has another trace request", wire::RequestState::Busy);
  const auto order = kineto_order(*this, request, base::realtime_ns() / kNsPerMs);
  if (!order) return failed(request.id, order.reason());
  return std::nullopt;
}

std::string KinetoProgram::path_of(const ProgramRequest& request) const {
  const auto order = kineto_order(*this, request, base::realtime_ns() / kNsPerMs);
  return order ? order->path : "";
}

std::string KinetoProgram::elsewhere_text(const std::string& path) const {
  if (base::is_below(path, folder_)) return {};
  return base::format("libkineto of 2026 and later writes only below {}; KINETO_ONDEMAND_TRACE_DIR changes that",
                      folder_);
}

std::string KinetoProgram::note_about(const ProgramRequest& request) const {
  const auto order = kineto_order(*this, request, base::realtime_ns() / kNsPerMs);
  std::vector<std::string> notes;
  if (const std::string why = order ? elsewhere_text(order->path) : ""; !why.empty())
    notes.push_back(base::format("or {}: {}", order->instead, why));
  if (starts_at_a_poll(request)) notes.emplace_back("libkineto starts it at its first poll after the start time");
  return base::join(notes, "; ");
}

void KinetoProgram::start(const ProgramRequest& request) {
  waiting_ = request;
  entry().request_id = request.id;
  entry().state = wire::RequestState::Queued;
}

base::Check KinetoProgram::end(uint64_t request_id, Ending ending) {
  if (waiting_ && waiting_->id == request_id) {
    waiting_.reset();
    ending_ = loop_.in(Loop::Clock::duration::zero(), [this, request_id] {
      report(failed(request_id, "it was cancelled before the program polled for it", wire::RequestState::Cancelled));
    });
    return {};
  }
  if (!handed_ || handed_->id != request_id) return base::Refusal{"it has ended"};
  if (ending == Ending::Keep)
    return base::Refusal{"libkineto cannot stop early; the trace will be written when it is complete"};
  const std::string text =
      base::format("libkineto has the request and cannot stop; it may still write {}", handed_->places.front().path);
  handed_.reset();
  ending_ = loop_.in(Loop::Clock::duration::zero(),
                     [this, request_id, text] { report(failed(request_id, text, wire::RequestState::Cancelled)); });
  return base::Refusal{text};
}

void KinetoProgram::give_up(uint64_t request_id) {
  if (waiting_ && waiting_->id == request_id) waiting_.reset();
  if (handed_ && handed_->id == request_id) handed_.reset();
}

std::string KinetoProgram::asked(const wire::FabricPoll& poll) {
  seen_ = Loop::Clock::now();
  entry().seen_at_ns = base::realtime_ns();
  order_.reset();
  look_for_outcome(poll.wants_activities());
  if (!waiting_ || !poll.wants_activities()) return {};
  if (starts_at_a_poll(*waiting_) && waiting_->options.start_at_ns > base::realtime_ns()) return {};
  auto order = kineto_order(*this, *waiting_, base::realtime_ns() / kNsPerMs);
  if (!order) {
    const uint64_t id = waiting_->id;
    waiting_.reset();
    report(failed(id, order.reason()));
    return {};
  }
  order_ = std::move(*order);
  return order_->config;
}

void KinetoProgram::sent() {
  if (!waiting_ || !order_) return;
  handed_ = Handed{.id = waiting_->id, .ends_at_ns = order_->ends_at_ns};
  handed_->places.push_back(place_of(order_->path));
  if (order_->instead != order_->path) handed_->places.push_back(place_of(order_->instead));
  const uint64_t wanted_ns = waiting_->options.start_at_ns != 0 ? waiting_->options.start_at_ns : waiting_->asked_at_ns;
  const bool is_in_time = waiting_->options.start_at_ns != 0 && !order_->is_late && !starts_at_a_poll(*waiting_);
  if (!is_in_time && order_->starts_at_ns > wanted_ns)
    handed_->late_ns = static_cast<int64_t>(order_->starts_at_ns - wanted_ns);
  waiting_.reset();
  entry().state = wire::RequestState::Recording;
  wire::Status status{.id = handed_->id, .state = wire::RequestState::Recording};
  status.text = order_->is_late ? "it polled too late for the start time, and starts now" : "libkineto has the request";
  reports_.status(status);
}

void KinetoProgram::look_for_outcome(bool is_ready) {
  if (!handed_) return;
  handed_->was_busy = handed_->was_busy || !is_ready;
  if (!is_ready || end_with_file()) return;
  // A short recording may begin and end between two polls.
  const bool is_over = handed_->ends_at_ns != 0 && base::realtime_ns() > handed_->ends_at_ns + kWritesAfterNs;
  if ((!handed_->was_busy && !is_over) || ++handed_->ready_without_file <= kMaxPollsWithoutFile) return;
  std::vector<std::string> paths;
  for (const Place& place : handed_->places) paths.push_back(place.path);
  report(failed(handed_->id, base::format("libkineto is ready again, but has not written {}; its log may say why",
                                          base::join(paths, " or "))));
}

// The path is resolved in the program's own root first.
std::optional<struct stat> KinetoProgram::look(const std::string& path) const {
  auto status = look_at(base::format("/proc/{}/root{}", entry().pid, path));
  return status ? status : look_at(path);
}

KinetoProgram::Place KinetoProgram::place_of(const std::string& path) const { return {path, look(path)}; }

// False: there is no new file.
bool KinetoProgram::end_with_file() {
  for (const Place& place : handed_->places) {
    const auto status = look(place.path);
    if (!status || !S_ISREG(status->st_mode) || status->st_uid != entry().uid) continue;
    if (place.before && is_same_file(*status, *place.before)) continue;
    wire::Done done{{.path = place.path,
                     .bytes = static_cast<uint64_t>(status->st_size),
                     .events = wire::kUnknownCount,
                     .losses = wire::kUnknownCount,
                     .late_ns = handed_->late_ns},
                    handed_->id};
    const std::string& asked = handed_->places.front().path;
    if (place.path != asked) {
      const std::string why = elsewhere_text(asked);
      done.text = base::format("not {}{}{}", asked, why.empty() ? "" : ": ", why);
    }
    report(done);
    return true;
  }
  return false;
}

void KinetoProgram::leave(const std::string& why) {
  if (waiting_) {
    const uint64_t id = waiting_->id;
    waiting_.reset();
    return report(failed(id, base::format("{} before it polled for the request; there is no trace", why)));
  }
  if (handed_ && !end_with_file()) report(failed(handed_->id, base::format("{} before it wrote its trace", why)));
}

void KinetoProgram::report(const wire::Done& done) {
  if (handed_ && handed_->id == done.id) handed_.reset();
  entry().request_id = 0;
  entry().state = wire::RequestState::Waiting;
  reports_.done(done);
}

// ---- All of them

KinetoPrograms::KinetoPrograms(Loop& loop, Log& log, Programs& programs, Triggers& triggers, const std::string& folder)
    : loop_(loop),
      log_(log),
      programs_(programs),
      triggers_(triggers),
      socket_(loop, log, folder,
              [this](const FabricSender& sender, const wire::FabricRequest& request) { on_request(sender, request); }) {
}

KinetoPrograms::~KinetoPrograms() {
  for (const auto& [pid, known] : known_) programs_.remove(known.id);
}

void KinetoPrograms::on_request(const FabricSender& sender, const wire::FabricRequest& request) {
  if (geteuid() != 0 && sender.credentials.uid != geteuid() && sender.credentials.uid != 0) {
    return log_.warn(base::format("a datagram of {} was ignored: this daemon serves another user",
                                  user_name(sender.credentials.uid)));
  }
  if (const auto* poll = std::get_if<wire::FabricPoll>(&request)) return polled(sender, *poll);
  registered(sender, std::get<wire::FabricContext>(request));
}

void KinetoPrograms::polled(const FabricSender& sender, const wire::FabricPoll& poll) {
  Known* asking = known(sender, poll.pids.front(), poll.job);
  if (asking == nullptr) return;
  const std::string config = asking->program->asked(poll);
  const bool was_sent = socket_.answer(sender, wire::FabricConfig{config});
  if (was_sent && !config.empty()) asking->program->sent();
}

void KinetoPrograms::registered(const FabricSender& sender, const wire::FabricContext& context) {
  Known* asking = known(sender, context.pid, context.job);
  if (asking == nullptr) return;
  asking->accelerators.insert(context.gpu);
  const auto count = std::ranges::count_if(known_, [&](const auto& one) {
    return one.second.program->entry().uid == sender.credentials.uid && one.second.program->job() == context.job &&
           one.second.accelerators.contains(context.gpu);
  });
  socket_.answer(sender, wire::FabricRegistered{static_cast<int32_t>(count)});
}

KinetoPrograms::Known* KinetoPrograms::known(const FabricSender& sender, int32_t claimed_pid, int64_t job) {
  const int32_t pid = sender.credentials.pid;
  if (const auto found = known_.find(pid); found != known_.end()) {
    KinetoProgram& program = *found->second.program;
    if (program.entry().uid == sender.credentials.uid && program.inner_pid() == claimed_pid && program.job() == job &&
        is_alive(pid, program.started()) && runs_as(pid, sender.credentials.uid)) {
      return &found->second;
    }
  }
  const auto facts = verified_process(sender.credentials, claimed_pid);
  if (!facts) {
    log_.warn(base::format("a datagram of process {} was ignored: {}", pid, facts.reason()));
    return nullptr;
  }
  if (const auto found = known_.find(pid); found != known_.end()) {
    const KinetoProgram& program = *found->second.program;
    const bool is_ending = program.started() == facts->started && program.job() == job;  // its last datagram
    forget(pid, is_ending ? "it ended" : "it was replaced by another program");          // or it has another job now
    if (is_ending) return nullptr;
  }
  const auto of_user = std::ranges::count_if(
      known_, [&](const auto& one) { return one.second.program->entry().uid == sender.credentials.uid; });
  if (known_.size() >= kMaxKineto || static_cast<size_t>(of_user) >= kMaxKinetoPerUser) {
    log_.warn(base::format("process {} was not registered: its user already has {}", pid, of_user));
    return nullptr;
  }
  Known& added = known_[pid];
  added.program = std::make_unique<KinetoProgram>(loop_, *facts, job);
  added.id = programs_.add(*added.program);
  added.program->report_to({[this, id = added.id](const wire::Status& status) { triggers_.status(id, status); },
                            [this, id = added.id](const wire::Done& done) { triggers_.done(id, done); }});
  watch_process(added, pid);
  if (!silence_) wait_for_silence();
  return &added;
}

// Without a pidfd (no descriptors left, an old kernel), the end of the process is noticed by its silence.
void KinetoPrograms::watch_process(Known& known, int32_t pid) {
  known.process = base::FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!known.process) return;
  known.ending = loop_.watch(known.process.get(), EPOLLIN, [this, pid](uint32_t) { forget(pid, "it ended"); });
}

void KinetoPrograms::forget(int32_t pid, const std::string& why) {
  const auto found = known_.find(pid);
  found->second.program->leave(why);
  triggers_.program_left(found->second.id);
  programs_.remove(found->second.id);
  known_.erase(found);
}

void KinetoPrograms::forget_silent() {
  const auto now = Loop::Clock::now();
  std::vector<int32_t> silent;
  for (const auto& [pid, known] : known_)
    if (now - known.program->seen() >= kLongestSilence || !is_alive(pid, known.program->started()))
      silent.push_back(pid);
  for (const int32_t pid : silent)
    forget(pid, is_alive(pid, known_.at(pid).program->started()) ? "it stopped polling" : "it ended");
  wait_for_silence();
}

void KinetoPrograms::wait_for_silence() {
  silence_.reset();
  if (known_.empty()) return;
  auto first = Loop::Clock::time_point::max();
  for (const auto& [pid, known] : known_) first = std::min(first, known.program->seen());
  silence_ = loop_.at(first + kLongestSilence, [this] { forget_silent(); });
}

}  // namespace kymo::daemon
