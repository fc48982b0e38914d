#include "import/builder/chunk_queue.h"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

namespace kymo::import {
namespace {

constexpr size_t kMostWaiting = 2;
constexpr uint64_t kWithoutThread = 2;  // chunks of a small trace
constexpr size_t kClassesPerChunk = 512;

void clear(trace::Values& values) {
  values.ints.clear();
  values.doubles.clear();
  values.text.clear();
}

// Keeps the memory.
void clear(trace::EventBatch& batch) {
  trace::Ranges& ranges = batch.ranges;
  ranges.end.clear();
  ranges.duration.clear();
  ranges.class_id.clear();
  ranges.depth.clear();
  ranges.lane.clear();
  ranges.correlation.clear();
  clear(ranges.values);
  trace::Points& points = batch.points;
  points.time.clear();
  points.kind.clear();
  points.class_id.clear();
  points.id.clear();
  clear(points.values);
  batch.opening.clear();
  batch.closing.clear();
}

}  // namespace

ChunkQueue::~ChunkQueue() {
  try {
    finish();
  } catch (...) {
    // A caller that needs the error calls finish().
  }
}

void ChunkQueue::write(const Chunk& chunk) {
  const std::span<const trace::EventClass> classes(chunk.classes);
  for (size_t at = 0; at < classes.size(); at += kClassesPerChunk)
    writer_.classes(chunk.id, classes.subspan(at, std::min(kClassesPerChunk, classes.size() - at)));
  writer_.events(chunk.id, chunk.batch);
}

void ChunkQueue::put(const trace::WriterId& id, std::vector<trace::EventClass>& classes, trace::EventBatch& batch) {
  std::vector<trace::OpenRange> still_open = batch.closing;
  Chunk chunk{id, std::exchange(classes, {}), {}};
  std::unique_lock lock(mutex_);
  if (!thread_.joinable() && ++count_ > kWithoutThread) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      // The system gives no more threads.
    }
  }
  if (!unused_.empty()) {
    chunk.batch = std::move(unused_.back().batch);
    unused_.pop_back();
  }
  std::swap(chunk.batch, batch);
  clear(batch);
  batch.track = chunk.batch.track;
  batch.ring = chunk.batch.ring;
  batch.sequence_begin = batch.sequence_end = chunk.batch.sequence_end;
  batch.opening = std::move(still_open);
  if (!thread_.joinable()) {
    write(chunk);
    unused_.push_back(std::move(chunk));
    return;
  }
  changed_.wait(lock, [this] { return waiting_.size() < kMostWaiting || failure_; });
  if (failure_) std::rethrow_exception(failure_);
  waiting_.push_back(std::move(chunk));
  changed_.notify_all();
}

void ChunkQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Chunk chunk = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.notify_all();
    lock.unlock();
    std::exception_ptr failure;
    try {
      write(chunk);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    unused_.push_back(std::move(chunk));
    if (!failure) continue;
    failure_ = failure;
    changed_.notify_all();
    return;
  }
}

void ChunkQueue::finish() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  stopping_ = false;
  count_ = 0;
  if (const std::exception_ptr failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
}

}  // namespace kymo::import
