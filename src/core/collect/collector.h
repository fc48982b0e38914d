// The collector: one thread that reads segments and writes them to an output until it is stopped.
//
// It runs in the recorded program or in `kymo record`, with the same code. Its thread never records, and receives none
// of the program's signals.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "collect/output.h"
#include "collect/recording.h"
#include "collect/source.h"
#include "trace/writer.h"

namespace kymo::collect {

// A process that could not record.
struct Unrecorded {
  std::string session;  // in hex
  uint64_t pid = 0, parent_pid = 0;
  std::string why;
};

// Says it in a trace, so that the trace does not look complete: the process becomes a writer of its own, with one loss.
// Throws kymo::Error if the file cannot be written.
void write_unrecorded(trace::Writer& file, const Unrecorded& process);

class Collector {
 public:
  // `discover` is called on the collector's thread about fifty times a second, and once more at the end. It may add and
  // remove sources.
  using Discover = std::function<void(Collector&, bool is_last)>;
  explicit Collector(std::unique_ptr<Output> output, Discover discover = nullptr);
  ~Collector();  // stops, never throws

  // Call it before start(). Writes into the file that a recording has started which all processes of `session` may
  // join.
  void announce(const trace::WriterId& session);

  // Throws kymo::NotAvailable if the system has no thread left.
  void start();

  // For the thread that calls start(), before that call, and for `discover`. Describes the source in the file
  // immediately.
  void add(std::unique_ptr<Source> source);
  // Drains the source to its end and removes it. Throws kymo::Error; then the source is not removed.
  void remove(Source& source);
  std::list<std::unique_ptr<Source>>& sources() { return sources_; }
  Output& output() { return *output_; }

  // From any thread: from now on, `companion` also writes into the file, until the end of stop(). There may be
  // kCompanions.
  void accompany(Companion& companion);

  // Ends the thread, drains everything, completes the file. Throws kymo::Error with the reason; then the segments still
  // hold what is not in the file, and stop() may be called again.
  void stop();

  // Call it before stop(). The data of a flight recorder is discarded instead of written to its file.
  void forget_flight() noexcept { forget_flight_ = true; }

  // For `discover`: writes into the file that a process of the session could not record.
  void add_refused(uint64_t pid, const std::string& why);

  // In a forked child, for the parent's collector: closes the inherited files. It is never destroyed there.
  void abandon() noexcept { output_->abandon(); }

  // From any thread: requests a dump from the collector's thread and waits for it. Throws if the dump fails.
  void dump(const std::string& path);
  // From any thread: from now on, new data of a flight recorder also goes to `path` (Output::begin_copy). end_copy()
  // waits for the collector's thread, and throws if the copy failed.
  void begin_copy(const std::string& path);
  void end_copy();
  // From any thread: the collector's thread soon writes that the recorded processes have this window, into the file or,
  // while a flight recorder is copied, into the copy. stop() and end_copy() write it before they read the rest. A
  // recording that began `late_ns` after its window has a loss that says so.
  void state_window(const trace::Window& window, uint64_t late_ns);
  // From any thread: when it returns, everything that all threads have recorded until now is in the file. Throws if
  // this fails.
  void flush();
  // Call it before start(). When `asked` is set, for example by a signal handler, the collector soon dumps to the
  // output's own path. `asked` must outlive this object.
  void watch_for_dumps(std::atomic<bool>& asked) { dump_soon_ = &asked; }

  Progress progress() const;

 private:
  // Of another thread, which waits until the collector's thread has answered it.
  struct Request {
    bool is_asked = false;
    std::exception_ptr error = {};
  };
  void run();
  void complete();
  bool pass(bool everything);
  void wait(uint32_t seen);
  void read_all();
  void write_companions();
  template <class Visit>
  void each_companion(Visit visit);
  void rotate();
  Output::Endings endings() const;
  void answer_dumps();
  void answer_copies();
  void answer_flush();
  void answer_window();
  void write_window();
  void refuse_when_ended() const;
  void ask(std::unique_lock<std::mutex>& lock, Request& request);
  template <class Work>
  void answer(Request& request, Work work);
  void leave_unanswered();  // fails the requests that are pending when the thread ends
  void update_progress();

  std::unique_ptr<Output> output_;
  Discover discover_;
  std::list<std::unique_ptr<Source>> sources_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool>* dump_soon_ = nullptr;
  static constexpr size_t kCompanions = 2;  // the samples of programs, and the counters of GPUs
  std::array<std::atomic<Companion*>, kCompanions> companions_{};

  mutable std::mutex mutex_;  // protects the following members
  std::condition_variable answered_;
  Request dump_, copy_end_, flush_;
  std::string dump_path_;
  struct CopyAsked {
    std::string path;
    std::chrono::steady_clock::time_point from;
  };
  std::optional<CopyAsked> copy_asked_;
  struct WindowAsked {
    trace::Window window;
    uint64_t late_ns;
  };
  std::optional<WindowAsked> window_asked_;
  bool ended_ = false;  // no request is answered any more
  Progress progress_;

  std::optional<trace::WriterId> announced_;
  uint64_t removed_events_ = 0, removed_lost_ = 0, removed_threads_ = 0, removed_ = 0, removed_unfinished_ = 0;
  std::chrono::nanoseconds nap_{1'000'000};  // how long it sleeps between passes if there is little to read
  std::exception_ptr failure_;               // of the last pass; null: it succeeded
  bool complete_ = false;
  bool forget_flight_ = false;
  uint64_t cpu_ns_ = 0;  // CPU time of the thread
};

}  // namespace kymo::collect
