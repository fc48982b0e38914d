// A small inference engine with kymo::EdgeProfiler: what an engine must do so that its users see its operations.
//
//   kymo_engine [TRACE [DEVICE]]           default: engine.json, on the best device
//
// The engine runs a perceptron of three layers on the available accelerator. For the profiler it does four things:
//   1. Its module derives from edge::Module and says what a debug handle means.
//   2. Each operation is an edge::Operation while the host works on it, with its inputs if they are wanted.
//   3. It reports device memory when it allocates and frees it.
//   4. It does nothing for kernels: Kymo's runtime reports them itself (with_device).
// The result is checked against the same network on the host.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kymo/device.h"
#include "kymo/edge.h"
#include "kymo/edge_engine.h"

namespace {

using namespace kymo::device;
namespace edge = kymo::edge;

constexpr int64_t kBatch = 32;
constexpr int kPasses = 5;

// One thread for each number of the output. `w` is the operation's weights, if it has any.
const char* const kKernels = R"(#include <metal_stdlib>
using namespace metal;

#define OPERATION(name) kernel void name(device float* y, device const float* x, device const float* w, \
    constant int& inner, constant int& columns, uint2 i [[thread_position_in_grid]])

OPERATION(matmul) {
  float sum = 0;
  for (int k = 0; k < inner; ++k) sum += x[int(i.y) * inner + k] * w[k * columns + int(i.x)];
  y[int(i.y) * columns + int(i.x)] = sum;
}

OPERATION(add) { y[int(i.y) * columns + int(i.x)] = x[int(i.y) * columns + int(i.x)] + w[i.x]; }

OPERATION(relu) { y[int(i.y) * columns + int(i.x)] = max(x[int(i.y) * columns + int(i.x)], 0.0f); }

OPERATION(softmax) {
  device const float* row = x + int(i.y) * columns;
  float largest = row[0], sum = 0;
  for (int k = 1; k < columns; ++k) largest = max(largest, row[k]);
  for (int k = 0; k < columns; ++k) sum += exp(row[k] - largest);
  y[int(i.y) * columns + int(i.x)] = exp(row[i.x] - largest) / sum;
}
)";

// Kineto's number of the device.
edge::DeviceId device_id(const Device& device) {
  const std::string& name = device.name();
  const size_t colon = name.find(':');
  const std::map<std::string, int32_t> types{{"cuda", 1}, {"opencl", 4}, {"vulkan", 10}};
  return {types.at(name.substr(0, colon)), std::stoi(name.substr(colon + 1))};
}

// A tensor that reports its memory to the profiler.
class Buffer {
 public:
  explicit Buffer(Shape shape) : tensor_(empty(shape)) { report(1); }
  ~Buffer() {
    if (tensor_.is_defined()) report(-1);
  }
  Buffer(Buffer&&) = default;
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  const Tensor& tensor() const { return tensor_; }

 private:
  void report(int sign) const {
    edge::Log* const log = edge::current_log();
    if (log == nullptr || !edge::wanted(*log).memory) return;
    edge::memory(*log, {.address = reinterpret_cast<const void*>(tensor_.address()),
                        .bytes = sign * static_cast<int64_t>(tensor_.bytes()),
                        .total_allocated = current_allocated_memory(),
                        .total_reserved = driver_allocated_memory(),
                        .device = device_id(tensor_.device())});
  }
  Tensor tensor_;
};

// One operation of the network. Its number is its debug handle.
struct Node {
  std::string operation;       // "matmul"
  std::string instance, type;  // its place in the module: "layer1", "Linear"
  int64_t columns = 0;         // of its output
  Tensor weights;              // undefined: it has none
};

class Perceptron final : public edge::Module {
 public:
  explicit Perceptron(int64_t inputs) : kernels_(compile_shader(kKernels)), columns_(inputs) {
    add_linear("layer1", 128);
    add("relu", "relu1", "ReLU");
    add_linear("layer2", 64);
    add("relu", "relu2", "ReLU");
    add_linear("layer3", 10);
    add("softmax", "softmax", "Softmax");
  }

  Tensor forward(const Tensor& input) const {
    const edge::Operation whole("forward");
    Buffer value = run(0, input);
    for (size_t node = 1; node < nodes_.size(); ++node) value = run(node, value.tensor());
    return value.tensor();
  }

  // The same computation on the host, in double.
  std::vector<double> forward_on_host(const std::vector<float>& input) const;

  // ---- Called by the profiler after the run ----

  std::string module_hierarchy(int64_t handle, const std::string& name) const override {
    const Node* node = find(handle);
    if (node == nullptr) return edge::unknown_handle(handle);
    return "top(Perceptron)::<unknown>." + node->instance + "(" + node->type + ")::forward." + name;
  }

  // A real engine would return lines of the model's source.
  std::string call_stack(int64_t handle) const override {
    const Node* node = find(handle);
    if (node == nullptr) return edge::unknown_handle(handle);
    return "perceptron.model(" + std::to_string(handle + 1) + "): " + node->operation + ";perceptron.model: forward";
  }

