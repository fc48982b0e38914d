#include "daemon/kineto_program.h"

#include "base/clock.h"
#include "base/text.h"
#include "daemon/file_look.h"
#include "daemon/output.h"

namespace kymo::daemon {
namespace {

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
  entry.capabilities = wire::kCanTrace | wire::kCanMemory | wire::kCanIterations | wire::kCanShapes | wire::kCanStack |
                       wire::kCanFlops | wire::kCanModules;
  entry.pid_namespace = facts.pid_namespace;
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
  wire::Done done{.id = id, .state = state};
  done.error = std::move(why);
  return done;
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
  if (is_below(path, folder_)) return {};
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

base::Check KinetoProgram::cancel(uint64_t request_id) {
  if (waiting_ && waiting_->id == request_id) {
    waiting_.reset();
    ending_ = loop_.in(Loop::Clock::duration::zero(), [this, request_id] {
      end(failed(request_id, "it was cancelled before the program polled for it", wire::RequestState::Cancelled));
    });
    return {};
  }
  if (!handed_ || handed_->id != request_id) return base::Refusal{"it has ended"};
  const std::string text =
      base::format("libkineto has the request and cannot stop; it may still write {}", handed_->places.front().path);
  handed_.reset();
  ending_ = loop_.in(Loop::Clock::duration::zero(),
                     [this, request_id, text] { end(failed(request_id, text, wire::RequestState::Cancelled)); });
  return base::Refusal{text};
}

base::Check KinetoProgram::stop(uint64_t request_id) {
  if (waiting_ && waiting_->id == request_id) return cancel(request_id);  // there is nothing to keep
  return base::Refusal{"libkineto cannot stop early; the trace will be written when it is complete"};
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
    end(failed(id, order.reason()));
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
  end(failed(handed_->id, base::format("libkineto is ready again, but has not written {}; its log may say why",
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
    wire::Done done{.id = handed_->id, .events = wire::kUnknownCount, .losses = wire::kUnknownCount};
    done.path = place.path;
    done.bytes = static_cast<uint64_t>(status->st_size);
    done.late_ns = handed_->late_ns;
    const std::string& asked = handed_->places.front().path;
    if (place.path != asked) {
      const std::string why = elsewhere_text(asked);
      done.error = base::format("not {}{}{}", asked, why.empty() ? "" : ": ", why);
    }
    end(done);
    return true;
  }
  return false;
}

void KinetoProgram::leave(const std::string& why) {
  if (waiting_) {
    const uint64_t id = waiting_->id;
    waiting_.reset();
    return end(failed(id, base::format("{} before it polled for the request; there is no trace", why)));
  }
  if (handed_ && !end_with_file()) end(failed(handed_->id, base::format("{} before it wrote its trace", why)));
}

void KinetoProgram::end(const wire::Done& done) {
  if (handed_ && handed_->id == done.id) handed_.reset();
  entry().request_id = 0;
  entry().state = wire::RequestState::Waiting;
  reports_.done(done);
}

}  // namespace kymo::daemon
