// The collector: one thread that reads segments and writes them to an output until it is stopped.
//
// It runs in the recorded program or in `kymo record`, and is the same code in both. Its thread never records and takes
// none of the program's signals.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
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

namespace kymo::collect {

class Collector {
 public:
  // `discover` is called on the collector's thread, some fifty times a second, and a last time at the end: it may add
  // and remove sources.
  using Discover = std::function<void(Collector&, bool is_last)>;
  explicit Collector(std::unique_ptr<Output> output, Discover discover = nullptr);
  ~Collector();  // stops without throwing

  // Before start(): says in the file that a recording has begun which all processes of `session` may join.
  void announce(const trace::WriterId& session);

  void start();

  // For the thread that started it, before start(), and for `discover`. Introduces the source in the file at once.
  void add(std::unique_ptr<Source> source);
  // Drains the source to its end and forgets it. Throws kymo::Error; the source is then still there.
  void remove(Source& source);
  std::list<std::unique_ptr<Source>>& sources() { return sources_; }
  Output& output() { return *output_; }

  // Ends the thread, drains everything, completes the file. Throws kymo::Error with what went wrong; segments then
  // still hold what is not in the file, and stop() may be called again.
  void stop();

  // Before stop(): what a flight recorder holds is let go of instead of written to its file.
  void forget_flight() noexcept { forget_flight_ = true; }

  // For `discover`: says in the file that a process of the session could not record.
  void add_refused(uint64_t pid, const std::string& why);

  // In a forked child, for the parent's collector: closes the files that came along. It is never destroyed there.
  void abandon() noexcept { output_->abandon(); }

  // From any thread: asks the collector's thread for a dump and waits for it. Throws what it threw.
  void dump(const std::string& path);
  // From any thread: what a flight recorder gets from now on goes to `path` as well (Output::begin_copy). The end waits
  // for the collector's thread, and throws what it threw.
  void begin_copy(const std::string& path);
  void end_copy();
  // From any thread: what every thread has recorded until now is in the file when it returns. Throws what that threw.
  void flush();
  // Before start(): when `asked` is set, as by a signal handler, there is a dump to the output's own path, by and by.
  // It outlives this.
  void watch_for_dumps(std::atomic<bool>& asked) { dump_soon_ = &asked; }

  Progress progress() const;

 private:
  void run();
  void complete();
  bool pass(bool everything);
  void wait(uint32_t seen);
  void read_all();
  Output::Endings endings() const;
  void answer_dumps();
  void answer_copies();
  void answer_flush();
  void refuse_when_ended() const;
  void leave_unanswered();  // whoever asks while the thread ends
  void update_progress();

  std::unique_ptr<Output> output_;
  Discover discover_;
  std::list<std::unique_ptr<Source>> sources_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool>* dump_soon_ = nullptr;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable answered_;
  std::optional<std::string> dump_path_;
  std::exception_ptr dump_error_;
  struct CopyAsked {
    std::string path;
    std::chrono::steady_clock::time_point from;
  };
  std::optional<CopyAsked> copy_asked_;
  bool copy_end_asked_ = false;
  std::exception_ptr copy_error_;
  bool flush_asked_ = false;
  std::exception_ptr flush_error_;
  bool ended_ = false;  // nobody answers any more
  Progress progress_;

  std::optional<trace::WriterId> announced_;
  uint64_t removed_events_ = 0, removed_lost_ = 0, removed_threads_ = 0, removed_ = 0, removed_unfinished_ = 0;
  std::chrono::nanoseconds nap_{1'000'000};  // how long it sleeps between looks when there is little to read
  std::exception_ptr failure_;               // of the last pass; null: it went well
  bool complete_ = false;
  bool forget_flight_ = false;
  uint64_t cpu_ns_ = 0;  // what the thread has used
};

}  // namespace kymo::collect
