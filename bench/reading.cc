// The time to read a large trace: `kymo info` for a trace that is not in the page cache, `kymo stats` for all of it.
//
//   bench_reading FOLDER KYMO      reads FOLDER/hundred_million.kymo, which bench_memory leaves there
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report.h"
#include "run_command.h"

namespace {

constexpr double kRanges = 100e6;
constexpr unsigned kRuns = 5;

// Drops clean pages of the file from the page cache; needs no privilege.
void forget(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  fdatasync(fd);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}

// The median of a few runs, because others use the disk and the processors too.
bench::Run median_run(const std::string& command, const char* subcommand, const std::string& trace, bool cold) {
  std::vector<bench::Run> runs;
  for (unsigned i = 0; i < kRuns; ++i) {
    if (cold) forget(trace);
    runs.push_back(bench::run({command, subcommand, trace}));
  }
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return runs[runs.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string trace = std::string(argv[1]) + "/hundred_million.kymo", command = argv[2];
  const bench::Run info = median_run(command, "info", trace, true);
  bench::row("info", "kymo info, 100 M ranges, cold", bench::text("%.3f s, %.0f MB", info.seconds, info.peak_mb),
             "< 0.2 s", info.well && info.seconds < 0.2, {kRuns, 0});
  const bench::Run stats = median_run(command, "stats", trace, false);
  const double rate = kRanges / stats.seconds / 1e6;
  bench::row("stats", "kymo stats, 100 M ranges", bench::text("%.1f M ranges/s, %.0f MB", rate, stats.peak_mb),
             ">= 25 M/s", stats.well && rate >= 25, {kRuns, 0});
}
