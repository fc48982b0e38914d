// The cost of Vulkan's calls with the layer of Kymo, dormant and recording, compared with the program alone: the
// processor time of the thread that calls.
//
//   bench_vulkan_layer FOLDER      the folder takes the traces
#include <filesystem>
#include <string>
#include <vector>

#include "printed_number.h"
#include "report.h"

namespace {

namespace fs = std::filesystem;
using bench::text;

constexpr unsigned kRuns = 7;

void measure(const char* id, const char* what, const std::string& commands, const std::string& kymo,
             const std::string& trace) {
  std::vector<bench::InTurn> tools = {
      {"the program alone", commands},
      {"with the layer, not recording", "eval \"$('" + kymo + "' env)\";" + commands},
      {"recorded", "'" + kymo + "' record --quiet --no-sample -o '" + trace + "' --" + commands},
  };
  bench::run_in_turn(tools, kRuns);
  const double alone = tools[0].least();
  bench::row(id, text("%s, recorded: more than alone", what), text("%.0f ns", tools[2].least() - alone), "", true,
             {kRuns});
  for (const bench::InTurn& tool : tools) bench::peer(id, tool.name, text("%.0f ns", tool.least()));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string program = " '" + (here / "bench_vulkan_commands").string() + "' ";
  const std::string kymo = here / "kymo", trace = folder + "/vulkan_layer.kymo";
  if (bench::printed_number(program + "dispatch") == 0) {
    bench::missing("a Vulkan device", "apt install mesa-vulkan-drivers");
    return 0;
  }
  measure("vulkan_dispatch", "vkCmdDispatch of an unmodified Vulkan program", program + "dispatch", kymo, trace);
  measure("vulkan_submit", "vkQueueSubmit of an unmodified Vulkan program", program + "submit", kymo, trace);
  std::error_code ignored;
  fs::remove(trace, ignored);
}
