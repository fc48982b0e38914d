// Memory does not grow with the amount of recorded data: the resident set while a hundred million ranges are recorded.
//
//   bench_memory FOLDER      leaves FOLDER/hundred_million.kymo for bench_reading
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "kymo/session.h"
#include "memory_use.h"
#include "report.h"
#include "two_threads.h"

namespace {

constexpr uint64_t kRanges = 100'000'000;
constexpr double kFlatMb = 4;  // max growth from the first quarter to the last

}  // namespace

int main(int argc, char** argv) {
  const std::string path = std::string(argc > 1 ? argv[1] : ".") + "/hundred_million.kymo";
  std::vector<double> samples;
  std::atomic<bool> done{false};
  const auto began = std::chrono::steady_clock::now();
  kymo::Session session(path);
  std::thread sampler([&] {
    while (!done.load()) {
      samples.push_back(bench::resident_mb("VmRSS"));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  bench::burst(kRanges / 2);
  done.store(true);
  sampler.join();
  session.close();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;

  const auto quarter = static_cast<ptrdiff_t>(std::max<size_t>(samples.size() / 4, 1));
  const double early = *std::max_element(samples.begin(), samples.begin() + quarter);
  const double late = *std::max_element(samples.end() - quarter, samples.end());
  const double peak = bench::resident_mb("VmHWM");
  bench::row("memory", "resident while recording 100 M ranges",
             bench::text("%.0f MB at most; %.1f in the first quarter, %.1f in the last", peak, early, late),
             "< 100 MB, flat", peak < 100 && late - early < kFlatMb);
  bench::row("memory_time", "... and how long that took", bench::text("%.1f s", took.count()), "", true);
}
