// What a trace does not hold: the events that were lost, by cause, the parts of the file that are damaged, and what
// processes recorded that was never brought into it.
//
// Every command shows it when it is not empty, because a trace that misses something must not look whole. `--strict`
// makes it an error.
#pragma once

#include <string>
#include <vector>

#include "analyze/summary.h"
#include "cli/json.h"
#include "trace/reader.h"

namespace kymo::cli {

class Ledger {
 public:
  explicit Ledger(const analyze::Summary& summary);
  // With what reading the events found on the way, which includes what opening the file did.
  Ledger(const analyze::Summary& summary, const std::vector<trace::Problem>& problems);

  bool empty() const { return losses_.empty() && problems_.empty() && missing_.empty(); }

  // On standard error, in words, a line each; a long ledger is cut and says so.
  void show() const;

  // The members "losses", "problems" and "missing" of the object that is open.
  void write(JsonWriter& json) const;

 private:
  std::string text(const analyze::LossSummary& loss) const;
  bool is_placed(const analyze::LossSummary& loss) const;  // in time

  std::vector<analyze::LossSummary> losses_;
  std::vector<trace::Problem> problems_;
  std::vector<analyze::MissingEnd> missing_;
  int64_t begin_realtime_ns_;  // losses are placed relative to this
  bool one_process_;
};

}  // namespace kymo::cli
