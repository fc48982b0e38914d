// The cost of sampling a program with two busy threads, 30 calls deep, compared with perf record. Each tool runs in
// turn. The result is the program's own CPU time for a piece of work, with sampling, divided by the time without.
//
//   bench_sampling FOLDER      the folder takes the traces
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "measure.h"
#include "report.h"

namespace {

namespace fs = std::filesystem;
using bench::text;

constexpr unsigned kRuns = 7;
constexpr const char* kPieces = "60";

// The time that the program printed; 0: it failed before that. `before` is the prefix of its command line.
double run(const std::string& before, const std::string& program) {
  FILE* output = popen((before + " '" + program + "' " + kPieces + " 2>/dev/null").c_str(), "r");
  if (output == nullptr) return 0;
  double took = 0;
  for (char line[256]; std::fgets(line, sizeof line, output) != nullptr;) {
    char* end = nullptr;
    const double number = std::strtod(line, &end);
    if (end != line && *end == '\n') took = number;
  }
  pclose(output);
  return took;
}

struct Tool {
  std::string name, before;
  std::vector<double> times{};
};

void measure(const char* id, const std::string& program, const std::string& kymo, const std::string& folder,
             unsigned hertz, double most_percent, bool has_perf) {
  const std::string rate = std::to_string(hertz);
  const std::string record = "'" + kymo + "' record --quiet -o '" + folder + "/sampling.kymo' --sample " + rate + "Hz ";
  std::vector<Tool> tools = {
      {"without", ""}, {"Kymo", record + "--"}, {"Kymo, frame pointers", record + "--stacks frame-pointers --"}};
  const std::string perf = "perf record -q -e cpu-clock -F " + rate + " -o '" + folder + "/sampling.perf' ";
  if (has_perf) {
    tools.push_back({"perf record -g", perf + "-g --"});
    tools.push_back({"perf record --call-graph dwarf", perf + "--call-graph dwarf --"});
    tools.push_back({"perf record, without stacks", perf + "--"});  // the timer interrupt and little else
  }
  for (unsigned i = 0; i < kRuns; ++i)
    for (Tool& tool : tools) tool.times.push_back(run(tool.before, program));
  // The machine is shared: the smallest time of several runs is the one that nobody disturbed.
  const auto smallest = [](const Tool& tool) { return *std::min_element(tool.times.begin(), tool.times.end()); };
  const auto percent = [&](const Tool& tool) { return 100 * (smallest(tool) / smallest(tools[0]) - 1); };
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
