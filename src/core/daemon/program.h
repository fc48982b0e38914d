// A program that can be asked for a trace, with either protocol.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/connection.h"
#include "daemon/proc.h"
#include "wire/message.h"

namespace kymo::daemon {

// What is asked of one program.
struct ProgramRequest {
  uint64_t id = 0;
  wire::RequestKind kind = wire::RequestKind::Trace;
  wire::TraceOptions options = {};
  std::string kineto_config = {};  // libkineto's text, if the request came as one; empty: made from the options
  uint64_t asked_at_ns = 0;        // CLOCK_REALTIME
};

// How a recording ends that is not needed any longer.
enum class Ending : uint8_t {
  Discard,
  Keep,  // the trace contains what was recorded so far
};

class Program {
 public:
  Program(wire::ProcessEntry entry, const ProcessFacts& facts)
      : entry_(std::move(entry)), started_(facts.started), inner_pid_(facts.inner_pid) {}
  virtual ~Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The pid comes from the kernel and the parents from /proc. Name and job are what the program reports.
  const wire::ProcessEntry& entry() const { return entry_; }
  wire::ProcessEntry& entry() { return entry_; }
  uint64_t started() const { return started_; }     // ProcessFacts::started
  int32_t inner_pid() const { return inner_pid_; }  // in its own namespace; its file names contain this one
  bool is_busy() const { return entry_.request_id != 0; }

  // The outcome if this program cannot accept the request; nothing if it can.
  virtual std::optional<wire::Done> objection(const ProgramRequest& request) const = 0;
  // Where the trace will be; empty: not known.
  virtual std::string path_of(const ProgramRequest& request) const = 0;
  // What the user should know about the request before its outcome; empty: nothing.
  virtual std::string note_about(const ProgramRequest&) const { return {}; }
  virtual void start(const ProgramRequest& request) = 0;
  // Refused: it cannot be ended any more, or not so.
  virtual base::Check end(uint64_t request_id, Ending ending) = 0;
  // Nobody waits for its outcome any more.
  virtual void give_up(uint64_t request_id) { static_cast<void>(end(request_id, Ending::Discard)); }

 private:
  wire::ProcessEntry entry_;
  uint64_t started_;
  int32_t inner_pid_;
};

// All connected programs, by a number that is never reused. The objects that communicate with them own them, and remove
// them from here before they destroy them.
class Programs {
 public:
  uint64_t add(Program& program) { return all_.emplace(++last_, &program).first->first; }
  void remove(uint64_t id) { all_.erase(id); }
  // Null: it is gone.
  Program* find(uint64_t id) const {
    const auto found = all_.find(id);
    return found == all_.end() ? nullptr : found->second;
  }
  size_t size() const { return all_.size(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::map<uint64_t, Program*> all_;
  uint64_t last_ = 0;
};

// A program with libkineto has no connection that would show its end, so this checks whether its process exists.
bool is_there(const Program& program);

// Refused: too many names, or a name that is too long.
base::Check check_selection(const wire::Selection& selection);

// Whether `selection` matches this program. Does not check whether the requester may see it.
bool selects(const wire::Selection& selection, const wire::ProcessEntry& entry);

// Why no program that `asker` may see matches `selection`, and what to do.
std::string nothing_found(const wire::Selection& selection, const Programs& programs, const Asker& asker);

// A program with Kymo's own agent: it has a connection and gets a request at once.
class AgentProgram : public Program {
 public:
  // The connection outlives it.
  AgentProgram(Connection& connection, const ProcessFacts& facts, const wire::Hello& hello);

  std::optional<wire::Done> objection(const ProgramRequest& request) const override;
  std::string path_of(const ProgramRequest& request) const override;
  void start(const ProgramRequest& request) override;
  base::Check end(uint64_t request_id, Ending ending) override;

 private:
  int32_t pid_in_path(const ProgramRequest& request) const;

  Connection& connection_;
};

}  // namespace kymo::daemon
