// A number that other programs do not disturb: the instructions of one begin+end. scripts/bench runs this with
// callgrind for two counts of ranges. The difference in instructions, divided by the difference in ranges, is the cost
// of one range.
//
//   bench_instructions KIND COUNT      KIND: loop static argument dynamic push push_off
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "floor.h"
#include "kymo/annotate.h"
#include "record/process.h"

namespace {

template <class Body>
void repeat(uint64_t count, Body body) {
  for (uint64_t i = 0; i < count; ++i) {
    body(i);
    bench::keep();
  }
}

bool make_ranges(std::string_view kind, uint64_t count) {
  const std::string name = "load images";
  if (kind == "loop") {
    repeat(count, [](uint64_t) {});
  } else if (kind == "static") {
    repeat(count, [](uint64_t) { KYMO_RANGE("static"); });
  } else if (kind == "argument") {
    repeat(count, [](uint64_t i) { KYMO_RANGE("step {}", i); });
  } else if (kind == "dynamic") {
    repeat(count, [&name](uint64_t) { const kymo::Range range{name}; });
  } else if (kind == "push" || kind == "push_off") {
    repeat(count, [&name](uint64_t) {
      kymo::range_push(name);
      kymo::range_pop();
    });
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  // A ring that overwrites needs no collector. The work of a collector would be counted too.
  kymo::record::Process& shared = *kymo::record::process();
  shared.options.policy = kymo::record::RingPolicy::Overwrite;
  if (const kymo::record::Outcome made = kymo::record::ensure_segment(shared); !made) {
    std::fprintf(stderr, "bench_instructions: %s\n", made.why());
    return 1;
  }
  const std::string_view kind = argv[1];
  if (kind != "push_off") kymo::record::start_recording(shared);
  const bool known = make_ranges(kind, std::strtoull(argv[2], nullptr, 10));
  kymo::record::stop_recording(shared);
  return known ? 0 : 2;
}
