// The cost of sampling a program with two busy threads, 30 calls deep, compared with perf record. Each tool runs in
// turn. The result is the program's own CPU time for a piece of work, with sampling, divided by the time without.
//
//   bench_sampling FOLDER      the folder takes the traces
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "printed_number.h"
#include "report.h"

namespace {

namespace fs = std::filesystem;
using bench::text;

constexpr unsigned kRuns = 7;
constexpr const char* kPieces = "60";

void measure(const char* id, const std::string& program, const std::string& kymo, const std::string& folder,
             unsigned hertz, double most_percent, bool has_perf) {
  const std::string rate = std::to_string(hertz);
  const std::string record = "'" + kymo + "' record --quiet -o '" + folder + "/sampling.kymo' --sample " + rate + "Hz ";
  const std::string busy = " '" + program + "' " + kPieces;
  std::vector<bench::InTurn> tools = {{"without", busy},
                                      {"Kymo", record + "--" + busy},
                                      {"Kymo, frame pointers", record + "--stacks frame-pointers --" + busy}};
  const std::string perf = "perf record -q -e cpu-clock -F " + rate + " -o '" + folder + "/sampling.perf' ";
  if (has_perf) {
    tools.push_back({"perf record -g", perf + "-g --" + busy});
    tools.push_back({"perf record --call-graph dwarf", perf + "--call-graph dwarf --" + busy});
    tools.push_back({"perf record, without stacks", perf + "--" + busy});  // the timer interrupt and little else
  }
  bench::run_in_turn(tools, kRuns);
  const auto percent = [&](const bench::InTurn& tool) { return 100 * (tool.least() / tools[0].least() - 1); };
  bench::row(id, text("two busy threads, 30 calls deep, %u samples a second: more CPU time", hertz),
             text("%.2f %%", percent(tools[1])), text("<= %.1f %%", most_percent), percent(tools[1]) <= most_percent,
             {kRuns});
  for (size_t i = 2; i < tools.size(); ++i) bench::peer(id, tools[i].name.c_str(), text("%.2f %%", percent(tools[i])));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const bool has_perf = std::system("perf --version > /dev/null 2>&1") == 0;
  if (!has_perf) bench::missing("perf", "apt install linux-perf");
  constexpr double kMostAt1kHz = 0.4, kMostAt10kHz = 3;
  measure("sampling_1", here / "bench_busy_deep", here / "kymo", folder, 1000, kMostAt1kHz, has_perf);
  measure("sampling_10", here / "bench_busy_deep", here / "kymo", folder, 10'000, kMostAt10kHz, has_perf);
  std::error_code ignored;
  for (const char* file : {"sampling.kymo", "sampling.perf"}) fs::remove(fs::path(folder) / file, ignored);
}
