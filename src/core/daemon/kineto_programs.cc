#include "daemon/kineto_programs.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"

namespace kymo::daemon {
namespace {

constexpr std::chrono::seconds kLongestSilence{60};
constexpr size_t kMaxKineto = 8192, kMaxKinetoPerUser = 4096;

}  // namespace

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
  if (known_.contains(pid)) forget(pid, "it was replaced by another program");  // or it has another job now
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
