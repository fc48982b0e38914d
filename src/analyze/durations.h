// The durations of one name, in ticks of one clock: all of them, until they are too many, then a histogram.
//
// The sets of one computation share an ExactBudget, which bounds what they keep together. Adding is a store in the
// common case. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analyze/log_histogram.h"

namespace kymo::analyze {

class Durations;

// How many durations may be kept exactly, by one set and by all. When the sum is reached the largest sets become
// histograms, until half of it is free again.
class ExactBudget {
 public:
  ExactBudget(uint64_t per_set, uint64_t in_total) : per_set_(per_set), in_total_(in_total) {}

  uint64_t per_set() const { return per_set_; }
  void enlist(Durations& set) { sets_.push_back(&set); }
  // Called by a set about to keep room for `more` further durations; may turn any set, the caller too, into a
  // histogram.
  void take(uint64_t more);
  void give_back(uint64_t kept) { kept_ -= kept; }

 private:
  // A histogram is no smaller than fewer durations than this; a great many small sets stay as they are.
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
  // Turns the durations into a histogram, for good.
  const LogHistogram& histogram();
  uint64_t room() const { return exact_.size(); }

 private:
  void add_slowly(uint64_t ticks);

  ExactBudget& budget_;
  std::vector<uint64_t> exact_;  // its size is the room taken from the budget; the first used_ are durations
  size_t used_ = 0;
  std::unique_ptr<LogHistogram> histogram_;
};

struct Quantiles {
  double median_ns = 0, p99_ns = 0;
  bool approximate = false;
};

// A set of durations and the length of its tick.
struct ScaledDurations {
  Durations* durations;
  double ns_per_tick;
};

// Nearest rank over the union of the sets; exact when all of them are, otherwise all of them become histograms. Takes
// linear time.
Quantiles quantiles(std::span<const ScaledDurations> sets);

}  // namespace kymo::analyze
