// The cost of writing the files of an EdgeProfiler: a run of operators with shapes, as Chrome's JSON and as a Kymo
// trace. One thread writes, as in a profiler that ends.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "convert/export_stream.h"
#include "edge/chrome.h"
#include "edge/kymo_trace.h"
#include "edge/result.h"
#include "kymo/edge_engine.h"
#include "kymo/error.h"
#include "measure.h"
#include "report.h"

namespace {

using bench::median;
using bench::text;
using namespace kymo;

constexpr int kRounds = 5;
constexpr uint32_t kOperators = 400'000;
constexpr uint32_t kPlaces = 500;  // different places in the module, each with its own inputs
constexpr double kTargetMbPerSecond = 300;

class Discarding : public convert::ExportStream {
 public:
  void write(std::string_view bytes) override { bytes_ += bytes.size(); }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
};

uint32_t add_inputs(edge::ResultData& result, uint32_t place, int64_t scalar) {
  const int64_t sizes[] = {64 + place % 7, 3 * place}, strides[] = {3 * place, 1};
  edge::Inputs inputs;
  inputs.tensor(edge::Element::Float, sizes, strides);
  inputs.tensor(edge::Element::Float, sizes, strides);
  inputs.integer(scalar);
  result.inputs.insert(result.inputs.end(), inputs.bytes().begin(), inputs.bytes().end());
  return static_cast<uint32_t>(inputs.bytes().size());
}

// A program that runs the same module again and again: an operator, and one inside it. `varied`: one scalar input is
// different each time.
edge::ResultData make_result(bool varied) {
  edge::ResultData result;
  result.pid = static_cast<uint64_t>(getpid());
  result.start_ns = 1'800'000'000'000'000'000;
  result.inputs_wanted = result.modules_wanted = true;
  const std::string_view names[] = {"aten::add", "aten::mm", "aten::native_layer_norm", "aten::relu"};
  std::mt19937 random(1);
  uint64_t now = result.start_ns;
  for (uint32_t i = 0; i < kOperators; ++i) {
    EdgeEvent event;
    const uint32_t place = i % kPlaces;
    event.name = result.keep(names[place % 4]);
    event.thread = 4242;
    event.start_ns = event.raw_start_ns = now;
    event.end_ns = event.raw_end_ns = now + (i % 2 == 0 ? 9'000 : 4'000) + random() % 1'000;
    event.parent = i % 2 == 0 ? EdgeEvent::kNone : i - 1;
    event.depth = i % 2;
    event.debug_handle = place;
    event.module_hierarchy = result.keep(text("top(Net)::<unknown>.layer%u(Block)::forward.%s", place, "aten::op"));
    event.inputs_at = static_cast<uint32_t>(result.inputs.size());
    event.inputs_size = add_inputs(result, place, varied ? i : 1);
    result.events.push_back(event);
    now += (i % 2 == 0 ? 1'000 : 9'500) + random() % 1'000;
  }
  result.end_ns = now;
  result.first_device_event = kOperators;
  result.threads.push_back({4242, "main", 0, kOperators});
  return result;
}

struct Speed {
  double mb_per_second, events_per_second;
  uint64_t bytes;
};

// `write` returns the number of bytes written.
template <class Write>
Speed measure(const Write& write) {
  std::vector<double> seconds;
  uint64_t bytes = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto began = std::chrono::steady_clock::now();
    bytes = write();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  const double took = median(seconds);
  return {static_cast<double>(bytes) / took / 1e6, kOperators / took, bytes};
}

void report(const char* id, const std::string& what, const Speed& speed, double target) {
  bench::row(id, what,
             text("%.0f MB/s, %.2f M events/s, %.1f bytes an event", speed.mb_per_second, speed.events_per_second / 1e6,
                  static_cast<double>(speed.bytes) / kOperators),
             target > 0 ? text(">= %.0f MB/s", target) : "", speed.mb_per_second >= target);
}

}  // namespace

int main() try {
  const std::string path = (std::filesystem::temp_directory_path() / text("kymo-bench-edge-%d", getpid())).string();
  for (const bool varied : {false, true}) {
    const edge::ResultData result = make_result(varied);
    const Speed discarded = measure([&] {
      Discarding sink;
      edge::write_chrome(result, path, sink);
      return sink.bytes();
    });
    report(varied ? "edge_json_varied" : "edge_json",
           varied ? "..., inputs that never repeat" : "an edge profiler's JSON, operators with shapes, discarded",
           discarded, varied ? 0 : kTargetMbPerSecond);
    if (varied) break;
    const auto size_of_file = [&] { return static_cast<uint64_t>(std::filesystem::file_size(path)); };
    report("edge_json_file", "..., into a file", measure([&] {
             convert::FileStream sink(path);
             edge::write_chrome(result, path, sink);
             sink.finish();
             return size_of_file();
           }),
           0);
    report("edge_json_gz", "..., compressed (MB/s of what is written)", measure([&] {
             convert::FileStream file(path);
             convert::GzipStream sink(file);
             edge::write_chrome(result, path, sink);
             sink.finish();
             return size_of_file();
           }),
           0);
    report("edge_kymo", "the same as a Kymo trace", measure([&] {
             std::filesystem::remove(path);
             edge::write_kymo_trace(result, path);
             return size_of_file();
           }),
           0);
    std::filesystem::remove(path);
  }
  return 0;
} catch (const kymo::Error& error) {
  std::fprintf(stderr, "bench_edge_write: %s\n", error.what());
  return 1;
}
