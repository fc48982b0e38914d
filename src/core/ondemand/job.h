// One request, from its arrival to its result: a trace, the last part of a flight recorder, or a memory profile.
//
// A job does nothing by itself. The agent's thread calls advance() at due_ns() or when it was woken, and reads the
// state of the job. Slow work, such as reading and writing files, runs on the job's own thread, which wakes the agent
// when it is done. Nothing here throws: errors become the job's result.
//
//   Waiting ─▶ Recording ─▶ Writing ─▶ Finished, Failed or Cancelled
//
// Recording begins a little before the requested time and ends a little after. The file states the requested span as
// its window: its start as soon as it is known, so that the trace of a program that is killed says it too.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ondemand/clients.h"
#include "ondemand/iterations.h"
#include "ondemand/output_file.h"
#include "ondemand/trace_output.h"
#include "wire/message.h"

namespace kymo::ondemand {

enum class JobKind : uint8_t { Trace, Last, Memory };

struct JobRequest {
  uint64_t id = 0;
  JobKind kind = JobKind::Trace;
  uint64_t start_at_ns = 0;  // CLOCK_REALTIME; 0: now
  uint64_t asked_at_ns = 0;  // CLOCK_REALTIME, when it was requested; 0: when it arrives
  uint64_t duration_ns = 0;  // 0: by iterations
  uint64_t iterations = 0, iteration_roundup = 0;
  std::optional<uint64_t> start_iteration = {};  // not before this one
  uint64_t last_ns = 0;
  // If iterations are requested and none begins for a while: records for this time from then on. 0: the job fails.
  uint64_t instead_ns = 0;
  std::string output = {};  // with all names filled in
  AllowedFolders allowed = {};
  Existing existing = Existing::Keep;
  OutputForm form = OutputForm::ByName;
  TraceFlags flags = {};
  std::vector<std::pair<std::string, std::string>> metadata = {};
};

inline constexpr uint64_t kNever = ~uint64_t{0};

class Job {
 public:
  explicit Job(JobRequest request);
  ~Job();  // waits for its thread
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void advance();
  void cancel();
  // Ends it now, on request. The trace contains what was recorded so far; if that is nothing, the job is cancelled.
  void stop();
  // The program ends, or a client is removed: the trace contains what was recorded so far.
  void finish_early(const std::string& why);

  const JobRequest& request() const { return request_; }
  wire::RequestState state() const { return state_; }
  uint32_t progress() const;  // of its state, in thousandths
  std::string text() const;
  bool done() const { return wire::is_final(state_); }
  const wire::Outcome& result() const { return result_; }

  uint64_t due_ns() const;  // CLOCK_MONOTONIC; kNever: only when woken
  // While it waits for a time of day: that time, minus the preparation time. 0: it does not wait.
  uint64_t due_realtime_ns() const;

 private:
  enum class Step : uint8_t { AwaitTime, AwaitIteration, AwaitBegin, Record, Write, Done };

  void begin();
  void await_iteration();
  void begin_recording();
  void arm_iterations();
  void advance_time(uint64_t now);
  void advance_iterations(uint64_t now);
  void state_window(uint64_t to_ns);
  void end_recording(uint64_t to_ns);
  bool has_recorded(uint64_t now) const;
  void write_in_thread();
  void write();
  void take_written();
  void fail(const std::string& why);
  void close_down() noexcept;
  uint64_t start_monotonic_ns() const;

  JobRequest request_;
  Step step_ = Step::AwaitTime;
  wire::RequestState state_ = wire::RequestState::Waiting;
  wire::Outcome result_{.state = wire::RequestState::Failed};
  std::optional<OutputFile> file_;
  uint64_t arrived_ns_;
  uint64_t asked_ns_;                 // when it was requested, CLOCK_MONOTONIC
  uint64_t began_ns_ = 0;             // when recording was on in all threads; 0: not yet
  uint64_t from_ns_ = 0, to_ns_ = 0;  // the span, CLOCK_MONOTONIC
  uint64_t next_look_ns_ = kNever;
  bool watches_ranges_ = false;
  Iterations* iterations_ = nullptr;  // set once it is known what counts them
  bool cancelled_ = false;
  bool clients_started_ = false;
  std::string ended_early_;  // the reason

  std::thread writer_;
  std::atomic<bool> written_{false};
  WrittenTrace trace_;       // used by the writer thread until written_
  std::string write_error_;  // the same
  bool keep_part_ = true;    // the same: keep the recording if it cannot be written as requested
};

}  // namespace kymo::ondemand
