// The cost of recording every allocation with its stack, in a program that only allocates, compared with heaptrack. It
// runs with one and two threads, each tool in turn. The result is the program's own time for an allocation and its
// free.
//
//   bench_malloc_hook FOLDER      the folder takes the traces
#include <sys/wait.h>
#include <unistd.h>

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

constexpr unsigned kRuns = 5;
constexpr unsigned kPairs = 1'000'000;

struct Tools {
  std::string program, kymo, folder;
  bool heaptrack = false;
};

// The time that the program printed; 0: it failed before that. `before` is the prefix of its command line.
double run(const std::string& before, const Tools& tools, int threads) {
  const std::string command =
      before + " '" + tools.program + "' " + std::to_string(threads) + " " + std::to_string(kPairs) + " 2>/dev/null";
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) return 0;
  double took = 0;
  for (char line[256]; std::fgets(line, sizeof line, output) != nullptr;) {
    char* end = nullptr;
    const double number = std::strtod(line, &end);
    if (end != line && *end == '\n') took = number;  // the tools print other lines too
  }
  pclose(output);
  return took;
}

struct Slowdowns {
  std::vector<double> plain, heaptrack, all, sampled, silent;
};

void measure(const Tools& tools, int threads, double target) {
  const std::string record = "'" + tools.kymo + "' record --quiet -o '" + tools.folder + "/malloc_hook.kymo' ";
  const std::string heaptrack = "heaptrack -o '" + tools.folder + "/malloc_hook.heaptrack'";
  const std::string library = fs::path(tools.kymo).parent_path().parent_path() / "lib/libkymo_malloc.so";
  Slowdowns slow;
  for (unsigned i = 0; i < kRuns; ++i) {
    const double plain = run("", tools, threads);
    slow.plain.push_back(plain);
    slow.silent.push_back(run("LD_PRELOAD='" + library + "'", tools, threads) / plain);
    if (tools.heaptrack) slow.heaptrack.push_back(run(heaptrack, tools, threads) / plain);
    slow.all.push_back(run(record + "--memory --", tools, threads) / plain);
    slow.sampled.push_back(run(record + "--memory=sample:512k --", tools, threads) / plain);
  }
  const std::string id = "malloc_hook_" + std::to_string(threads);
  const std::string who = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  const double all = bench::median(slow.all);
  const std::string took = text("%.2f times as long (plain: %.1f ns a pair)", all, bench::median(slow.plain));
  if (tools.heaptrack) {
    const double ratio = all / bench::median(slow.heaptrack);
    bench::row(id.c_str(), who + ": every allocation and return with its stack, slow-down by heaptrack's",
               text("%.2f", ratio), text("<= %.1f", target), ratio <= target, {kRuns});
    bench::peer(id.c_str(), "Kymo", took);
    bench::peer(id.c_str(), "heaptrack", text("%.2f times as long", bench::median(slow.heaptrack)));
  } else {
    bench::row(id.c_str(), who + ": every allocation and return with its stack", took, "", false);
  }
  bench::peer(id.c_str(), "Kymo, one in 512 KiB", text("%.2f times as long", bench::median(slow.sampled)));
  bench::peer(id.c_str(), "Kymo, preloaded and not recording", text("%.2f times as long", bench::median(slow.silent)));
}

}  // namespace

int main(int argc, char** argv) {
  Tools tools;
  tools.folder = argc > 1 ? argv[1] : ".";
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  tools.program = here / "bench_allocates";
  tools.kymo = here / "kymo";
  tools.heaptrack = std::system("heaptrack --version > /dev/null 2>&1") == 0;
  if (!tools.heaptrack) bench::missing("heaptrack", "apt install heaptrack");
  constexpr double kOneThread = 0.8, kTwoThreads = 0.5;
  measure(tools, 1, kOneThread);
  measure(tools, 2, kTwoThreads);
  std::error_code ignored;
  for (const char* file : {"malloc_hook.kymo", "malloc_hook.heaptrack.zst", "malloc_hook.heaptrack.gz"})
    fs::remove(fs::path(tools.folder) / file, ignored);
}
