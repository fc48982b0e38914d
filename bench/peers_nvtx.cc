// NVTX push and pop with no tool injected: the cost for an annotated CUDA program when no tool records.
#include "measure.h"
#include "report.h"

#if KYMO_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>

int main() {
  bench::Meter meter;
  const auto cost = meter.cost([] {
    nvtxRangePushA("load images");
    bench::keep();
    nvtxRangePop();
  });
  bench::peer("push_off", "NVTX, no tool", bench::text("%.2f ns", cost.ns), {cost.kept, cost.discarded});
}
#else
int main() { bench::missing("NVTX", "install the CUDA toolkit (nvtx3/nvToolsExt.h)"); }
#endif
