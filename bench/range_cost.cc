// The cost of an annotation for its thread: while a session records to a file, and while nothing records.
//
//   bench_range_cost FOLDER [suffix]      the trace goes into the folder
#include <string>

#include "kymo/annotate.h"
#include "kymo/session.h"
#include "measure.h"
#include "report.h"

namespace {

using bench::text;

std::string suffix;

[[gnu::noinline]] void nothing() { asm volatile(""); }

void not_recording(bench::Meter& meter) {
  const auto guard = meter.cost(
      [] {
        KYMO_RANGE("guard");
        bench::keep();
      },
      bench::keep);
  bench::row("guard_off", "scoped guard, not recording" + suffix, text("%.2f ns", guard.more_ns), "<= 0.70 ns",
             guard.more_ns <= 0.7, {guard.kept, guard.discarded});

  const std::string name = "load images";
  const auto push = meter.cost(
      [&name] {
        kymo::range_push(name);
        kymo::range_pop();
      },
      [] {
        nothing();
        nothing();
      });
  bench::row("push_off", "push + pop, not recording" + suffix,
             text("%.2f ns = %.1f x two empty calls (%.2f ns)", push.ns, push.ratio, push.baseline_ns), "<= 5 x",
             push.ratio <= 5, {push.kept, push.discarded});
}

template <class Body>
void recording_row(bench::Meter& meter, const char* id, const char* what, double most, Body body) {
  const auto cost = meter.cost(body);
  bench::row(id, what + suffix, text("%.1f ns = %.2f x floor", cost.ns, cost.ratio), text("<= %.2f x", most),
             cost.ratio <= most, {cost.kept, cost.discarded});
}

template <class Body>
void tail_row(bench::Meter& meter, const char* id, const char* what, double most, Body body) {
  const auto tail = meter.tail(body);
  bench::row(id, what + suffix, text("%.1f ns = %.2f x the floor's %.1f", tail.ns, tail.ratio, tail.floor_ns),
             text("<= %.2f x", most), tail.ratio <= most, {tail.kept, tail.discarded});
}

void recording(bench::Meter& meter) {
  const auto static_name = [] {
    KYMO_RANGE("static");
    bench::keep();
  };
  uint64_t number = 0;
  const auto with_argument = [&number] {
    KYMO_RANGE("step {}", ++number);
    bench::keep();
  };
  const std::string name = "load images";
  recording_row(meter, "range_on", "range, static name", 1.12, static_name);
  tail_row(meter, "tail_on", "range, static name, p99.9 of batches of 32", 1.5, static_name);
  recording_row(meter, "argument_on", "range, one integer argument", 1.5, with_argument);
  recording_row(meter, "dynamic_on", "range, dynamic name seen before", 1.5, [&name] {
    const kymo::Range range{name};
    bench::keep();
  });
  recording_row(meter, "push_on", "push + pop, dynamic name", 1.25, [&name] {
    kymo::range_push(name);
    bench::keep();
    kymo::range_pop();
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  if (argc > 2) suffix = std::string(", ") + argv[2];
  bench::Meter meter;
  const auto floor = meter.cost(bench::floor_range);
  bench::row("floor", "the floor" + suffix, text("%.1f ns", floor.ns), "", true, {floor.kept, floor.discarded});
  kymo::Session session(folder + "/range_cost.kymo");
  recording(meter);
  session.close();
  not_recording(meter);
}
