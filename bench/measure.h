// Measures in rounds, on a machine that others also use.
//
// A round is one batch each of the floor, the baseline, the candidate, and the floor again. It counts only if both
// floors are quiet (close to the best floor that this process has measured) and the thread was not preempted. Other
// rounds are discarded, and their number is reported with the result. The result is the median of the rounds that
// count. It is the undisturbed cost, and only ratios within one run can be compared.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "floor.h"

namespace bench {

inline constexpr double kQuiet = 1.12;  // times the best floor so far
inline constexpr unsigned kWantedRounds = 400;
inline constexpr unsigned kBatch = 1000;       // ranges in a batch: long enough for the clock, short enough to be quiet
inline constexpr unsigned kTailBatch = 32;     // ranges in a sample of the tail
inline constexpr unsigned kTailSamples = 512;  // of each kind in a round of the tail
inline constexpr uint64_t kPauseNs = 200'000;  // between rounds: five million ranges per second in total
inline constexpr uint64_t kTailPauseNs = 2'000;  // between samples of the tail: ten million ranges per second
inline constexpr auto kPatience = std::chrono::seconds(4);  // max time for one candidate, even if it is noisy

inline double percentile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(rank), values.end());
  return values[rank];
}
inline double median(std::vector<double> values) { return percentile(values, 0.5); }

inline uint64_t host_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

inline long involuntary_switches() noexcept {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

struct Cost {
  double floor_ns = 0, baseline_ns = 0, ns = 0;  // medians, for one range
  double ratio = 0;                              // to the baseline, which is the floor by default
  double more_ns = 0;                            // more than the baseline
  unsigned kept = 0, discarded = 0;
};

struct Tail {
  double floor_ns = 0, ns = 0;  // p99.9 of small batches, for one range
  double ratio = 0;
  unsigned kept = 0, discarded = 0;
};

// The measurements of one thread. Create it on the thread that measures.
class Meter {
 public:
  explicit Meter(uint64_t pause_ns = kPauseNs) : ns_per_tick_(calibrate()), pause_ns_(pause_ns) {
    this_buffer = &buffer_;
    for (int i = 0; i < 500; ++i) floor_batch();  // finds the best floor before it is used for decisions
  }
  ~Meter() { this_buffer = nullptr; }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  // `candidate` and `baseline` are one range each.
  template <class Candidate, class Baseline>
  Cost cost(Candidate candidate, Baseline baseline) {
    std::vector<double> floors, baselines, candidates, ratios, differences;
    Cost cost;
    batch(candidate);  // warm-up: registers names, touches pages, trains branch prediction
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (cost.kept < kWantedRounds && std::chrono::steady_clock::now() < until) {
      pause(pause_ns_);
      const long switches = involuntary_switches();
      const double before = floor_batch();
      const double base = batch(baseline);
      const double cand = batch(candidate);
      const double after = floor_batch();
      if (!quiet(before) || !quiet(after) || involuntary_switches() != switches) {
        ++cost.discarded;
        continue;
      }
      ++cost.kept;
      floors.push_back((before + after) / 2);
      baselines.push_back(base);
      candidates.push_back(cand);
      ratios.push_back(cand / base);
      differences.push_back(cand - base);
    }
    cost.floor_ns = median(floors);
    cost.baseline_ns = median(baselines);
    cost.ns = median(candidates);
    cost.ratio = median(ratios);
    cost.more_ns = median(differences);
    return cost;
  }

  template <class Candidate>
  Cost cost(Candidate candidate) {
    return cost(candidate, floor_range);
  }

  // The tail: small batches of floor and candidate in turn, so that both have the same interruptions.
  template <class Candidate>
  Tail tail(Candidate candidate) {
    std::vector<double> floors, candidates, round_floors(kTailSamples), round_candidates(kTailSamples);
    Tail tail;
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (tail.kept < kWantedRounds && std::chrono::steady_clock::now() < until) {
      const long switches = involuntary_switches();
      for (unsigned i = 0; i < kTailSamples; ++i) {
        round_floors[i] = time(floor_range, kTailBatch);
        round_candidates[i] = time(candidate, kTailBatch);
        pause(kTailPauseNs);
      }
      if (!quiet(floor_batch()) || involuntary_switches() != switches) {
        ++tail.discarded;
        continue;
      }
      ++tail.kept;
      floors.insert(floors.end(), round_floors.begin(), round_floors.end());
      candidates.insert(candidates.end(), round_candidates.begin(), round_candidates.end());
    }
    tail.floor_ns = percentile(floors, 0.999);
    tail.ns = percentile(candidates, 0.999);
    tail.ratio = tail.floor_ns > 0 ? tail.ns / tail.floor_ns : 0;
    return tail;
  }

  double ns_per_tick() const { return ns_per_tick_; }

 private:
  static double calibrate() {
    const uint64_t began_ns = host_ns(), began = ticks();
    while (host_ns() - began_ns < 50'000'000) continue;
    return static_cast<double>(host_ns() - began_ns) / static_cast<double>(ticks() - began);
  }

  void pause(uint64_t ns) const {
    const uint64_t until = ticks() + static_cast<uint64_t>(static_cast<double>(ns) / ns_per_tick_);
    while (ticks() < until) continue;
  }

  template <class Body>
  double time(Body& body, unsigned count) {  // nanoseconds per range
    const uint64_t began = ticks();
    for (unsigned i = 0; i < count; ++i) body();
    return static_cast<double>(ticks() - began) * ns_per_tick_ / count;
  }
  template <class Body>
  double batch(Body& body) {
    return time(body, kBatch);
  }
  double floor_batch() {
    const double ns = time(floor_range, kBatch);
    best_floor_ = std::min(best_floor_, ns);
    return ns;
  }
  bool quiet(double floor) const { return floor <= best_floor_ * kQuiet; }

  double ns_per_tick_;
  uint64_t pause_ns_;
  double best_floor_ = 1e9;
  FloorBuffer buffer_;
};

}  // namespace bench
