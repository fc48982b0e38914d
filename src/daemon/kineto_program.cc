#include "daemon/kineto_program.h"

#include "base/clock.h"
#include "base/text.h"
#include "daemon/file_look.h"

namespace kymo::daemon {
namespace {

constexpr int kPatience = 2;  // polls: a file may come a moment after the program is ready again

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

// The size of the file that the program wrote since then. The path is resolved in the program's own root first.
std::optional<uint64_t> written_file(const Program& program, const std::string& path, uint64_t since_ns) {
  auto status = look_at(base::format("/proc/{}/root{}", program.entry().pid, path));
  if (!status) status = look_at(path);
  if (!status) return std::nullopt;
  // Clocks of file systems are coarse.
  const auto at_ns = static_cast<uint64_t>(status->st_mtim.tv_sec + 1) * kNsPerSecond;
  if (!S_ISREG(status->st_mode) || status->st_uid != program.entry().uid || at_ns < since_ns) return std::nullopt;
  return static_cast<uint64_t>(status->st_size);
}

wire::Done failed(uint64_t id, std::string why, wire::RequestState state = wire::RequestState::Failed) {
  wire::Done done{.id = id, .state = state};
  done.error = std::move(why);
  return done;
}

}  // namespace

KinetoProgram::KinetoProgram(Loop& loop, const ProcessFacts& facts, int64_t job)
    : Program(kineto_entry(facts, job), facts), loop_(loop), job_(job), seen_(Loop::Clock::now()) {}

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
  return base::Refusal{"libkineto already has the request and cannot stop; the trace will be written"};
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
  handed_ = Handed{waiting_->id, order_->path, base::realtime_ns()};
  waiting_.reset();
  entry().state = wire::RequestState::Recording;
  wire::Status status{.id = handed_->id, .state = wire::RequestState::Recording};
  status.text = order_->is_late ? "it polled too late for the start time, and starts now" : "libkineto has the request";
  reports_.status(status);
}

void KinetoProgram::look_for_outcome(bool is_ready) {
  if (!handed_) return;
  handed_->was_busy = handed_->was_busy || !is_ready;
  if (!is_ready) return;
  if (const auto bytes = written_file(*this, handed_->path, handed_->at_ns)) {
    wire::Done done{.id = handed_->id, .events = wire::kUnknownCount, .losses = wire::kUnknownCount};
    done.path = handed_->path;
    done.bytes = *bytes;
    return end(done);
  }
  if (handed_->was_busy && ++handed_->ready_without_file > kPatience) {
    end(failed(handed_->id,
               base::format("libkineto is ready again, but {} does not exist; its log may say why", handed_->path)));
  }
}

void KinetoProgram::end(const wire::Done& done) {
  if (handed_ && handed_->id == done.id) handed_.reset();
  entry().request_id = 0;
  entry().state = wire::RequestState::Waiting;
  reports_.done(done);
}

}  // namespace kymo::daemon
