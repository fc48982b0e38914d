#include "cli/trigger_run.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <set>

#include "base/clock.h"
#include "base/host.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "daemon/proc.h"

namespace kymo::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick(100);   // how often the bar moves, and a Ctrl-C is noticed
constexpr std::chrono::seconds kCancelLimit(5);   // for the processes to stop
constexpr std::chrono::seconds kAnswersLimit(2);  // for the processes to accept the request
constexpr std::chrono::seconds kHintAfter(3);

std::string here() {
  std::error_code failure;
  const auto folder = std::filesystem::current_path(failure);
  if (failure)
    throw Error(base::format("cannot get the current folder: {}; give an absolute path with -o", failure.message()));
  return folder.string();
}

wire::Trigger complete_trigger(const TriggerOptions& options, const wire::Welcome& welcome) {
  wire::Trigger trigger = options.trigger;
  const bool is_absolute = options.output.starts_with('/');
  trigger.options.output = output_pattern(options, is_absolute ? "/" : here(), welcome.output_folders);
  trigger.options.format = format_of_output(trigger.options.output, trigger.kind);
  if (trigger.options.start_at_ns != 0) trigger.options.boot_id = base::boot_id();
  return trigger;
}

// The processes that have the trigger already.
std::vector<int32_t> pids_of(const TriggerProgress& progress) {
  std::set<int32_t> pids;
  for (const TargetOutcome& target : progress.targets())
    if (pids.size() < wire::kMaxItems) pids.insert(target.pid);
  return {pids.begin(), pids.end()};
}

}  // namespace

TriggerRun::TriggerRun(const TriggerOptions& options, std::vector<DaemonLink> links)
    : options_(options), progress_(options.trigger.options) {
  std::exception_ptr refusal;
  std::string refused;
  for (DaemonLink& link : links) {
    wire::Trigger trigger = complete_trigger(options, link.welcome());
    trigger.selection.except = pids_of(progress_);
    if (trigger.process_limit != 0) {
      const auto left = static_cast<int64_t>(trigger.process_limit) - static_cast<int64_t>(progress_.targets().size());
      if (left <= 0) break;
      trigger.process_limit = static_cast<uint32_t>(left);
    }
    try {
      const uint32_t serial = link.send(trigger);
      const auto replies = link.answer_to<wire::TriggerReply>(serial);
      progress_.add(replies);
      const std::string& why = replies.back().text;
      if (why_nothing_.find(why) == why_nothing_.npos) why_nothing_ += (why_nothing_.empty() ? "" : "; ") + why;
      daemons_.push_back({std::move(link), serial});
    } catch (const Error& error) {
      refusal = refusal ? refusal : std::current_exception();
      refused = error.what();
    }
  }
  if (refusal && progress_.targets().empty()) std::rethrow_exception(refusal);
  if (refusal) say_warning(base::format("one daemon refused the trigger: {}", refused));
}

bool TriggerRun::is_any_running() const {
  for (size_t i = 0; i < daemons_.size(); ++i)
    if (!daemons_[i].is_lost && !progress_.is_over_at(i)) return true;
  return false;
}

void TriggerRun::take_updates(Waited& waited) {
  const auto running = std::ranges::count_if(daemons_, [](const Daemon& one) { return !one.is_lost; });
  for (size_t i = 0; i < daemons_.size(); ++i) {
    Daemon& daemon = daemons_[i];
    if (daemon.is_lost || progress_.is_over_at(i)) continue;
    try {
      const auto message = daemon.link.next(daemon.serial, kTick / running);
      const auto* update = message ? std::get_if<wire::TriggerUpdate>(&*message) : nullptr;
      if (update != nullptr) progress_.take(*update, base::realtime_ns(), i);
    } catch (const ConnectionLost& error) {
      daemon.is_lost = true;
      waited.lost = error.what();
    }
  }
}

template <class M>
void TriggerRun::send_all() {
  for (size_t i = 0; i < daemons_.size(); ++i) {
    if (daemons_[i].is_lost || progress_.is_over_at(i)) continue;
    try {
      daemons_[i].link.send(M{progress_.trigger_ids()[i]});
    } catch (const ConnectionLost&) {  // the next read reports it
    }
  }
}

void TriggerRun::wait_for_answers() {
  Waited waited;
  const auto deadline = Clock::now() + kAnswersLimit;
  while (!progress_.is_answered() && waited.lost.empty() && Clock::now() < deadline) take_updates(waited);
}

TriggerRun::Waited TriggerRun::wait_for_all(SignalInbox& inbox) {
  StatusLine status(!options_.quiet);
  Waited waited;
  int signals = 0;
  Clock::time_point give_up = Clock::time_point::max(), shown_next{}, hint_at = Clock::now() + kHintAfter;
  const auto print = [&](const std::string& text) {
    if (options_.quiet) return;
    status.clear();
    say(text);
  };
  while (is_any_running() && Clock::now() < give_up) {
    if (signals == 1 && progress_.is_over_except_polls()) break;
    if (status.shown() && Clock::now() >= shown_next) {
      status.show("kymo: " + progress_.bar(base::realtime_ns(), terminal_width(Stream::Error)));
      shown_next = Clock::now() + kTick;
    }
    take_updates(waited);
    if (Clock::now() >= hint_at) {
      if (const std::string hint = progress_.hint(); !hint.empty()) print(hint + "; Ctrl-C ends the wait");
      hint_at = Clock::time_point::max();
    }
    const auto signal = inbox.wait(std::chrono::milliseconds(0));
    if (!signal) continue;
    waited.signal = signal->signal;
    if (++signals == 1) {
      print("stopping; what was recorded so far is kept. Press Ctrl-C again to discard it");
      send_all<wire::StopTrigger>();
    } else if (signals == 2) {
      give_up = Clock::now() + kCancelLimit;
      send_all<wire::CancelTrigger>();
    } else {
      break;
    }
  }
  return waited;
}

}  // namespace kymo::cli
