// The burst: two threads that record ranges as fast as they can, the other work of the machine, and the resulting rate.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "kymo/annotate.h"
#include "measure.h"
#include "report.h"

namespace bench {

inline constexpr uint64_t kBurstRanges = 10'000'000;  // per thread

inline void burst(uint64_t ranges_each) {
  const auto loop = [ranges_each] {
    for (uint64_t i = 0; i < ranges_each; ++i) {
      KYMO_RANGE("burst");
    }
  };
  std::thread first(loop), second(loop);
  first.join();
  second.join();
}

// The share of the processors' time that others used: other processes, and other guests of the host.
class OtherWork {
 public:
  double share() const {
    const Times now = read();
    const double passed = static_cast<double>(now.all - began_.all);
    const double others = static_cast<double>(now.busy - began_.busy) - (now.own - began_.own);
    return passed > 0 ? others / passed : 0;
  }

 private:
  struct Times {
    uint64_t all, busy;  // jiffies
    double own;
  };
  static Times read() {
    unsigned long long t[8] = {};
    if (FILE* stat = std::fopen("/proc/stat", "r")) {
      if (std::fscanf(stat, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", t, t + 1, t + 2, t + 3, t + 4, t + 5, t + 6,
                      t + 7) != 8)
        t[0] = 0;
      std::fclose(stat);
    }
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    constexpr double kJiffies = 100;                                // per second, in /proc/stat
    const uint64_t busy = t[0] + t[1] + t[2] + t[5] + t[6] + t[7];  // user, nice, system, interrupts, stolen
    return {busy + t[3] + t[4], busy, (seconds(usage.ru_utime) + seconds(usage.ru_stime)) * kJiffies};
  }

  Times began_ = read();
};

// Runs of a burst. Other work can only slow a run down. So if every run was disturbed, their rates are still a lower
// bound.
class Rates {
 public:
  void add(double rate, double other_work) {
    const bool quiet = other_work <= kMaxOtherWork;
    (quiet ? quiet_ : noisy_).push_back(rate);
  }
  Rounds rounds() const { return {static_cast<unsigned>(quiet_.size()), static_cast<unsigned>(noisy_.size()), true}; }
  double typical() const { return median(counted()); }
  std::string text() const {
    const auto& rates = counted();
    const double best = rates.empty() ? 0 : *std::max_element(rates.begin(), rates.end());
    return bench::text("%s%.1f M ranges/s (best %.1f)", quiet_.empty() ? "at least " : "", typical(), best);
  }

 private:
  static constexpr double kMaxOtherWork = 0.05;
  const std::vector<double>& counted() const { return quiet_.empty() ? noisy_ : quiet_; }
  std::vector<double> quiet_, noisy_;
};

}  // namespace bench
