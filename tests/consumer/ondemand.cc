// A server that gets a request for a trace while it runs. It ends when the file in its argument exists.
#include <kymo/annotate.h>
#include <kymo/ondemand.h>
#include <unistd.h>

#include <cstdio>

#ifdef WITH_EDGE
#include <kymo/edge_engine.h>
#endif

namespace {

struct Framework : kymo::ondemand::Client {
  void start() override { kymo::mark("the framework starts"); }
};
kymo::ondemand::Registration<Framework> registration;

void serve() {
  KYMO_RANGE("work");
#ifdef WITH_EDGE
  const kymo::edge::Operation operation("operation");
#endif
  kymo::step();
  usleep(200);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: ondemand trace.kymo\n");
    return 2;
  }
  alarm(1500);  // should nobody ask
  while (access(argv[1], F_OK) != 0) serve();
  return 0;
}
