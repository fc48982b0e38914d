// The output of a benchmark: lines of fields separated by tabs. scripts/bench combines them into one table.
//
//   row      id  what  measured  target  met|missed|-  kept  discarded
//   peer     id  who   measured  kept  discarded           id: the row to compare it with
//   missing  who  how to get it
#pragma once

#include <cstdio>
#include <string>

namespace bench {

template <class... Args>
std::string text(const char* format, Args... args) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, format, args...);
  return buffer;
}

struct Rounds {
  unsigned kept = 1, discarded = 0;
  bool noisy_ones_count = false;  // noise can only make the number worse, so it is still useful
  bool none() const { return kept == 0 && !noisy_ones_count; }
};

inline void row(const char* id, const std::string& what, const std::string& measured, const std::string& target,
                bool met, Rounds rounds = {}) {
  const bool judged = !target.empty() && !rounds.none() && (met || rounds.kept != 0);
  std::printf("row\t%s\t%s\t%s\t%s\t%s\t%u\t%u\n", id, what.c_str(),
              rounds.none() ? "no quiet round" : measured.c_str(), target.c_str(),
              !judged ? "-"
              : met   ? "met"
                      : "missed",
              rounds.kept, rounds.discarded);
  std::fflush(stdout);
}

inline void peer(const char* id, const std::string& who, const std::string& measured, Rounds rounds = {}) {
  std::printf("peer\t%s\t%s\t%s\t%u\t%u\n", id, who.c_str(), rounds.none() ? "no quiet round" : measured.c_str(),
              rounds.kept, rounds.discarded);
  std::fflush(stdout);
}

inline void missing(const char* who, const char* how) {
  std::printf("missing\t%s\t%s\n", who, how);
  std::fflush(stdout);
}

}  // namespace bench
