// Somebody else who writes into the file of a recording: the sampler.
//
// Only one thread writes a trace file, so that it stays indexed and a flight recorder contains everything. All
// functions are called on the collector's thread, several times a second.
#pragma once

#include "trace/writer.h"

namespace kymo::collect {

class Companion {
 public:
  virtual ~Companion() = default;

  // Writes what is ready. Throws kymo::Error if the file cannot be written; the next call continues.
  virtual void write(trace::Writer& file) = 0;
  // Another file follows: writes everything until now into this one. The next write() states everything again.
  virtual void end_file(trace::Writer& file) = 0;
  // The file has lost its content: the next write() states everything again.
  virtual void restate() = 0;
};

}  // namespace kymo::collect
