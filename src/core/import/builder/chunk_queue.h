// Writes chunks of events in another thread, in order: one thread prepares a chunk while the other one compresses the
// chunk before it.
//
//   ChunkQueue queue(writer);
//   queue.put(id, classes, batch);     // as Writer::classes and Writer::events; takes the content of both
//   queue.finish();                    // everything is written. Throws what the writer threw.
//
// Between put() and finish(), nobody else may use the writer. A few chunks are in memory at a time.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "trace/writer.h"

namespace kymo::import {

class ChunkQueue {
 public:
  explicit ChunkQueue(trace::Writer& writer) : writer_(writer) {}
  ~ChunkQueue();
  ChunkQueue(const ChunkQueue&) = delete;
  ChunkQueue& operator=(const ChunkQueue&) = delete;

  // Throws what the writer threw for an earlier chunk. Leaves `batch` without events, with the opening ranges of the
  // next chunk of its track.
  void put(const trace::WriterId& id, std::vector<trace::EventClass>& classes, trace::EventBatch& batch);
  void finish();

 private:
  struct Chunk {
    trace::WriterId id;
    std::vector<trace::EventClass> classes;
    trace::EventBatch batch;
  };

  void write(const Chunk& chunk);
  void run();

  trace::Writer& writer_;
  uint64_t count_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Chunk> waiting_;
  std::vector<Chunk> unused_;  // their memory is used again
  bool stopping_ = false;
  std::exception_ptr failure_;
};

}  // namespace kymo::import
