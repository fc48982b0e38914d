// USDT probes without an attached tool: two nops per range.
#include "measure.h"
#include "report.h"

#if KYMO_HAVE_SDT
#include <sys/sdt.h>

int main() {
  bench::Meter meter;
  uint64_t number = 0;
  const auto cost = meter.cost(
      [&number] {
        DTRACE_PROBE1(kymo_bench, range_begin, number);
        bench::keep();
        DTRACE_PROBE1(kymo_bench, range_end, number);
      },
      bench::keep);
  bench::peer("guard_off", "USDT, not attached", bench::text("%.2f ns", cost.more_ns), {cost.kept, cost.discarded});
}
#else
int main() { bench::missing("USDT", "install systemtap-sdt-dev"); }
#endif
