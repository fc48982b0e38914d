// Two threads, ten million ranges each, as fast as they can. The time ends when all ranges are in the file.
//
//   bench_throughput FOLDER      the trace goes into the folder
#include <chrono>
#include <string>

#include "kymo/session.h"
#include "memory_use.h"
#include "report.h"
#include "trace/reader.h"
#include "two_threads.h"

namespace {

using bench::text;

constexpr unsigned kWantedRuns = 5;
constexpr unsigned kMaxRuns = 15;
constexpr uint64_t kRanges = 2 * bench::kBurstRanges;

struct Counted {
  uint64_t ranges = 0, lost = 0, bytes = 0;
};

// Reads the file and decodes the ranges, because a header alone proves nothing.
Counted read_back(const std::string& path) {
  const kymo::trace::Reader reader(path);
  Counted counted;
  kymo::trace::EventBatch batch;
  for (const auto& chunk : reader.event_chunks()) {
    reader.read(chunk, batch, kymo::trace::kRangeTimes | kymo::trace::kRangeClasses);
    const auto& classes = reader.writers().at(chunk.writer).classes;
    for (const uint32_t id : batch.ranges.class_id) {
      const auto found = classes.find(id);
      counted.ranges += found != classes.end() && found->second.name == "burst" ? 1 : 0;
    }
  }
  for (const auto& [id, writer] : reader.writers())
    for (const auto& loss : writer.losses) counted.lost += loss.count;
  counted.bytes = reader.file_size();
  return counted;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = std::string(argc > 1 ? argv[1] : ".") + "/throughput.kymo";
  bench::Rates rates;
  for (unsigned run = 0; run < kMaxRuns && rates.rounds().kept < kWantedRuns; ++run) {
    const bench::OtherWork other;
    const auto began = std::chrono::steady_clock::now();
    kymo::Session session(path);
    bench::burst(bench::kBurstRanges);
    session.close();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    rates.add(static_cast<double>(kRanges) / took.count() / 1e6, other.share());
  }
  const double peak = bench::resident_mb("VmHWM");
  const Counted counted = read_back(path);
  bench::row("throughput", "2 threads x 10 M ranges, until the file is complete", rates.text(), ">= 40 M/s",
             rates.typical() >= 40, rates.rounds());
  bench::row("complete", "... of them in the file, read back",
             text("%.3f M, %llu lost", static_cast<double>(counted.ranges) / 1e6,
                  static_cast<unsigned long long>(counted.lost)),
             "20.000 M", counted.ranges == kRanges && counted.lost == 0);
  bench::row("throughput_memory", "... peak resident memory", text("%.0f MB", peak), "< 100 MB", peak < 100);
  const double bytes = static_cast<double>(counted.bytes) / static_cast<double>(kRanges);
  bench::row("bytes_burst", "... bytes a range in the file", text("%.2f", bytes), "<= 1.0", bytes <= 1.0);
}
