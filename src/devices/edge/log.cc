#include "edge/log.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <new>

#include "base/clock.h"
#include "edge/recorder.h"
#include "edge/thread_state.h"
#include "kymo/queue.h"

namespace kymo::edge {

thread_local constinit ThreadState this_thread __attribute__((tls_model("initial-exec"))){};

namespace {

uint64_t next_unique() noexcept {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// The recorder decides which clock kymo_ticks() is; the variable that says so is its own.
bool ticks_are_counter() noexcept {
  const uint64_t before = record::counter(), ticks = kymo_ticks();
  return before <= ticks && ticks <= record::counter();
}

}  // namespace

uint64_t number_of_this_thread() noexcept {
  if (this_thread.number == 0) this_thread.number = next_unique();
  return this_thread.number;
}

// A fork holds its lock and those of all logs, so that the child can use them.
class Log::All {
 public:
  static All& instance() {
    static auto& one = *new All;
    return one;
  }

  void add(Log* log) {
    const std::lock_guard lock(mutex_);
    logs_.push_back(log);
  }
  void remove(Log* log) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(logs_, log);
  }

 private:
  All() {
    pthread_atfork([] { instance().lock(); }, [] { instance().unlock(); },
                   [] {
                     for (Log* const log : instance().logs_) log->leave_to_parent();
                     this_thread.current = this_thread.own = nullptr;
                     instance().unlock();
                   });
  }

  void lock() {
    mutex_.lock();
    for (Log* const log : logs_) log->mutex_.lock();
  }
  void unlock() {
    for (Log* const log : logs_) log->mutex_.unlock();
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::vector<Log*> logs_;
};

Log::Log(LogOptions options, EdgeProfiler* profiler)
    : id_(next_unique()),
      owner_(number_of_this_thread()),
      options_(std::move(options)),
      reads_counter_(ticks_are_counter()),
      profiler_(profiler),
      begin_(base::read_clock_pair(kymo_ticks)) {
  All::instance().add(this);
}

Log::~Log() { All::instance().remove(this); }

// In a forked child. The log is never destroyed there: the parent's operations that are open still refer to it.
void Log::leave_to_parent() noexcept {
  profiler_.store(nullptr, std::memory_order_release);
  on_.store(false, std::memory_order_seq_cst);
  open_after_end_ = UINT64_MAX;
  keep();
}

void Log::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

// ---- Threads --------------------------------------------------------------------------------------------------------

ThreadRecorder* Log::find_recorder(bool make) noexcept {
  if (this_thread.making) return nullptr;
  const uint64_t number = number_of_this_thread();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& recorder : recorders_) {
      if (recorder->number() != number) continue;
      this_thread.known[id_ % ThreadState::kKnown] = {id_, recorder.get()};
      return recorder.get();
    }
  }
  return make ? make_recorder() : nullptr;
}

ThreadRecorder* Log::make_recorder() noexcept try {
  if (!on() || this_thread.making) return nullptr;
  struct Making {
    Making() { this_thread.making = true; }
    ~Making() { this_thread.making = false; }
  } const making;
  const uint64_t number = number_of_this_thread();
  auto made = std::make_unique<ThreadRecorder>(options_, number, number == owner_);
  const std::lock_guard lock(mutex_);
  if (!on()) return nullptr;
  recorders_.push_back(std::move(made));
  this_thread.known[id_ % ThreadState::kKnown] = {id_, recorders_.back().get()};
  return recorders_.back().get();
} catch (const std::bad_alloc&) {
  return nullptr;
}

Place Log::here() noexcept {
  ThreadRecorder* const recorder = this->recorder();
  if (recorder == nullptr || !recorder->enter(*this)) return {};
  recorder->settle();
  const Place place{recorder, recorder->innermost()};
  recorder->leave();
  return place;
}

// ---- The end --------------------------------------------------------------------------------------------------------

void Log::stop() noexcept {
  const std::lock_guard lock(mutex_);
  if (!on()) return;
  profiler_.store(nullptr, std::memory_order_release);
  on_.store(false, std::memory_order_seq_cst);
  uint64_t open = 0;
  for (const auto& recorder : recorders_) {
    while (recorder->number() != number_of_this_thread() && recorder->busy()) sched_yield();
    open += recorder->operations.size() - recorder->ended;
    recorder->end_counting();
  }
  end_ = base::read_clock_pair(kymo_ticks);
  open_after_end_ = open - ended_elsewhere_;
  if (open_after_end_ != 0) keep();
}

LogContents Log::contents() const {
  const std::lock_guard lock(mutex_);
  LogContents contents{begin_, end_, &options_, {}};
  for (const auto& recorder : recorders_) contents.threads.push_back(recorder.get());
  return contents;
}

void Log::end_elsewhere(RawOperation& operation, uint64_t ticks) noexcept {
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    if (operation.over.load(std::memory_order_relaxed)) return;  // it was already ended
    if (on()) {
      operation.ended_elsewhere = true;
      operation.end_ticks.store(ticks, std::memory_order_relaxed);
      ++ended_elsewhere_;
    } else {
      last = --open_after_end_ == 0;
    }
    operation.over.store(true, std::memory_order_release);
  }
  if (last) release();
}

}  // namespace kymo::edge
