// The cost of a kernel of an unmodified OpenCL program under `kymo record`, compared with the program alone: the
// processor time of all its threads, with PoCL. The program runs alone and recorded in turn.
//
//   bench_opencl_layer FOLDER      the folder takes the traces
#include <filesystem>
#include <string>
#include <vector>

#include "printed_number.h"
#include "report.h"

namespace {

namespace fs = std::filesystem;
using bench::text;

constexpr unsigned kRuns = 7;
constexpr double kTarget = 800;  // ns

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string program = here / "bench_opencl_kernels", library = here.parent_path() / "lib/libkymo_inject.so";
  const std::string trace = folder + "/opencl_layer.kymo";
  const std::string record = "'" + (here / "kymo").string() + "' record --quiet -o '" + trace + "' --";
  const std::string kernels = " '" + program + "'";
  std::vector<bench::InTurn> tools = {{"the program alone", kernels},
                                      {"with the layer, not recording", "OPENCL_LAYERS='" + library + "'" + kernels},
                                      {"recorded", record + kernels}};
  if (bench::printed_number(kernels) == 0) {
    bench::missing("an OpenCL device", "apt install pocl-opencl-icd");
    return 0;
  }
  bench::run_in_turn(tools, kRuns);
  const double more = tools[2].least() - tools[0].least();
  bench::row("opencl_layer", "a kernel of an unmodified OpenCL program (PoCL), recorded: more than alone",
             text("%.0f ns", more), text("<= %.0f ns", kTarget), more <= kTarget, {kRuns});
  for (const bench::InTurn& tool : tools) bench::peer("opencl_layer", tool.name, text("%.0f ns", tool.least()));
  std::error_code ignored;
  fs::remove(trace, ignored);
}