 private:
  void add(const char* operation, const char* instance, const char* type, Tensor weights = {}) {
    nodes_.push_back({operation, instance, type, columns_, std::move(weights)});
  }
  void add_linear(const char* instance, int64_t outputs) {
    const Tensor matrix = random_weights({columns_, outputs}, 1 / std::sqrt(static_cast<float>(columns_)));
    columns_ = outputs;
    add("matmul", instance, "Linear", matrix);
    add("add", instance, "Linear", random_weights({outputs}, 0.1f));
  }
  Tensor random_weights(Shape shape, float deviation) {
    std::normal_distribution<float> distribution(0, deviation);
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    std::generate(values.begin(), values.end(), [&] { return distribution(random_); });
    return from_host(values, shape);
  }

  const Node* find(int64_t handle) const {
    return handle >= 0 && static_cast<size_t>(handle) < nodes_.size() ? &nodes_[static_cast<size_t>(handle)] : nullptr;
  }

  Buffer run(size_t handle, const Tensor& x) const {
    const Node& node = nodes_[handle];
    // Called only if inputs are wanted.
    const auto put_inputs = [&](edge::Inputs& inputs) {
      inputs.tensor(edge::Element::Float, x.shape().sizes(), x.strides());
      if (node.weights.is_defined())
        inputs.tensor(edge::Element::Float, node.weights.shape().sizes(), node.weights.strides());
    };
    const edge::Operation operation(node.operation, static_cast<int64_t>(handle), put_inputs);
    const auto rows = static_cast<uint64_t>(x.shape()[0]), columns = static_cast<uint64_t>(node.columns);
    Buffer y({x.shape()[0], node.columns});
    kernels_[node.operation].threads(columns, rows)(y.tensor(), x, node.weights.is_defined() ? node.weights : x,
                                                    x.shape()[1], node.columns);
    return y;
  }

  ShaderLibrary kernels_;
  std::vector<Node> nodes_;
  int64_t columns_;  // of the output of the last node
  std::mt19937 random_{7};
};

std::vector<double> Perceptron::forward_on_host(const std::vector<float>& input) const {
  std::vector<double> x(input.begin(), input.end());
  for (const Node& node : nodes_) {
    const std::vector<float> w = node.weights.is_defined() ? node.weights.to_host<float>() : std::vector<float>();
    const auto columns = static_cast<size_t>(node.columns), inner = x.size() / kBatch;
    std::vector<double> y(kBatch * columns);
    for (size_t row = 0; row < kBatch; ++row) {
      double sum = 0;
      if (node.operation == "softmax")
        for (size_t k = 0; k < columns; ++k) sum += std::exp(x[row * columns + k]);
      for (size_t column = 0; column < columns; ++column) {
        double& value = y[row * columns + column];
        if (node.operation == "matmul")
          for (size_t k = 0; k < inner; ++k) value += x[row * inner + k] * w[k * columns + column];
        else if (node.operation == "add")
          value = x[row * columns + column] + w[column];
        else if (node.operation == "relu")
          value = std::max(x[row * columns + column], 0.0);
        else
          value = std::exp(x[row * columns + column]) / sum;
      }
    }
    x = std::move(y);
  }
  return x;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string trace = argc > 1 ? argv[1] : "engine.json";
  if (argc > 2) set_device(Device(argv[2]));
  constexpr int64_t kInputs = 256;
  std::vector<float> picture(kBatch * kInputs);
  for (size_t i = 0; i < picture.size(); ++i) picture[i] = static_cast<float>(i * 37 % 255) / 255;
  const Tensor input = from_host(picture, {kBatch, kInputs});
  const Perceptron network(kInputs);
  (void)network.forward(input).to_host<float>();  // the first pass takes longer than others

  kymo::EdgeProfiler profiler(network, {.trace_file = trace,
                                        .report_input_shapes = true,
                                        .profile_memory = true,
                                        .with_stack = true,
                                        .with_flops = true,
                                        .with_modules = true,
                                        .adjust_vulkan_timestamps = Device::current().name().starts_with("vulkan"),
                                        .with_device = true});
  std::vector<float> output;
  for (int pass = 0; pass < kPasses; ++pass) output = network.forward(input).to_host<float>();
  const kymo::EdgeResult result = profiler.disable_profiler();
  profiler.close();

  std::printf("%s\n", result.table("cpu_time_total", 10, kymo::EdgeGroup::Module).c_str());
  const std::vector<double> expected = network.forward_on_host(picture);
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) worst = std::max(worst, std::abs(expected[i] - output[i]));
  std::printf("%s: %d passes, off the host's by %.1e at most; %s has them all\n",
              Device::current().description().c_str(), kPasses, worst, trace.c_str());
  return worst < 1e-4 ? 0 : 1;
} catch (const kymo::Error& error) {
  std::fprintf(stderr, "engine: %s\n", error.what());
  return 1;
}
