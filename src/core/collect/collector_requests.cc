// What other threads request from the collector's thread: dumps and copies of a flight recorder, windows, flushes.
#include <chrono>
#include <utility>
#include <vector>

#include "base/text.h"
#include "collect/collector.h"
#include "kymo/error.h"

namespace kymo::collect {

// Also reads processes that started or ended since the last search. Also writes a clock pair of now: with a clock of
// unknown rate, a reader can convert only times between two pairs.
void Collector::read_all() {
  if (discover_) discover_(*this, false);
  pass(true);
  for (auto& source : sources_) source->note(output_->writer());
}

Output::Endings Collector::endings() const {
  Output::Endings all;
  for (const auto& source : sources_) all.emplace_back(source->id(), source->ending_now());
  return all;
}

void Collector::answer_dumps() {
  if (dump_soon_ != nullptr && dump_soon_->exchange(false)) {
    try {
      read_all();
      output_->dump(output_->path(), endings());
    } catch (const std::exception&) {  // nobody waits for this dump; the flight recorder keeps its data
    }
  }
  std::unique_lock lock(mutex_);
  if (!dump_path_) return;
  try {
    read_all();
    output_->dump(*dump_path_, endings());
  } catch (const std::exception&) {
    dump_error_ = std::current_exception();
  }
  dump_path_.reset();
  answered_.notify_all();
}

void Collector::leave_unanswered() {
  const std::lock_guard lock(mutex_);
  const auto ended = std::make_exception_ptr(Error("the recording has ended meanwhile"));
  if (dump_path_) dump_error_ = ended;
  if (copy_end_asked_) copy_error_ = ended;
  if (flush_asked_) flush_error_ = ended;
  dump_path_.reset();
  copy_end_asked_ = flush_asked_ = false;
  ended_ = true;
  answered_.notify_all();
}

void Collector::answer_copies() {
  std::unique_lock lock(mutex_);
  if (copy_asked_) output_->begin_copy(copy_asked_->path, copy_asked_->from);
  copy_asked_.reset();
  if (!copy_end_asked_) return;
  try {
    write_window();
    read_all();
    output_->end_copy(endings());
  } catch (const std::exception&) {
    copy_error_ = std::current_exception();
  }
  copy_end_asked_ = false;
  answered_.notify_all();
}

void Collector::state_window(const trace::Window& window, uint64_t late_ns) {
  const std::lock_guard lock(mutex_);
  if (window_asked_) late_ns = std::max(late_ns, window_asked_->late_ns);
  window_asked_ = WindowAsked{window, late_ns};
}

void Collector::answer_window() {
  const std::lock_guard lock(mutex_);
  write_window();
}

// Needs the mutex. A request that fails stays pending for the next pass.
void Collector::write_window() {
  if (!window_asked_) return;
  const trace::Window window = window_asked_->window;
  const uint64_t late_ns = window_asked_->late_ns;
  std::vector<trace::WriterId> writers;
  for (const auto& source : sources_) writers.push_back(source->id());
  output_->add_to_file([&](trace::Writer& file) {
    for (const trace::WriterId& writer : writers) {
      file.window(writer, window);
      if (late_ns == 0) continue;
      const trace::Loss late{trace::LossCause::LateStart,
                             0,
                             1,
                             0,
                             0,
                             base::format("recording began {:.3f} ms after the start that was asked for",
                                          static_cast<double>(late_ns) / 1e6)};
      file.losses(writer, {&late, 1});
    }
  });
  stated_ = window;
  window_asked_.reset();
}

void Collector::begin_copy(const std::string& path) {
  const std::lock_guard lock(mutex_);
  refuse_when_ended();
  copy_asked_ = CopyAsked{path, std::chrono::steady_clock::now()};
}

void Collector::end_copy() {
  std::unique_lock lock(mutex_);
  refuse_when_ended();
  copy_error_ = nullptr;
  copy_end_asked_ = true;
  answered_.wait(lock, [this] { return !copy_end_asked_; });
  if (copy_error_) std::rethrow_exception(std::exchange(copy_error_, nullptr));
}

void Collector::dump(const std::string& path) {
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [this] { return !dump_path_; });
  refuse_when_ended();
  dump_error_ = nullptr;
  dump_path_ = path;
  answered_.wait(lock, [this] { return !dump_path_; });
  if (dump_error_) std::rethrow_exception(std::exchange(dump_error_, nullptr));
}

void Collector::flush() {
  std::unique_lock lock(mutex_);
  refuse_when_ended();
  flush_error_ = nullptr;
  flush_asked_ = true;
  answered_.wait(lock, [this] { return !flush_asked_; });
  if (flush_error_) std::rethrow_exception(std::exchange(flush_error_, nullptr));
}

void Collector::answer_flush() {
  const std::lock_guard lock(mutex_);
  if (!flush_asked_) return;
  try {
    read_all();
    output_->writer().index();
  } catch (const std::exception&) {
    flush_error_ = std::current_exception();
  }
  flush_asked_ = false;
  answered_.notify_all();
}

void Collector::refuse_when_ended() const {
  if (ended_) throw Error("the recording has ended meanwhile");
}

}  // namespace kymo::collect
