// Modules for the tests, made with libtorch's own functions, and helpers to inspect what was recorded.
#pragma once

#include <torch/csrc/jit/mobile/import.h>
#include <torch/csrc/jit/mobile/module.h>
#include <torch/script.h>
#include <torch/torch.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/edge.h"
#include "kymo/edge_engine.h"
#include "kymo/torch.h"

namespace kymo::edge::testing {

// Saved for mobile devices, and loaded again.
inline torch::jit::mobile::Module to_mobile(const torch::jit::Module& module, bool debug_information = true) {
  std::stringstream file;
  module._save_for_mobile(file, {}, debug_information);
  return torch::jit::_load_for_mobile(file);
}

// C has A0, of type A, and B0, of type B. Its operators: sub, mul, add in A, add in B, add in C itself.
inline torch::jit::Module nested_module() {
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module a("A", unit), b("B", unit), c("C", unit);
  a.define(R"(
def my_new_method(self, x):
    return x * 3
def forward_impl_(self, x, y):
    return self.my_new_method(x) + y
def forward(self, x, y):
    y = x - y
    return self.forward_impl_(x, y)
)");
  b.define(R"(
def forward(self, x):
    return x + 2
)");
  c.register_module("A0", a);
  c.register_module("B0", b);
  c.define(R"(
def call_b(self, x):
    return self.B0.forward(x)
def forward(self, x, y):
    return self.A0.forward(x, y) + self.call_b(x)
)");
  return c;
}

inline torch::jit::Module module_of(const std::string& source, const std::string& name = "M") {
  torch::jit::Module module(name, std::make_shared<torch::jit::CompilationUnit>());
  module.define(source);
  return module;
}

inline std::vector<c10::IValue> two_squares() { return {torch::rand({64, 64}), torch::rand({64, 64})}; }

inline std::vector<EdgeEvent> named(const EdgeResult& result, std::string_view name) {
  std::vector<EdgeEvent> found;
  for (const EdgeEvent& event : result.events())
    if (event.name == name) found.push_back(event);
  return found;
}

inline std::vector<std::string> names(const EdgeResult& result, EdgeKind kind = EdgeKind::Operator) {
  std::vector<std::string> names;
  for (const EdgeEvent& event : result.events())
    if (event.kind == kind) names.emplace_back(event.name);
  return names;
}

inline uint64_t all_flops(const EdgeResult& result) {
  uint64_t sum = 0;
  for (const EdgeEvent& event : result.events()) sum += event.flops;
  return sum;
}

// A file's name in the temporary folder, removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_((std::filesystem::temp_directory_path() / ("kymo-torch-" + std::to_string(getpid()) + "-" + name))
                  .string()) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace kymo::edge::testing
