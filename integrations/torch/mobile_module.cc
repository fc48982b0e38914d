// torch::jit::mobile::Module: the modules of the lite interpreter. Its operators have debug handles, which are
// converted to places with the table that was saved with the module.
#include <torch/csrc/jit/mobile/module.h>

#include <unordered_map>

#include "kymo/torch.h"
#include "source_frames.h"
#include "torch_module.h"

namespace kymo::edge {

namespace {

namespace mobile = torch::jit::mobile;

// The lite interpreter does not say how many arguments an operator takes; the module's code does.
class MobileReader final : public CallReader {
 public:
  explicit MobileReader(const mobile::Module& module) {
    for (const std::unique_ptr<mobile::Function>& function : module.compilation_unit().methods())
      add(function->get_code());
  }

  c10::ArrayRef<const c10::IValue> arguments(const at::RecordFunction& call) const noexcept override {
    if (call.scope() != at::RecordScope::LITE_INTERPRETER) return CallReader::arguments(call);
    const c10::ArrayRef<const c10::IValue> stack = call.inputs();
    const auto found = counts_.find(call.debugHandle());
    if (found == counts_.end()) return stack;
    const Counts& counts = found->second;
    if (counts.own == kUnknown || counts.own + counts.after > stack.size()) return stack;
    return stack.slice(stack.size() - counts.own - counts.after, counts.own);
  }

 private:
  static constexpr size_t kUnknown = SIZE_MAX;
  struct Counts {
    size_t own;
    size_t after;  // values on top of the arguments: the argument count of a variadic operator
    bool operator==(const Counts&) const = default;
  };

  void add(const mobile::Code& code) {
    for (size_t at = 0; at < code.instructions_.size(); ++at) {
      const torch::jit::Instruction& instruction = code.instructions_[at];
      Counts counts{kUnknown, 0};
      if (instruction.op == torch::jit::OPN) {
        counts = {instruction.N, 1};
      } else if (instruction.op == torch::jit::INTERFACE_CALL) {
        counts = {instruction.N, 0};
      } else if (instruction.op == torch::jit::OP) {
        const auto index = static_cast<size_t>(instruction.X);
        if (index < code.operator_input_sizes_.size() && code.operator_input_sizes_[index] >= 0)
          counts.own = static_cast<size_t>(code.operator_input_sizes_[index]);
      } else {
        continue;
      }
      // Without debug information the position in a function is used as the handle, and several functions may use the
      // same one with different counts.
      const int64_t handle = at < code.debug_handles_.size() ? code.debug_handles_[at] : static_cast<int64_t>(at);
      const auto [entry, is_new] = counts_.try_emplace(handle, counts);
      if (!is_new && entry->second != counts) entry->second.own = kUnknown;
    }
  }

  std::unordered_map<int64_t, Counts> counts_;
};

class MobileModule final : public TorchModule {
 public:
  explicit MobileModule(const mobile::Module& module)
      : TorchModule({at::RecordScope::LITE_INTERPRETER, at::RecordScope::USER_SCOPE}), module_(module) {}

  std::string module_hierarchy(int64_t debug_handle, const std::string&) const override {
    if (!module_.hasDebugHandles()) return kNoDebugInformation;
    if (find(debug_handle) == nullptr) return unknown_handle(debug_handle);
    return module_.getModuleHierarchy(debug_handle);  // ends with the operator's name
  }

  std::string call_stack(int64_t debug_handle) const override {
    if (!module_.hasDebugHandles()) return kNoDebugInformation;
    const torch::jit::DebugInfoTuple* const info = find(debug_handle);
    return info == nullptr ? unknown_handle(debug_handle) : frames_text(*info);
  }

 private:
  std::shared_ptr<CallReader> reader(Wanted wanted) override {
    return wanted.inputs ? std::make_shared<MobileReader>(module_) : std::make_shared<CallReader>();
  }
  const torch::jit::DebugInfoTuple* find(int64_t debug_handle) const {
    const auto& table = module_.getDebugTable().getCallStackPtrMap();
    const auto found = table.find(debug_handle);
    return found == table.end() ? nullptr : &found->second;
  }

  const mobile::Module& module_;
};

}  // namespace

std::unique_ptr<Module> detail::make_torch_module(const mobile::Module& module) {
  return std::make_unique<MobileModule>(module);
}

}  // namespace kymo::edge
