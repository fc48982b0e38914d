// The files that a profiler writes when it ends.
#pragma once

#include <string>

#include "edge/result_data.h"

namespace kymo::edge {

class Outputs {
 public:
  // Either may be empty: none. Throws kymo::Error with the path and the reason for one that cannot be written, or that
  // others of this process are going to write, and leaves everything as it was. A relative path is taken from here,
  // wherever the program goes meanwhile.
  Outputs(const std::string& trace_file, const std::string& kymo_file);

  // Both, also where the first does not go; then throws what was wrong first.
  void write(const ResultData& result) const;

 private:
  // A file of no other in this process, as long as it lives: one would overwrite the other.
  class Claim {
   public:
    explicit Claim(const std::string& path);
    ~Claim();
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

    const std::string path;  // absolute; empty: none
  };
  void write_trace(const ResultData& result) const;

  std::string trace_name_;  // as it was given
  Claim trace_file_, kymo_file_;
};

}  // namespace kymo::edge
