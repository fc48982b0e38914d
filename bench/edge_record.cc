// The cost of begin and end of an operation, with an EdgeProfiler that records it and without one. Each round of
// operations creates a new profiler, as a program does that profiles every hundredth step.
#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "floor.h"
#include "kymo/edge.h"
#include "kymo/edge_engine.h"
#include "measure.h"
#include "report.h"

namespace {

using bench::median;
using bench::text;
using kymo::EdgeProfiler;
using kymo::edge::Operation;

constexpr int kRounds = 41, kOperations = 20'000;

class Engine : public kymo::edge::Module {};

const std::array<int64_t, 4> kShape{1, 64, 56, 56}, kStrides{200'704, 3'136, 56, 1};

void plain() {
  const Operation operation("aten::conv2d", 7);
  bench::keep();
}

void with_tensors() {
  const Operation operation("aten::conv2d", 7, [](kymo::edge::Inputs& inputs) {
    inputs.tensor(kymo::edge::Element::Float, kShape, kStrides);
    inputs.tensor(kymo::edge::Element::Float, kShape, kStrides);
  });
  bench::keep();
}

double ns_each(void (*body)(), double ns_per_tick) {
  const uint64_t began = bench::ticks();
  for (int i = 0; i < kOperations; ++i) body();
  return static_cast<double>(bench::ticks() - began) * ns_per_tick / kOperations;
}

// `round` returns the time of one operation in nanoseconds.
void report(const char* id, const char* what, double max_ns, double ns_per_tick, const std::function<double()>& round) {
  std::vector<double> costs, ratios;
  for (int i = 0; i < kRounds; ++i) {
    const double floor = ns_each(bench::floor_range, ns_per_tick);
    costs.push_back(round());
    ratios.push_back(costs.back() / floor);
  }
  const double ns = median(costs);
  bench::row(id, what, text("%.1f ns = %.2f x floor", ns, median(ratios)), max_ns > 0 ? text("<= %.0f ns", max_ns) : "",
             ns <= max_ns);
}

}  // namespace

int main() try {
  const bench::Meter meter;  // has the floor's buffer
  const double tick = meter.ns_per_tick();
  const Engine engine;

  report("edge_off", "an engine's operation, no EdgeProfiler", 3, tick, [&] { return ns_each(plain, tick); });
  report("edge_on", "..., recorded by an EdgeProfiler", 60, tick, [&] {
    const EdgeProfiler profiler(engine, {});
    return ns_each(plain, tick);
  });
  report("edge_inputs", "..., with two tensors of four dimensions", 120, tick, [&] {
    const EdgeProfiler profiler(engine, {.report_input_shapes = true});
    return ns_each(with_tensors, tick);
  });
  report("edge_adopted", "..., on a thread that works for another thread", 0, tick, [&] {
    const EdgeProfiler profiler(engine, {});
    double ns = 0;
    std::thread([&, log = kymo::edge::current_log()] {
      const kymo::edge::AdoptedLog adopted(log);
      ns = ns_each(plain, tick);
    }).join();
    return ns;
  });
  report("edge_stack", "..., with its C++ stack", 0, tick, [&] {
    const EdgeProfiler profiler(engine, {.with_stack = true});
    return ns_each(plain, tick);
  });
  const std::vector<std::string> events = kymo::edge::event_names();
  if (events.empty()) {
    bench::missing("performance events", "a kernel that lets this user count: /proc/sys/kernel/perf_event_paranoid");
    return 0;
  }
  report("edge_counters", "..., with a performance event, which is two system calls", 0, tick, [&] {
    const EdgeProfiler profiler(engine, {.events = {events.front()}});
    return ns_each(plain, tick);
  });
  return 0;
} catch (const kymo::Error& error) {
  std::fprintf(stderr, "bench_edge_record: %s\n", error.what());
  return 1;
}
