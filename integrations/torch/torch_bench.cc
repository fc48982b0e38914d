// The cost per operator of listening to libtorch: without a listener, with a callback that does nothing, with Kymo's
// two ways, and with libtorch's own profiler. They run in turn, on many small operators. As in measure.h, a batch
// counts only if it was quiet before and after.
#include <ATen/record_function.h>
#include <torch/csrc/autograd/profiler_legacy.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "kymo/edge.h"
#include "kymo/ondemand.h"
#include "kymo/torch.h"
#include "measure.h"
#include "report.h"

namespace {

using bench::median;
using bench::text;
namespace legacy = torch::autograd::profiler;

constexpr int kSide = 12, kSteps = 25, kBatches = 20;
constexpr size_t kWantedBatches = 400;
constexpr auto kTimeout = std::chrono::seconds(20);

struct SmallOperatorsImpl : torch::nn::Module {
  // Operators of one µs each, some inside others. No matrix products: their time depends on the address of their
  // result, and that effect is larger than what is measured here.
  torch::Tensor forward(torch::Tensor x, const torch::Tensor& y) {
    for (int i = 0; i < 2; ++i) x = x.mul(y).add(y).sub(x).relu();
    return x;
  }
};
TORCH_MODULE(SmallOperators);

std::unique_ptr<at::ObserverContext> hear_nothing(const at::RecordFunction&) { return nullptr; }
void end_nothing(const at::RecordFunction&, at::ObserverContext*) {}

thread_local uint64_t operators = 0;
std::unique_ptr<at::ObserverContext> count_operator(const at::RecordFunction&) {
  ++operators;
  return nullptr;
}

// The cost of one operator in one configuration. Only undisturbed batches count.
struct Batches {
  std::vector<double> ns;
  unsigned discarded = 0;
  double cost() const { return median(ns); }
};

class Program {
 public:
  Program() : x_(torch::rand({kSide, kSide}) / kSide), y_(torch::rand({kSide, kSide}) / kSide) {
    bench::this_buffer = &floor_buffer_;
    for (int i = 0; i < 500; ++i) floor();
    const at::CallbackHandle callback = at::addThreadLocalCallback(at::RecordFunctionCallback(count_operator));
    step();
    at::removeCallback(callback);
    operators_ = static_cast<double>(operators);
  }

  const SmallOperators& module() const { return module_; }

  void run(Batches& batches) {
    for (int i = 0; i < kSteps; ++i) step();
    for (int i = 0; i < kBatches; ++i) {
      const long switches = bench::involuntary_switches();
      const double before = floor();
      const uint64_t began = bench::host_ns();
      for (int j = 0; j < kSteps; ++j) step();
      const uint64_t ended = bench::host_ns();
      const double after = floor();
      if (std::max(before, after) > best_floor_ * bench::kQuiet || bench::involuntary_switches() != switches)
        ++batches.discarded;
      else
        batches.ns.push_back(static_cast<double>(ended - began) / kSteps / operators_);
    }
  }

 private:
  void step() { module_->forward(x_, y_); }
  double floor() {
    const uint64_t began = bench::ticks();
    for (unsigned i = 0; i < bench::kBatch; ++i) bench::floor_range();
    const auto ticks = static_cast<double>(bench::ticks() - began);
    best_floor_ = std::min(best_floor_, ticks);
    return ticks;
  }

  SmallOperators module_;
  torch::Tensor x_, y_;
  double operators_ = 1, best_floor_ = 1e9;
  bench::FloorBuffer floor_buffer_;
};

void run_with_callback(Program& program, Batches& batches) {
  const at::CallbackHandle callback = at::addThreadLocalCallback(
      at::RecordFunctionCallback(hear_nothing, end_nothing)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE, at::RecordScope::BACKWARD_FUNCTION,
                   at::RecordScope::TORCHSCRIPT_FUNCTION}));
  program.run(batches);
  at::removeCallback(callback);
}

void run_with_kymo(Program& program, Batches& batches, bool everything) {
  kymo::EdgeProfiler profiler(program.module(), {.report_input_shapes = everything, .profile_memory = everything});
  program.run(batches);
}

// With a requested trace of all threads; the trace itself is not used.
void run_with_trace(Program& program, Batches& batches, bool everything) {
  const std::string file = "/tmp/kymo-bench-torch-" + std::to_string(getpid()) + ".kymo";
  kymo::ondemand::prepare(everything, everything, false, everything, false);
  kymo::ondemand::start(file);
  program.run(batches);
  kymo::ondemand::stop();
  unlink(file.c_str());
}

void run_with_libtorch(Program& program, Batches& batches) {
  legacy::enableProfilerLegacy(legacy::ProfilerConfig(legacy::ProfilerState::CPU, true, true));
  program.run(batches);
  legacy::disableProfilerLegacy();
}

}  // namespace

int main() {
  torch::set_num_threads(1);
  const torch::NoGradGuard no_gradients;
  Program program;
  Batches plain, callback, bare, everything, trace, whole_trace, libtorch;
  const auto until = std::chrono::steady_clock::now() + kTimeout;
  while (libtorch.ns.size() < kWantedBatches && std::chrono::steady_clock::now() < until) {
    program.run(plain);
    run_with_callback(program, callback);
    run_with_kymo(program, bare, false);
    run_with_kymo(program, everything, true);
    run_with_trace(program, trace, false);
    run_with_trace(program, whole_trace, true);
    run_with_libtorch(program, libtorch);
  }
  const auto rounds = [](const Batches& batches) {
    return bench::Rounds{static_cast<unsigned>(batches.ns.size()), batches.discarded};
  };
  const double more = bare.cost() - callback.cost();
  const double all = everything.cost() - plain.cost(), theirs = libtorch.cost() - plain.cost();
  bench::row("torch_callback", "a callback that does nothing, for an operator of libtorch",
             text("%.0f ns (%.0f ns without)", callback.cost() - plain.cost(), plain.cost()), "", false,
             rounds(callback));
  bench::row("torch_edge", "..., an EdgeProfiler, beyond that", text("%.0f ns", more), "<= 150 ns", more <= 150,
             rounds(bare));
  bench::row("torch_edge_inputs", "..., with inputs and memory, to libtorch's own profiler with them",
             text("%.2f x (%.0f ns)", all / theirs, all), "<= 0.50 x", all / theirs <= 0.5, rounds(everything));
  bench::peer("torch_edge_inputs", "libtorch's profiler", text("%.0f ns", theirs), rounds(libtorch));
  const double traced = trace.cost() - callback.cost(), traced_all = whole_trace.cost() - plain.cost();
  bench::row("torch_trace", "..., a trace that was asked for, beyond a callback that does nothing",
             text("%.0f ns", traced), "<= 200 ns", traced <= 200, rounds(trace));
  bench::row("torch_trace_inputs", "..., with shapes, FLOPs and memory, to libtorch's own profiler",
             text("%.2f x (%.0f ns)", traced_all / theirs, traced_all), "<= 0.60 x", traced_all / theirs <= 0.6,
             rounds(whole_trace));
  bench::peer("torch_trace_inputs", "libtorch's profiler", text("%.0f ns", theirs), rounds(libtorch));
  return 0;
}
