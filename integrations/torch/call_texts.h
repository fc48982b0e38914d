// The details that are reported with a call of libtorch: its inputs as texts, its floating-point operations, its place.
//
// Programs repeat calls. So a thread keeps its last few hundred calls, and the same operator on the same shapes is
// converted to text once. The texts are limited in length, so that a record of the trace can hold all of them.
#pragma once

#include <ATen/record_function.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::libtorch {

struct CallTexts {
  std::string name;
  std::vector<std::byte> inputs;  // as kymo/edge_engine.h packs them
  std::string shapes;             // "[[2, 3], [3, 4]]"
  std::string types;              // ["float", "float"]
  uint64_t flops = 0;             // 0: none, or not known
};

// The known calls of one thread.
class KnownCalls {
 public:
  KnownCalls();
  ~KnownCalls();

  // Valid until the next call; null: the call has no inputs, or there is no memory.
  const CallTexts* find(const at::RecordFunction& call, std::string_view name) noexcept;

 private:
  static constexpr size_t kPlaces = 256;
  std::unique_ptr<CallTexts[]> places_;  // by the hash of name and inputs
};

// From the TorchScript interpreter: empty outside of it. Takes one or two microseconds inside.
std::string module_hierarchy(std::string_view name) noexcept;  // "top(C)::forward.A0(A)::forward.aten::sub"
std::string script_stack() noexcept;                           // "net.py(12): forward;…", innermost first

inline constexpr size_t kLongestName = 512;

}  // namespace kymo::libtorch
