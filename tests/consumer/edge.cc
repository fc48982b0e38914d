// Somebody's engine: its operations are in the Kymo trace that an EdgeProfiler writes.
#include <kymo/edge.h>
#include <kymo/edge_engine.h>

#include <cstdio>

namespace {

struct Engine : kymo::edge::Module {
  void run() const { const kymo::edge::Operation work("work"); }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: edge trace.kymo\n");
    return 2;
  }
  const Engine engine;
  kymo::EdgeProfiler profiler(engine, {.kymo_file = argv[1]});
  engine.run();
  const kymo::EdgeResult result = profiler.disable_profiler();
  profiler.close();
  return result.events().size() == 1 ? 0 : 1;
}
