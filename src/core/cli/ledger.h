// What is missing in a trace: lost events by cause, damaged parts of the file, and events of processes that were never
// added to it.
//
// Every command shows it when it is not empty, because an incomplete trace must not look complete. `--strict`
// makes it an error.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyze/losses.h"
#include "analyze/summary.h"
#include "base/json_writer.h"
#include "trace/reader.h"

namespace kymo::cli {

class Ledger {
 public:
  explicit Ledger(const analyze::Summary& summary);
  // With the problems found while reading the events, including those found while opening the file.
  Ledger(const analyze::Summary& summary, const std::vector<trace::Problem>& problems);

  bool empty() const { return losses_.empty() && problems_.empty() && missing_.empty(); }

  // Prints to standard error. Losses have one line for each cause and process. A long ledger is cut, with a note. Each
  // line begins with `file`, for a command that reads several.
  void show(const std::string& file = {}) const;

  // The members "losses", "problems" and "missing" of the object that is open. Losses have an entry for each track, and
  // the times of an entry are relative to the first event: negative if the loss was before it.
  void write(base::JsonWriter& json) const;

  // What a command prints as JSON about a file: `write` adds the members between its name and this ledger.
  std::string document(const std::string& file, const std::function<void(base::JsonWriter&)>& write_members) const;
  // Shows it at the end of a command, and returns the exit code.
  int finish(bool strict) const;

  uint64_t count(trace::LossCause cause) const;

 private:
  std::vector<analyze::LossSummary> losses_;
  std::vector<trace::Problem> problems_;
  std::vector<analyze::MissingEnd> missing_;
  analyze::LossTexts texts_;
};

}  // namespace kymo::cli
