// The files that a profiler writes when it ends.
#pragma once

#include <string>

#include "edge/result.h"

namespace kymo::edge {

class Outputs {
 public:
  // Either may be empty: no file. Throws kymo::Error with the path and the reason if a file cannot be written, or if
  // another profiler of this process is going to write it; then nothing is changed. A relative path is resolved now,
  // even if the program changes its directory later.
  Outputs(const std::string& trace_file, const std::string& kymo_file);

  // Writes both, even if the first fails; then throws the first error.
  void write(const ResultData& result) const;

 private:
  // Reserves a file in this process while it lives: otherwise two profilers would overwrite each other's file.
  class Claim {
   public:
    explicit Claim(const std::string& path);
    ~Claim();
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

    const std::string path;  // absolute; empty: none
  };
  void write_trace(const ResultData& result) const;

  std::string trace_name_;  // as the user passed it
  Claim trace_file_, kymo_file_;
};

}  // namespace kymo::edge
