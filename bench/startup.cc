// How much later a program that uses no interface ends under `kymo record`: what the variables and libraries of Kymo
// cost it. The program that starts it is recorded, so the start of `kymo record` itself does not count.
//
//   bench_startup FOLDER      the folder takes the traces
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "printed_number.h"
#include "report.h"

namespace {

namespace fs = std::filesystem;
using bench::text;

constexpr unsigned kRuns = 5;
constexpr double kTarget = 80;  // microseconds

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string spawns =
      " '" + (here / "bench_spawns").string() + "' '" + (here / "bench_nothing").string() + "' 400";
  const std::string trace = folder + "/startup.kymo";
  const std::string record = "'" + (here / "kymo").string() + "' record --quiet -o '" + trace + "' ";
  std::vector<bench::InTurn> tools = {
      {"alone", spawns},
      {"kymo record --no-sample", record + "--no-sample --" + spawns},
      {"with samples of the kernel", record + "--sampler kernel --" + spawns},
      {"with samples by timers in the program", record + "--sampler timers --" + spawns},
  };
  const bool has_perf = std::system("perf --version > /dev/null 2>&1") == 0;
  if (has_perf)
    tools.push_back({"perf record -g", "perf record -q -e cpu-clock -F 1000 -g -o '" + trace + ".perf' --" + spawns});
  bench::run_in_turn(tools, kRuns);
  const auto more = [&](size_t tool) { return tools[tool].least() - tools[0].least(); };
  bench::row("startup", "start of a program that uses no interface, kymo record --no-sample: more than alone",
             text("%.0f us", more(1)), text("<= %.0f us", kTarget), more(1) <= kTarget, {kRuns});
  bench::peer("startup", "alone", text("%.0f us", tools[0].least()));
  for (size_t i = 2; i < tools.size(); ++i) bench::peer("startup", tools[i].name, text("%.0f us more", more(i)));
  std::error_code ignored;
  for (const std::string& file : {trace, trace + ".perf"}) fs::remove(file, ignored);
}
