// SQL over a large trace: the twenty names with the largest total time, of a hundred million ranges.
//
//   bench_query FOLDER KYMO      writes FOLDER/random.kymo if it is not there (random_trace.h)
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "random_trace.h"
#include "report.h"
#include "run_command.h"

namespace {

constexpr uint64_t kRanges = 100'000'000;
constexpr unsigned kRuns = 5;
constexpr double kTargetSeconds = 3;

bench::Run median_run(const std::string& command, const std::string& trace, const std::string& sql) {
  std::vector<bench::Run> runs;
  for (unsigned i = 0; i < kRuns; ++i) runs.push_back(bench::run({command, "query", trace, sql}));
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return runs[runs.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string trace = std::string(argv[1]) + "/random.kymo", command = argv[2];
  if (access(trace.c_str(), R_OK) != 0) bench::write_random_trace(trace, kRanges);
  if (!bench::run({command, "query", trace, "SELECT 1"}).well) {
    std::printf("missing\tkymo query\tscripts/install-deps query\n");
    return 0;
  }
  const bench::Run top = median_run(command, trace,
                                    "SELECT name, count(*), sum(duration_ns) AS total FROM ranges "
                                    "GROUP BY name ORDER BY total DESC LIMIT 20");
  bench::row("query", "kymo query, top 20 by total, 100 M ranges",
             bench::text("%.2f s, %.2f s of processor time, %.0f MB", top.seconds, top.processor_seconds, top.peak_mb),
             "< 3 s", top.well && top.seconds < kTargetSeconds, {kRuns, 0});
  const bench::Run alone = median_run(command, trace,
                                      "SELECT (x % 16)::UTINYINT AS name, count(*), sum(x) AS total "
                                      "FROM range(100_000_000) AS t(x) GROUP BY name ORDER BY total DESC LIMIT 20");
  bench::peer("query", "DuckDB alone, 100 M rows that it generates",
              bench::text("%.2f s, %.2f s of processor time", alone.seconds, alone.processor_seconds), {kRuns, 0});
}
