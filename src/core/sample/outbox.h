// Chunks of a trace that wait until they are written.
//
// The sampler fills it, and the thread that owns the file empties it. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <variant>
#include <vector>

#include "trace/model.h"
#include "trace/writer.h"

namespace kymo::sample {

// The names of code: frames with an address in a file.
struct CodeNames {
  std::vector<trace::Module> modules;
  std::vector<trace::Frame> frames;
};

struct Chunk {
  trace::WriterId writer;
  std::variant<trace::Origin, trace::ClockDomain, std::vector<trace::EventClass>, std::vector<trace::Track>,
               trace::EventBatch, CodeNames, std::vector<trace::Loss>, trace::Ending>
      content;
};

class Outbox {
 public:
  // Events beyond a limit are dropped: the file could not be written for a long time. A loss says how many.
  void add(Chunk chunk);
  // Writes everything. Throws kymo::Error if the file cannot be written; the next call continues.
  void write(trace::Writer& file);
  uint64_t dropped() const;

 private:
  mutable std::mutex mutex_;
  std::deque<Chunk> chunks_;
  uint64_t points_ = 0, dropped_ = 0;
  std::deque<Chunk> taken_;  // only for write()
};

}  // namespace kymo::sample
