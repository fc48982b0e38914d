// The cost of a kernel of an unmodified OpenCL program under `kymo record`, compared with the program alone: the
// processor time of all its threads, with PoCL. The program runs alone and recorded in turn.
//
//   bench_opencl_layer FOLDER      the folder takes the traces
#include <sys/wait.h>

#include <algorithm>
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
constexpr double kTarget = 800;  // ns

// What the program printed; 0: it failed. `before` is the prefix of its command line.
double run(const std::string& before, const std::string& program) {
  FILE* output = popen((before + " '" + program + "' 2>/dev/null").c_str(), "r");
  if (output == nullptr) return 0;
  double took = 0;
  for (char line[256]; std::fgets(line, sizeof line, output) != nullptr;) {
    char* end = nullptr;
    const double number = std::strtod(line, &end);
    if (end != line && *end == '\n') took = number;
  }
  return pclose(output) == 0 ? took : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string program = here / "bench_opencl_kernels", library = here.parent_path() / "lib/libkymo_inject.so";
  const std::string trace = folder + "/opencl_layer.kymo";
  const std::string record = "'" + (here / "kymo").string() + "' record --quiet -o '" + trace + "' --";
  if (run("", program) == 0) {
    bench::missing("an OpenCL device", "apt install pocl-opencl-icd");
    return 0;
  }
  std::vector<double> plain, dormant, recorded;
  for (unsigned i = 0; i < kRuns; ++i) {
    plain.push_back(run("", program));
    dormant.push_back(run("OPENCL_LAYERS='" + library + "'", program));
    recorded.push_back(run(record, program));
  }
  // Other work on the machine only adds to a time, so the least is compared.
  const auto least = [](const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); };
  const double more = least(recorded) - least(plain);
  bench::row("opencl_layer", "a kernel of an unmodified OpenCL program (PoCL), recorded: more than alone",
             text("%.0f ns", more), text("<= %.0f ns", kTarget), more <= kTarget, {kRuns});
  bench::peer("opencl_layer", "the program alone", text("%.0f ns", least(plain)));
  bench::peer("opencl_layer", "with the layer, not recording", text("%.0f ns", least(dormant)));
  bench::peer("opencl_layer", "recorded", text("%.0f ns", least(recorded)));
  std::error_code ignored;
  fs::remove(trace, ignored);
}
