// Allocates memory of each category and reports it: through the C interface, and to the profiler of an engine.
//
//   reports_memory [FILE]      FILE.kymo: the output of the profiler
#include <array>
#include <string>

#include "kymo/annotate.h"
#include "kymo/edge.h"
#include "kymo/edge_engine.h"
#include "kymo/queue.h"

namespace {

constexpr std::array kNames = {"PARAMETER",  "OPTIMIZER_STATE", "INPUT",           "TEMPORARY",
                               "ACTIVATION", "GRADIENT",        "AUTOGRAD_DETAIL", "something else"};

// Category i has 2^i MB, so that every sum shows its parts.
void tell_by_category() {
  const kymo::Label label("tensor", "memory");
  for (uint64_t i = 0; i < kNames.size(); ++i) {
    const kymo_arg args[] = {kymo::bytes("bytes", uint64_t{1'000'000} << i), kymo::arg("device", "cuda:0"),
                             kymo::arg("category", kNames[i])};
    kymo_allocation(&label, args, std::size(args), 0x1000 * (i + 1));
  }
  const kymo_arg nothing[] = {kymo::bytes("bytes", 0), kymo::arg("device", "cuda:0"), kymo::arg("category", "")};
  for (uint64_t i = 0; i < kNames.size(); ++i) kymo_free(&label, nothing, std::size(nothing), 0x1000 * (i + 1));
}

// Memory that is freed within the outermost operation is temporary. The category of the rest is not known.
void tell_profiler(const std::string& file) {
  const kymo::edge::Module module;
  kymo::EdgeProfiler profiler(module, {.profile_memory = true, .kymo_file = file});
  const auto change = [&](uintptr_t address, int64_t bytes) {
    profiler.record_backend_memory_event(reinterpret_cast<const void*>(address), bytes, 0, 0, {.type = 1, .index = 0});
  };
  {
    const kymo::edge::Operation outer("outer");
    change(0x1000, 300'000);
    {
      const kymo::edge::Operation inner("inner");
      change(0x2000, 50'000);
    }
    change(0x2000, -50'000);
  }
  change(0x1000, -300'000);
  profiler.close();
}

}  // namespace

int main(int argc, char** argv) {
  tell_by_category();
  if (argc > 1) tell_profiler(argv[1]);
}
