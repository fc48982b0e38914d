#include "daemon/triggers.h"

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "base/host.h"
#include "base/text.h"
#include "daemon/output.h"

namespace kymo::daemon {

void History::add(wire::HistoryEntry ended) {
  std::deque<wire::HistoryEntry>& entries = of_user_[ended.uid];
  entries.push_back(std::move(ended));
  if (entries.size() > kMaxPerUser) entries.pop_front();
}

void History::list(uint64_t trigger_id, const Asker& asker, std::vector<wire::HistoryEntry>& entries) const {
  for (const auto& [uid, ended] : of_user_) {
    if (!asker.may_see(uid)) continue;
    for (const wire::HistoryEntry& entry : ended)
      if (trigger_id == 0 || trigger_id == entry.trigger_id) entries.push_back(entry);
  }
}

using wire::RequestState;

Triggers::Triggers(Loop& loop, Log& log, Programs& programs, TriggerLimits limits, NextId next_id,
                   SendUpdate send_update)
    : loop_(loop),
      log_(log),
      programs_(programs),
      limits_(std::move(limits)),
      next_id_(std::move(next_id)),
      send_update_(std::move(send_update)) {}

std::optional<Triggers::Started> Triggers::refusal(const wire::Trigger& trigger, const Asker& asker) const {
  const auto refused = [](wire::RefusedCode code, std::string why) { return Started{0, {}, std::move(why), code}; };
  const auto of_asker = std::ranges::count_if(triggers_, [&](const auto& one) { return one.second.uid == asker.uid; });
  if (static_cast<size_t>(of_asker) >= limits_.max_per_user) {
    return refused(wire::RefusedCode::Limit,
                   base::format("{} triggers have not ended yet; wait for one, or cancel it", of_asker));
  }
  if (!wire::is_known(trigger.kind)) {
    return refused(wire::RefusedCode::Malformed, base::format("kymod does not know requests of kind {}; update kymod",
                                                              static_cast<uint32_t>(trigger.kind)));
  }
  if (trigger.options.start_at_ns > base::realtime_ns() + wire::kLongestTraceNs)
    return refused(wire::RefusedCode::Limit, "the start time must be within the next seven days");
  if (const std::string& boot = trigger.options.boot_id; !boot.empty() && boot != base::boot_id())
    return refused(wire::RefusedCode::NotAllowed, "the start time is from another host's clock");
  if (const base::Check selection = check_selection(trigger.selection); !selection)
    return refused(wire::RefusedCode::Limit, selection.reason());
  // Checked in the encoded form: a request that cannot be encoded is never sent to a program.
  wire::TraceOptions options = trigger.options;
  options.output = with_time(options.output, base::realtime_ns());
  if (const base::Check output = check_output(options.output, limits_.output_folders); !output)
    return refused(wire::RefusedCode::NotAllowed, output.reason());
  if (const base::Check window = wire::check_options(options); !window)
    return refused(wire::RefusedCode::Malformed, window.reason());
  return std::nullopt;
}

std::vector<uint64_t> Triggers::matching(const wire::Trigger& trigger, const Asker& asker,
                                         const std::vector<uint64_t>& only) const {
  // A process may be connected with both protocols: it gets one request, with the better protocol.
  std::set<int32_t> kymo_pids;
  for (const auto& [id, program] : programs_)
    if (program->entry().protocol == wire::Protocol::Kymo) kymo_pids.insert(program->entry().pid);
  std::vector<uint64_t> found;
  const size_t max = trigger.process_limit == 0 ? kMaxTargets : std::min<size_t>(trigger.process_limit, kMaxTargets);
  for (const auto& [id, program] : programs_) {
    const wire::ProcessEntry& entry = program->entry();
    if (found.size() == max) break;
    if (!asker.may_see(entry.uid) || !selects(trigger.selection, entry) || !is_there(*program)) continue;
    if (only.empty() && entry.protocol != wire::Protocol::Kymo && kymo_pids.contains(entry.pid)) continue;
    if (only.empty() || std::ranges::find(only, id) != only.end()) found.push_back(id);
  }
  return found;
}

Triggers::Started Triggers::begin(const wire::Trigger& trigger, const Asker& asker, const Listener& listener,
                                  const std::string& kineto_config, const std::vector<uint64_t>& only) {
  if (auto refused = refusal(trigger, asker)) return std::move(*refused);
  const std::vector<uint64_t> found = matching(trigger, asker, only);
  if (found.empty()) return {0, {}, nothing_found(trigger.selection, programs_, asker), {}};

  ProgramRequest request{0, trigger.kind, trigger.options, kineto_config, base::realtime_ns()};
  if (request.options.start_at_ns != 0) request.options.boot_id = base::boot_id();
  request.options.output = with_time(request.options.output, base::realtime_ns());
  Started started;
  started.id = next_id_();
  Active& active = triggers_[started.id];
  ++counts_.started;
  active.uid = asker.uid;
  active.listener = listener;
  active.left = found.size();
  active.asked_at_ns = request.asked_at_ns;
  active.end_ns = end_of(request.options);
  active.targets.reserve(found.size());
  for (const uint64_t id : found) {
    Program& program = *programs_.find(id);
    request.id = started.id << kTargetBits | active.targets.size();
    Target& target = active.targets.emplace_back();
    target.program = id;
    target.pid = program.entry().pid;
    target.uid = program.entry().uid;
    target.name = program.entry().name;
    const bool polls = program.entry().protocol == wire::Protocol::Kineto;
    const auto objection = program.objection(request);
    std::string text = objection ? objection->text : program.note_about(request);
    if (objection) {
      // After the command has received the list of targets.
      loop_.later([this, id, outcome = *objection] { done(id, outcome); });
    } else {
      program.start(request);
      target.path = program.path_of(request);
      expect({started.id, &active, &target}, polls && !is_stopped(target.pid));
    }
    started.targets.push_back({target.pid, request.id, target.state, target.path, std::move(text), polls});
  }
  return started;
}

Triggers::Place Triggers::find(uint64_t program, uint64_t request_id) {
  const auto found = triggers_.find(trigger_of(request_id));
  const size_t index = request_id & (kMaxTargets - 1);
  if (found == triggers_.end() || index >= found->second.targets.size()) return {};
  Target& target = found->second.targets[index];
  if (target.program != program || wire::is_final(target.state)) return {};
  return {found->first, &found->second, &target};
}

void Triggers::expect(const Place& place, bool has_answered) {
  const uint64_t now = base::realtime_ns();
  std::chrono::nanoseconds wait = limits_.answer;
  if (has_answered) {
    const bool has_end = place.active->end_ns != 0 || place.target->state == RequestState::Writing;
    if (!has_end) return place.target->deadline.reset();  // no deadline: it takes as long as its iterations
    wait = limits_.writing + std::chrono::nanoseconds(place.active->end_ns > now ? place.active->end_ns - now : 0);
  }
  give_up_after(place, wait);
}

void Triggers::give_up_after(const Place& place, std::chrono::nanoseconds wait) {
  const uint64_t request_id =
      place.trigger << kTargetBits | static_cast<uint64_t>(place.target - place.active->targets.data());
  place.target->deadline = loop_.in(wait, [this, request_id, program = place.target->program, pid = place.target->pid] {
    if (Program* silent = programs_.find(program)) silent->give_up(request_id);
    wire::Done outcome{{.state = RequestState::Failed}, request_id};
    outcome.text = is_stopped(pid) ? base::format("it is stopped; continue it with: kill -CONT {}", pid)
                                   : "it does not answer; its machine may be overloaded";
    done(program, outcome);
  });
}

void Triggers::change(const Place& place, wire::TriggerUpdate update) {
  Active& active = *place.active;
  place.target->state = update.state;
  if (update.path.empty()) {
    update.path = place.target->path;
  } else {
    place.target->path = update.path;
  }
  place.target->text = update.text;
  if (wire::is_final(update.state)) {
    history_.add({update, place.trigger, place.target->pid, place.target->uid, place.target->name, active.asked_at_ns,
                  base::realtime_ns()});
    place.target->deadline.reset();
    --active.left;
  }
  update.trigger_id = place.trigger;
  update.pid = place.target->pid;
  update.targets_left = static_cast<uint32_t>(active.left);
  if (active.listener.client != 0 && !send_update_(active.listener, update)) active.listener = {};
  if (active.left > 0) return;
  log_.say(outcome_text(place.trigger, active.targets));
  triggers_.erase(place.trigger);
}

void Triggers::status(uint64_t program, const wire::Status& status) {
  if (Program* busy = programs_.find(program); busy != nullptr && !wire::is_final(status.state)) {
    busy->entry().request_id = status.id;
    busy->entry().state = status.state;
  }
  const Place place = find(program, status.id);
  if (place.target == nullptr || wire::is_final(status.state)) return;  // only Done reports the end
  // Only a change extends the deadline.
  const bool is_news = place.target->state != status.state;
  wire::TriggerUpdate update{{.state = status.state, .text = status.text}};
  update.progress = status.progress;
  change(place, std::move(update));
  if (is_news) expect(place, true);
}

void Triggers::done(uint64_t program, const wire::Done& done) {
  if (Program* ready = programs_.find(program); ready != nullptr && ready->entry().request_id == done.id) {
    ready->entry().request_id = 0;
    ready->entry().state = RequestState::Waiting;
  }
  const Place place = find(program, done.id);
  if (place.target == nullptr) return;
  ++counts_.done;
  counts_.bytes += done.bytes;
  counts_.losses += done.losses;
  wire::TriggerUpdate update{done};
  update.progress = wire::kWholeProgress;
  if (done.path.empty()) place.target->path.clear();  // nothing was written
  change(place, std::move(update));
}

void Triggers::program_left(uint64_t program) {
  struct Open {
    uint64_t request_id;
    std::string path;
    uint32_t uid;
  };
  std::vector<Open> open;  // a copy, because done() removes triggers
  for (auto& [id, active] : triggers_)
    for (size_t i = 0; i < active.targets.size(); ++i)
      if (active.targets[i].program == program && !wire::is_final(active.targets[i].state))
        open.push_back({id << kTargetBits | i, active.targets[i].path, active.targets[i].uid});
  for (const auto& [request_id, path, uid] : open) done(program, died_outcome(request_id, path, uid));
}

void Triggers::listener_left(uint64_t client) {
  for (auto& [id, active] : triggers_)
    if (active.listener.client == client) active.listener = {};
}

Triggers::Started Triggers::end(uint64_t trigger_id, const Asker& asker, Ending ending) {
  Started ended{trigger_id, {}, {}, {}};
  for (auto& [id, active] : triggers_) {
    if (trigger_id != 0 && trigger_id != id) continue;
    for (size_t i = 0; i < active.targets.size(); ++i) {
      Target& target = active.targets[i];
      Program* program = programs_.find(target.program);
      if (wire::is_final(target.state) || program == nullptr || !asker.may_see(target.uid)) continue;
      const uint64_t request_id = id << kTargetBits | i;
      const base::Check stops = program->end(request_id, ending);
      if (stops) give_up_after({id, &active, &target}, limits_.answer + limits_.writing);
      ended.targets.push_back({target.pid, request_id, target.state, target.path, stops.reason()});
    }
  }
  end_unknown(trigger_id, asker, ending, ended);
  if (ended.targets.empty()) {
    ended.text = trigger_id == 0 ? "nothing is being recorded"
                                 : base::format("trigger {} does not exist, is not yours, or has ended", trigger_id);
  }
  return ended;
}

// Requests of an earlier daemon that programs reported.
void Triggers::end_unknown(uint64_t trigger_id, const Asker& asker, Ending ending, Started& ended) {
  for (const auto& [id, program] : programs_) {
    const wire::ProcessEntry& entry = program->entry();
    const uint64_t asked = trigger_of(entry.request_id);
    if (entry.request_id == 0 || triggers_.contains(asked) || !asker.may_see(entry.uid)) continue;
    if (trigger_id != 0 && trigger_id != asked) continue;
    const uint64_t request_id = entry.request_id;
    const base::Check stops = program->end(request_id, ending);
    ended.targets.push_back({entry.pid, request_id, entry.state, {}, stops.reason()});
  }
}

std::vector<wire::HistoryEntry> Triggers::history(uint64_t trigger_id, const Asker& asker) const {
  std::vector<wire::HistoryEntry> entries;
  history_.list(trigger_id, asker, entries);
  for (const auto& [id, active] : triggers_) {
    if (trigger_id != 0 && trigger_id != id) continue;
    for (const Target& target : active.targets) {
      if (wire::is_final(target.state) || !asker.may_see(target.uid)) continue;
      entries.push_back({{.state = target.state, .path = target.path, .text = target.text},
                         id,
                         target.pid,
                         target.uid,
                         target.name,
                         active.asked_at_ns});
    }
  }
  std::ranges::stable_sort(entries, {}, &wire::HistoryEntry::trigger_id);
  return entries;
}

}  // namespace kymo::daemon
