// Triggers: the request of one command to many programs, from the command to the last outcome.
//
// All programs of a trigger get the request at once. Then the command gets the list, and later each change. If the
// command disconnects, its trigger continues. Every target ends: when its program reports the result, when its
// connection breaks, or at a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/proc.h"
#include "daemon/program.h"
#include "wire/message.h"

namespace kymo::daemon {

// What became of the requests of recent triggers, for commands that did not wait for it.
//
// In memory: a daemon that is started again has forgotten it. The oldest entries of a user make room for newer ones of
// the same user.
class History {
 public:
  static constexpr size_t kMaxPerUser = 256;

  void add(wire::HistoryEntry ended);
  // Appends what the asker may see, the oldest of each user first. `trigger_id` 0: of all triggers.
  void list(uint64_t trigger_id, const Asker& asker, std::vector<wire::HistoryEntry>& entries) const;

 private:
  std::map<uint32_t, std::deque<wire::HistoryEntry>> of_user_;  // by the user of the program
};

struct TriggerLimits {
  size_t max_per_user = 64;                    // triggers that have not ended
  std::vector<std::string> output_folders;     // traces go below these; none: anywhere
  std::chrono::milliseconds answer{10'000};    // until the first message of a program
  std::chrono::milliseconds writing{120'000};  // from the end of the recording, or its last message, to the outcome
};

// A request's id contains the id of its trigger and its number in the trigger, so that a restarted daemon recognizes
// it.
inline constexpr unsigned kTargetBits = 20;
inline constexpr size_t kMaxTargets = size_t{1} << kTargetBits;
constexpr uint64_t trigger_of(uint64_t request_id) { return request_id >> kTargetBits; }

class Triggers {
 public:
  using NextId = std::function<uint64_t()>;
  // The client that gets the changes, and the serial of its messages. Client 0: none.
  struct Listener {
    uint64_t client = 0;
    uint32_t serial = 0;
  };
  // False: the client has disconnected.
  using SendUpdate = std::function<bool(const Listener&, const wire::TriggerUpdate&)>;
  Triggers(Loop& loop, Log& log, Programs& programs, TriggerLimits limits, NextId next_id, SendUpdate send_update);

  struct Started {
    uint64_t id = 0;  // 0: nothing was started, `text` says why
    std::vector<wire::TriggerTarget> targets;
    std::string text;
    std::optional<wire::RefusedCode> refused = {};  // refused for a reason other than the selected programs
  };
  // `kineto_config`: see ProgramRequest. `only`: selects only from these programs; empty: from all.
  Started begin(const wire::Trigger& trigger, const Asker& asker, const Listener& listener,
                const std::string& kineto_config = {}, const std::vector<uint64_t>& only = {});
  // `trigger_id` 0: all triggers that the asker may end.
  Started end(uint64_t trigger_id, const Asker& asker, Ending ending);
  // The requests of recent triggers, and those that run. `trigger_id` 0: of all. The oldest trigger first.
  std::vector<wire::HistoryEntry> history(uint64_t trigger_id, const Asker& asker) const;

  // What a program reports about a request. If this daemon did not send the request, the program is still shown as busy
  // with it.
  void status(uint64_t program, const wire::Status& status);
  void done(uint64_t program, const wire::Done& done);
  void program_left(uint64_t program);
  void listener_left(uint64_t client);

  size_t count() const { return triggers_.size(); }
  // Since the daemon was started.
  struct Counts {
    uint64_t started = 0;                      // triggers
    uint64_t done = 0, bytes = 0, losses = 0;  // requests to programs that ended, and what they reported
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Target {
    uint64_t program = 0;
    int32_t pid = 0;
    uint32_t uid = 0;
    std::string name;
    wire::RequestState state = wire::RequestState::Queued;
    std::string path;  // as far as it is known
    std::string text;  // what it said last
    Loop::Timer deadline;
  };
  struct Active {
    uint32_t uid = 0;  // who asked
    Listener listener;
    size_t left = 0;
    uint64_t asked_at_ns = 0;  // CLOCK_REALTIME
    uint64_t end_ns = 0;       // CLOCK_REALTIME, when the recording ends; 0: not known
    std::vector<Target> targets;
  };
  struct Place {
    uint64_t trigger = 0;
    Active* active = nullptr;
    Target* target = nullptr;
  };
  std::optional<Started> refusal(const wire::Trigger& trigger, const Asker& asker) const;
  std::vector<uint64_t> matching(const wire::Trigger& trigger, const Asker& asker,
                                 const std::vector<uint64_t>& only) const;
  Place find(uint64_t program, uint64_t request_id);
  void expect(const Place& place, bool has_answered);
  void give_up_after(const Place& place, std::chrono::nanoseconds wait);
  void change(const Place& place, wire::TriggerUpdate update);
  void end_unknown(uint64_t trigger_id, const Asker& asker, Ending ending, Started& ended);

  Loop& loop_;
  Log& log_;
  Programs& programs_;
  TriggerLimits limits_;
  NextId next_id_;
  SendUpdate send_update_;
  std::map<uint64_t, Active> triggers_;
  Counts counts_;
  History history_;
};

}  // namespace kymo::daemon
