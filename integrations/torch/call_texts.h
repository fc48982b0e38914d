// What a call of libtorch is told with: its inputs as texts, its floating-point operations, where it is.
//
// Programs repeat themselves: a thread keeps the last few hundred calls it met, so that the same operator on the same
// shapes is put into words once. No text is so long that a record of the trace could not hold them all.
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

// One thread's.
class KnownCalls {
 public:
  KnownCalls();
  ~KnownCalls();

  // Good until the next call; null: it takes nothing, or there is no memory.
  const CallTexts* find(const at::RecordFunction& call, std::string_view name) noexcept;

 private:
  static constexpr size_t kPlaces = 256;
  std::unique_ptr<CallTexts[]> places_;  // by the hash of name and inputs
};

// The interpreter's own, of TorchScript: empty outside of it. A microsecond or two inside.
std::string module_hierarchy(std::string_view name) noexcept;  // "top(C)::forward.A0(A)::forward.aten::sub"
std::string script_stack() noexcept;                           // "net.py(12): forward;…", innermost first

inline constexpr size_t kLongestName = 512;

}  // namespace kymo::libtorch
