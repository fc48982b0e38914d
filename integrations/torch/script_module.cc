// torch::jit::Module and torch::nn::Module: libtorch's whole interpreter, and operators called from C++.
//
// Their operators have no debug handles. If places are wanted, the interpreter is asked for its stack when an operator
// begins. Each new stack gets a number, which is used as the handle.
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/nn/module.h>

#include <mutex>
#include <optional>
#include <unordered_map>

#include "kymo/torch.h"
#include "source_frames.h"
#include "torch_module.h"

namespace kymo::edge {

namespace {

// "top(C)::forward.A0(A)::forward" and the frames of the source.
struct Place {
  std::string hierarchy, frames;
};

class Places final : public CallReader {
 public:
  int64_t debug_handle(const at::RecordFunction&) noexcept override try {
    Place place{hierarchy_text(torch::jit::currentModuleHierarchy()), {}};
    if (place.hierarchy.empty()) return -1;  // not inside the interpreter
    place.frames = frames_text(torch::jit::currentCallstack());
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] =
        numbers_.try_emplace(place.hierarchy + '\n' + place.frames, static_cast<int64_t>(places_.size()));
    if (is_new) places_.push_back(std::move(place));
    return entry->second;
  } catch (const std::exception&) {
    return -1;
  }

  std::optional<Place> find(int64_t debug_handle) const {
    const std::lock_guard lock(mutex_);
    if (debug_handle < 0 || static_cast<uint64_t>(debug_handle) >= places_.size()) return std::nullopt;
    return places_[static_cast<size_t>(debug_handle)];
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, int64_t> numbers_;
  std::vector<Place> places_;
};

class ScriptModule final : public TorchModule {
 public:
  ScriptModule()
      : TorchModule({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE, at::RecordScope::BACKWARD_FUNCTION,
                     at::RecordScope::TORCHSCRIPT_FUNCTION}) {}

  std::string module_hierarchy(int64_t debug_handle, const std::string& name) const override {
    const std::optional<Place> place = find(debug_handle);
    return place ? place->hierarchy + "." + name : unknown_handle(debug_handle);
  }

  std::string call_stack(int64_t debug_handle) const override {
    const std::optional<Place> place = find(debug_handle);
    return place ? place->frames : unknown_handle(debug_handle);
  }

 private:
  std::shared_ptr<CallReader> reader(Wanted wanted) override {
    if (!wanted.places) return std::make_shared<CallReader>();
    places_ = std::make_shared<Places>();
    return places_;
  }
  std::optional<Place> find(int64_t debug_handle) const {
    return places_ == nullptr ? std::nullopt : places_->find(debug_handle);
  }

  std::shared_ptr<Places> places_;
};

}  // namespace

std::unique_ptr<Module> detail::make_torch_module(const torch::jit::Module&) {
  return std::make_unique<ScriptModule>();
}

std::unique_ptr<Module> detail::make_torch_module(const torch::nn::Module&) { return std::make_unique<ScriptModule>(); }

}  // namespace kymo::edge
