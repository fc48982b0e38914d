// The durations of one name, in ticks of one clock. All are kept; when they are too many, they become a histogram.
//
// All sets of one computation share an ExactBudget, which limits how many durations they keep together. add() is
// usually one store. For one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analyze/log_histogram.h"

namespace kymo::analyze {

class Durations;

// How many durations may be kept exactly, per set and in total. At the total limit, the largest sets become histograms
// until half of it is free again.
class ExactBudget {
 public:
  ExactBudget(uint64_t per_set, uint64_t in_total) : per_set_(per_set), in_total_(in_total) {}

  uint64_t per_set() const { return per_set_; }
  void enlist(Durations& set) { sets_.push_back(&set); }
  // Called by a set before it makes space for `more` durations. May turn any set into a histogram, also the caller.
  void take(uint64_t more);
  void give_back(uint64_t kept) { kept_ -= kept; }

 private:
  // A histogram does not save memory for a set with fewer durations than this. Small sets stay exact, even if there are
  // very many.
  static constexpr uint64_t kWorthConverting = 1024;

  uint64_t per_set_, in_total_, kept_ = 0;
  std::vector<Durations*> sets_;
};

class Durations {
 public:
  explicit Durations(ExactBudget& budget) : budget_(budget) { budget.enlist(*this); }
  Durations(const Durations&) = delete;
  Durations& operator=(const Durations&) = delete;

  void add(uint64_t ticks) {
    if (histogram_) {
      histogram_->add(ticks);
    } else if (used_ < exact_.size()) {
      exact_[used_++] = ticks;
    } else {
      add_slowly(ticks);
    }
  }

  bool is_exact() const { return histogram_ == nullptr; }
  // All durations, as they were added. Empty when not exact.
  std::span<const uint64_t> exact() const { return std::span(exact_).first(used_); }
  // Turns the durations permanently into a histogram.
  const LogHistogram& histogram();
  uint64_t room() const { return exact_.size(); }

 private:
  void add_slowly(uint64_t ticks);

  ExactBudget& budget_;
  std::vector<uint64_t> exact_;  // its size is taken from the budget; the first used_ are durations
  size_t used_ = 0;
  std::unique_ptr<LogHistogram> histogram_;
};

struct Quantiles {
  double median_ns = 0, p99_ns = 0;
  bool approximate = false;
};

// A set of durations and the length of its ticks.
struct ScaledDurations {
  Durations* durations;
  double ns_per_tick;
};

// Quantiles by nearest rank over all sets together. Exact if all sets are exact; otherwise all of them become
// histograms. Takes linear time.
Quantiles quantiles(std::span<const ScaledDurations> sets);

}  // namespace kymo::analyze
