#include "commands/ondemand/trigger_run.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <limits>
#include <set>

#include "base/clock.h"
#include "base/host.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "daemon/proc.h"

namespace kymo::cli {
namespace {

using wire::RequestState;

constexpr size_t kBarWidth = 20, kColumnsForBar = 64;
constexpr double kRecordingShare = 0.9;  // of the bar; the rest is for writing

double thousandths(uint32_t progress) {
  return std::min(1.0, static_cast<double>(progress) / static_cast<double>(wire::kWholeProgress));
}

// The order of the states, from start to end.
int rank_of(RequestState state) {
  switch (state) {
    case RequestState::Queued:
      return 0;
    case RequestState::Waiting:
      return 1;
    case RequestState::Recording:
      return 2;
    case RequestState::Writing:
      return 3;
    default:
      return 4;
  }
}

// Late enough to report: every program starts a little late.
bool is_late(const wire::Outcome& target) {
  constexpr int64_t kNoticeable = 1'000'000;
  return target.state == RequestState::Finished && target.late_ns >= kNoticeable;
}

// A dash if the count is not known.
std::string count_or_dash(uint64_t count) { return count == wire::kUnknownCount ? "-" : count_text(count); }

void write_count(base::JsonWriter& json, std::string_view name, uint64_t count) {
  if (count == wire::kUnknownCount)
    json.field(name, std::numeric_limits<double>::quiet_NaN());  // null
  else
    json.field(name, count);
}

}  // namespace

std::string file_or_reason(const wire::Outcome& outcome) {
  if (outcome.state == RequestState::Finished && !outcome.text.empty())
    return base::format("{} ({})", base::printable(outcome.path), base::printable(outcome.text));
  const bool is_pending = outcome.state == RequestState::Queued || outcome.state == RequestState::Waiting;
  if (is_pending && !outcome.text.empty() && !outcome.path.empty())
    return base::format("{} ({})", base::printable(outcome.path), base::printable(outcome.text));
  const bool shows_path = outcome.state == RequestState::Finished || !wire::is_final(outcome.state);
  return base::printable(shows_path && !outcome.path.empty() ? outcome.path : outcome.text);
}

void write_outcome(base::JsonWriter& json, int32_t pid, const wire::Outcome& outcome) {
  json.field("pid", pid);
  json.field("state", wire::name_of(outcome.state));
  if (!outcome.path.empty()) json.field("file", outcome.path);
  if (outcome.state == RequestState::Finished) {
    json.field("bytes", outcome.bytes);
    write_count(json, "events", outcome.events);
    write_count(json, "lost", outcome.losses);
    json.field("late_ns", outcome.late_ns);
  }
  if (!outcome.text.empty()) json.field("text", outcome.text);
}

TriggerProgress::TriggerProgress(const wire::TraceOptions& options)
    : starts_ns_(options.start_at_ns), duration_ns_(options.duration_ns), by_iterations_(options.iterations != 0) {}

void TriggerProgress::add(const std::vector<wire::TriggerReply>& replies) {
  const size_t daemon = trigger_ids_.size();
  trigger_ids_.push_back(replies.empty() ? 0 : replies.back().trigger_id);
  over_reported_.push_back(false);
  for (const wire::TriggerReply& reply : replies)
    for (const wire::TriggerTarget& target : reply.targets)
      targets_.push_back({{.state = target.state, .path = target.path, .text = target.text},
                          target.pid,
                          daemon,
                          trigger_ids_[daemon],
                          target.polls});
  std::ranges::stable_sort(targets_, {}, &TargetOutcome::pid);
}

void TriggerProgress::take(const wire::TriggerUpdate& update, uint64_t now_ns, size_t daemon) {
  if (daemon >= trigger_ids_.size() || update.trigger_id != trigger_ids_[daemon]) return;
  if (update.targets_left == 0) over_reported_[daemon] = true;
  // A process with two protocols may be in the list twice: the update is for the one that has not ended.
  const auto is_meant = [&](const TargetOutcome& one) { return one.pid == update.pid && one.daemon == daemon; };
  auto target = std::ranges::find_if(
      targets_, [&](const TargetOutcome& one) { return is_meant(one) && !wire::is_final(one.state); });
  if (target == targets_.end()) target = std::ranges::find_if(targets_, is_meant);
  if (target == targets_.end()) return;
  if (update.state == RequestState::Recording && starts_ns_ == 0) starts_ns_ = now_ns;
  target->progress = update.progress;
  std::string path = update.path.empty() ? target->path : update.path;
  static_cast<wire::Outcome&>(*target) = update;
  target->path = std::move(path);
}

bool TriggerProgress::is_over() const {
  for (size_t daemon = 0; daemon < trigger_ids_.size(); ++daemon)
    if (!is_over_at(daemon)) return false;
  return true;
}

bool TriggerProgress::is_over_at(size_t daemon) const {
  return over_reported_[daemon] || std::ranges::all_of(targets_, [&](const TargetOutcome& one) {
           return one.daemon != daemon || wire::is_final(one.state);
         });
}

bool TriggerProgress::is_answered() const {
  return std::ranges::all_of(targets_, [](const auto& one) { return one.polls || one.state != RequestState::Queued; });
}

bool TriggerProgress::is_over_except_polls() const {
  return std::ranges::all_of(targets_, [](const auto& one) { return one.polls || wire::is_final(one.state); });
}

std::string TriggerProgress::hint() const {
  if (!by_iterations_) return {};
  for (const TargetOutcome& target : targets_) {
    if (target.polls && !wire::is_final(target.state))
      return base::format(
          "{} has not written its trace yet; libkineto counts iterations only if the program calls profiler.step() or "
          "uses an optimizer",
          target.pid);
    if (target.state != RequestState::Waiting) continue;
    return base::format(
        "{} {}; an iteration is a call of kymo::step(), or a range named step, iteration, ProfilerStep or "
        "Optimizer.step",
        target.pid, target.text.empty() ? "waits" : base::printable(target.text));
  }
  return {};
}

bool TriggerProgress::all_good() const {
  return std::ranges::all_of(targets_, [](const auto& one) { return one.state == RequestState::Finished; });
}

double TriggerProgress::fraction_of(const TargetOutcome& target, uint64_t now_ns) const {
  if (wire::is_final(target.state)) return 1;
  const double reported = thousandths(target.progress);
  if (target.state == RequestState::Writing) return kRecordingShare + (1 - kRecordingShare) * reported;
  if (target.state != RequestState::Recording) return 0;
  double timed = 0;
  if (duration_ns_ > 0 && now_ns > starts_ns_)
    timed = std::min(1.0, static_cast<double>(now_ns - starts_ns_) / static_cast<double>(duration_ns_));
  return kRecordingShare * std::max(reported, timed);
}

std::string TriggerProgress::phase(uint64_t now_ns) const {
  const auto slowest = std::ranges::min_element(targets_, {}, [](const auto& one) { return rank_of(one.state); });
  if (slowest == targets_.end()) return {};
  if (starts_ns_ > now_ns && rank_of(slowest->state) < rank_of(RequestState::Writing))
    return "starts in " + duration_text(starts_ns_ - now_ns);
  return std::string(wire::name_of(slowest->state));
}

std::string TriggerProgress::bar(uint64_t now_ns, std::optional<size_t> columns) const {
  double sum = 0;
  size_t done = 0;
  for (const TargetOutcome& target : targets_) {
    sum += fraction_of(target, now_ns);
    done += wire::is_final(target.state);
  }
  const double whole = targets_.empty() ? 1 : sum / static_cast<double>(targets_.size());
  const std::string text = columns.value_or(kColumnsForBar) >= kColumnsForBar ? bar_text(whole, kBarWidth) : "";
  return base::format("{}{:4} %  {}, {} of {} done", text, static_cast<int>(whole * 100), phase(now_ns),
                      count_text(done), count_text(targets_.size()));
}

std::string TriggerProgress::table() const {
  const bool any_late = std::ranges::any_of(targets_, is_late);
  const bool any_written =
      std::ranges::any_of(targets_, [](const auto& one) { return one.state == RequestState::Finished; });
  std::vector<base::TextTable::Column> columns = {{"pid", base::TextTable::Align::Right}, {"state"}};
  if (any_written)
    columns.insert(columns.end(), {{"size", base::TextTable::Align::Right},
                                   {"events", base::TextTable::Align::Right},
                                   {"lost", base::TextTable::Align::Right}});
  if (any_late) columns.push_back({"late", base::TextTable::Align::Right});
  columns.push_back({any_written || is_over() ? "file or error" : "file"});
  base::TextTable table(columns);
  for (const TargetOutcome& target : targets_) {
    const bool is_written = target.state == RequestState::Finished;
    std::vector<std::string> cells = {std::to_string(target.pid), std::string(wire::name_of(target.state))};
    if (is_written) {
      cells.insert(cells.end(), {bytes_text(target.bytes), count_or_dash(target.events), count_or_dash(target.losses)});
    } else if (any_written) {
      cells.insert(cells.end(), {"", "", ""});
    }
    if (any_late) cells.push_back(is_late(target) ? duration_text(static_cast<uint64_t>(target.late_ns)) : "");
    cells.push_back(file_or_reason(target));
    table.add(std::move(cells));
  }
  return shown(table);
}

void TriggerProgress::write(base::JsonWriter& json) const {
  const auto is_used = [](uint64_t id) { return id != 0; };
  const auto first = std::ranges::find_if(trigger_ids_, is_used);
  const bool has_several = std::ranges::count_if(trigger_ids_, is_used) > 1;
  json.field("trigger", first == trigger_ids_.end() ? uint64_t{0} : *first);
  json.objects("targets", targets_, [&](const TargetOutcome& target) {
    if (has_several) json.field("trigger", target.trigger);
    write_outcome(json, target.pid, target);
  });
}

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
  check_ending(trigger.options.output, trigger.kind);
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

void TriggerRun::end_all(bool keep) {
  for (size_t i = 0; i < daemons_.size(); ++i) {
    if (daemons_[i].is_lost || progress_.is_over_at(i)) continue;
    try {
      daemons_[i].link.send(wire::CancelTrigger{progress_.trigger_ids()[i], keep});
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
      end_all(true);
    } else if (signals == 2) {
      give_up = Clock::now() + kCancelLimit;
      end_all(false);
    } else {
      break;
    }
  }
  return waited;
}

}  // namespace kymo::cli
