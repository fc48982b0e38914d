// spdlog, asynchronous, to a file: two lines per range, like programs that log instead of using a profiler.
//
//   bench_peers_spdlog FOLDER
#include <string>

#include "measure.h"
#include "report.h"

#if KYMO_HAVE_SPDLOG
#include <spdlog/async.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

namespace {
constexpr size_t kQueueSlots = 128 << 10;
constexpr size_t kThreads = 1;
constexpr uint64_t kPauseNs = 4'000'000;  // it writes about a million lines a second
}  // namespace

int main(int argc, char** argv) {
  const std::string path = std::string(argc > 1 ? argv[1] : ".") + "/spdlog.txt";
  spdlog::init_thread_pool(kQueueSlots, kThreads);
  const auto log = spdlog::basic_logger_mt<spdlog::async_factory>("bench", path, true);
  bench::Meter meter(kPauseNs);
  uint64_t number = 0;
  const auto line_pair = [&] {
    log->info("begin {}", ++number);
    bench::keep();
    log->info("end {}", number);
  };
  const auto on = meter.cost(line_pair);
  bench::peer("range_on", "spdlog async, 2 lines", bench::text("%.0f ns = %.1f x", on.ns, on.ratio),
              {on.kept, on.discarded});
  log->set_level(spdlog::level::warn);
  const auto off = meter.cost(line_pair, bench::keep);
  bench::peer("guard_off", "spdlog, below the level", bench::text("%.2f ns", off.more_ns), {off.kept, off.discarded});
  spdlog::shutdown();
  std::remove(path.c_str());
}
#else
int main() { bench::missing("spdlog", "install libspdlog-dev"); }
#endif
