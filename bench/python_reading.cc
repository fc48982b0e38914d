// Python reads a large trace: the durations of one name as an array of NumPy, of a hundred million ranges with 16
// names.
//
//   bench_python_reading FOLDER KYMO      writes FOLDER/random.kymo if it is not there (random_trace.h)
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "random_trace.h"
#include "report.h"
#include "run_command.h"

namespace {

constexpr uint64_t kRanges = 100'000'000;
constexpr unsigned kRuns = 5;
constexpr double kTargetMillions = 30;  // ranges a second, with the start of Python

bench::Run median_run(const std::vector<std::string>& words) {
  std::vector<bench::Run> runs;
  for (unsigned i = 0; i < kRuns; ++i) runs.push_back(bench::run(words));
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return runs[runs.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string trace = std::string(argv[1]) + "/random.kymo", command = argv[2], python = "/usr/bin/python3";
  const auto package = std::filesystem::path(command).parent_path().parent_path() / "python";
  setenv("PYTHONPATH", package.c_str(), 1);
  if (!bench::run({python, "-c", "import numpy, kymo.reading"}).well) {
    std::printf("missing\tPython reads a trace\tscripts/install-deps build, then make\n");
    return 0;
  }
  if (access(trace.c_str(), R_OK) != 0) bench::write_random_trace(trace, kRanges);
  const bench::Run read = median_run(
      {python, "-c", "import sys, kymo; assert len(kymo.open(sys.argv[1]).durations('hash')) > 6_000_000", trace});
  const double millions = static_cast<double>(kRanges) / 1e6 / read.seconds;
  bench::row("python_reading", "kymo.open, durations of one name of 16, 100 M ranges",
             bench::text("%.0f M ranges/s, %.2f s, %.2f s of processor time, %.0f MB", millions, read.seconds,
                         read.processor_seconds, read.peak_mb),
             "> 30 M/s", read.well && millions > kTargetMillions, {kRuns, 0});
  const bench::Run stats = median_run({command, "stats", trace});
  bench::peer("python_reading", "kymo stats of the same trace",
              bench::text("%.2f s, %.2f s of processor time", stats.seconds, stats.processor_seconds), {kRuns, 0});
}
