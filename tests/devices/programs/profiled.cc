// A little work on the best device, for the profiler: a fill, 3 kernels in a named operation, 1 copy up, 1 down, and
// one fallback to the host. Exits with 77 if there is no device. Then, depending on its argument:
//
//   exit        returns
//   fork        a forked child exits, too
//   sleep       prints "ready" to standard error and sleeps until a signal ends it
//   handled     has a handler for SIGINT when statistics are turned on, raises it, and continues
//   ignored     the same with SIGINT ignored
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "kymo/device.h"
#include "kymo/profiler.h"

namespace {

using namespace kymo::device;

volatile sig_atomic_t handled = 0;

void work() {
  const auto library = compile_shader(
      "kernel void scale(device float* x, constant float& by, uint i [[thread_position_in_grid]]) { x[i] *= by; }");
  const Tensor x = zeros({16}), y = from_host(std::vector<float>(16, 1));
  {
    const kymo::profiler::Operation operation("three scales", {&y}, 48);
    for (int i = 0; i < 3; ++i) library["scale"](y, 2.0);
  }
  const std::vector<float> there = y.to_host<float>();
  const kymo::profiler::HostFallback fallback("sort", {&y});
  if (there[0] != 8) abort();
}

int run(std::string_view then) {
  if (then == "handled") signal(SIGINT, [](int) { handled = 1; });
  if (then == "ignored") signal(SIGINT, SIG_IGN);
  if (then == "handled" || then == "ignored") kymo::profiler::set_log("statistics");
  work();
  if (then == "fork") {
    const pid_t child = fork();
    if (child == 0) exit(0);
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
  }
  if (then == "sleep") {
    fputs("ready\n", stderr);
    while (true) sleep(1);
  }
  if (then == "handled" || then == "ignored") {
    raise(SIGINT);
    if (handled != (then == "handled")) return 1;
    raise(SIGINT);
    work();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (!is_available()) return 77;
  return run(argc > 1 ? argv[1] : "exit");
} catch (const std::exception& error) {
  fprintf(stderr, "%s\n", error.what());
  return 1;
}
