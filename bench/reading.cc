// The time to read a large trace: `kymo info` for a trace that is not in the page cache, `kymo stats` for all of it.
//
//   bench_reading FOLDER KYMO      reads FOLDER/hundred_million.kymo, which bench_memory leaves there
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "measure.h"
#include "report.h"

namespace {

constexpr double kRanges = 100e6;
constexpr unsigned kRuns = 5;

struct Run {
  double seconds = 0, peak_mb = 0;
  bool well = false;
};

Run run(const std::string& command, const char* subcommand, const std::string& trace) {
  posix_spawn_file_actions_t quietly;
  posix_spawn_file_actions_init(&quietly);
  posix_spawn_file_actions_addopen(&quietly, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const char* const argv[] = {command.c_str(), subcommand, trace.c_str(), nullptr};
  const uint64_t began = bench::host_ns();
  pid_t child = 0;
  Run result;
  const int failed = posix_spawn(&child, command.c_str(), &quietly, nullptr, const_cast<char**>(argv), environ);
  posix_spawn_file_actions_destroy(&quietly);
  if (failed != 0) return result;
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  result.seconds = static_cast<double>(bench::host_ns() - began) / 1e9;
  result.peak_mb = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
  result.well = status == 0;
  return result;
}

// Drops clean pages of the file from the page cache; needs no privilege.
void forget(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  fdatasync(fd);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}

// The median of a few runs, because others use the disk and the processors too.
Run median_run(const std::string& command, const char* subcommand, const std::string& trace, bool cold) {
  std::vector<Run> runs;
  for (unsigned i = 0; i < kRuns; ++i) {
    if (cold) forget(trace);
    runs.push_back(run(command, subcommand, trace));
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.seconds < b.seconds; });
  return runs[runs.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string trace = std::string(argv[1]) + "/hundred_million.kymo", command = argv[2];
  const Run info = median_run(command, "info", trace, true);
  bench::row("info", "kymo info, 100 M ranges, cold", bench::text("%.3f s, %.0f MB", info.seconds, info.peak_mb),
             "< 0.2 s", info.well && info.seconds < 0.2, {kRuns, 0});
  const Run stats = median_run(command, "stats", trace, false);
  const double rate = kRanges / stats.seconds / 1e6;
  bench::row("stats", "kymo stats, 100 M ranges", bench::text("%.1f M ranges/s, %.0f MB", rate, stats.peak_mb),
             ">= 25 M/s", stats.well && rate >= 25, {kRuns, 0});
}
