// NVTX in a program that does not know Kymo: the cost of push and pop while Kymo records, while its library is loaded
// and dormant, and without a tool. Each is a process of its own, because NVTX chooses its tool once.
//
//   bench_nvtx FOLDER      the trace goes into the folder
#include "../measure.h"
#include "../report.h"

#if KYMO_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace {

using bench::text;

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

nvtxEventAttributes_t attributes() {
  nvtxEventAttributes_t made{};
  made.version = NVTX_VERSION;
  made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return made;
}

auto plain_pair() {
  return [] {
    nvtxRangePushA("load images");
    bench::keep();
    nvtxRangePop();
  };
}

template <class Body>
void row(bench::Meter& meter, const char* id, const char* what, double most, Body body) {
  const auto cost = meter.cost(body);
  bench::row(id, what, text("%.1f ns = %.2f x floor", cost.ns, cost.ratio), text("<= %.2f x", most), cost.ratio <= most,
             {cost.kept, cost.discarded});
}

void recording() {
  bench::Meter meter;
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("bench");
  nvtxEventAttributes_t event = attributes();
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = nvtxDomainRegisterStringA(domain, "load images");
  row(meter, "nvtx_push", "NVTX push + pop", 1.3, plain_pair());
  row(meter, "nvtx_string", "NVTX push + pop, registered string in a domain", 1.15, [&] {
    nvtxDomainRangePushEx(domain, &event);
    bench::keep();
    nvtxDomainRangePop(domain);
  });
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0xff00ff00;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = "load images";
  row(meter, "nvtx_colour", "NVTX push + pop, text and colour in a domain", 1.7, [&] {
    nvtxDomainRangePushEx(domain, &event);
    bench::keep();
    nvtxDomainRangePop(domain);
  });
}

// Prints the cost for the process that compares.
void print_cost() {
  bench::Meter meter;
  const auto cost = meter.cost(plain_pair(), bench::keep);
  printf("%.3f %u %u\n", cost.ns, cost.kept, cost.discarded);
}

struct Measured {
  double ns = 0;
  unsigned kept = 0, discarded = 0;
};

Measured measured(const std::string& self, const std::string& folder, const char* mode) {
  Measured result;
  FILE* const output = popen(("'" + self + "' '" + folder + "' " + mode).c_str(), "r");
  if (output == nullptr || fscanf(output, "%lf %u %u", &result.ns, &result.kept, &result.discarded) != 3) result = {};
  if (output != nullptr) pclose(output);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".", mode = argc > 2 ? argv[2] : "record";
  const std::string library = folder_of(folder_of(argv[0])) + "/lib/libkymo_inject.so";
  if (access(library.c_str(), R_OK) != 0) {
    bench::missing("Kymo's NVTX", ("build it: " + library + " is not there").c_str());
    return 0;
  }
  unsetenv("NVTX_INJECTION64_PATH");
  if (mode != "none") setenv("NVTX_INJECTION64_PATH", library.c_str(), 1);
  if (mode == "record") {
    const Measured none = measured(argv[0], folder, "none"), dormant = measured(argv[0], folder, "dormant");
    const double more = dormant.ns - none.ns;
    bench::row("nvtx_dormant", "NVTX push + pop, Kymo's library dormant",
               text("%.2f ns = %+.2f ns against no tool (%.2f ns)", dormant.ns, more, none.ns), "<= +0.10 ns",
               more <= 0.1, {dormant.kept, dormant.discarded});
    setenv("KYMO_TRACE", (folder + "/nvtx.kymo").c_str(), 1);
    recording();
  } else {
    print_cost();
  }
}
#else
int main() { bench::missing("NVTX", "install the CUDA toolkit (nvtx3/nvToolsExt.h)"); }
#endif
