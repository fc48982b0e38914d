// libtorch's modules for kymo::EdgeProfiler: libkymo_torch.so, CMake's kymo::torch.
//
//   #include <kymo/edge.h>
//   #include <kymo/torch.h>
//
//   torch::jit::mobile::Module module = torch::jit::_load_for_mobile("model.ptl");
//   kymo::EdgeProfiler profiler(module, {.trace_file = "run.json", .with_modules = true});
//   module.forward(inputs);
//
// What is heard, on the profiler's thread and wherever libtorch takes its work from there (at::launch, fork, autograd):
//
//   torch::jit::mobile::Module   operators of the lite interpreter; scopes that the program named
//   torch::jit::Module           operators, also inside operators; functions of TorchScript; backward functions; scopes
//   torch::nn::Module            the same; so do a class derived from it and its holder (torch::nn::Linear)
//
// Where an operation is in the module (with_modules, with_stack): a mobile module says it afterwards by its debug
// handles, if it was saved with them; a scripted one is asked while it runs, which costs 2 µs an operation; C++ code
// of torch::nn leaves no trace of it but the scopes it names (RECORD_USER_SCOPE) and the C++ stack.
//
// libtorch has room for one profiler on a thread: while its own one is on an EdgeProfiler is refused with kymo::Error,
// and while an EdgeProfiler records libtorch refuses its own.
//
// The library also makes libtorch a client of kymo/ondemand.h: a program that is linked with it, or has it in
// LD_PRELOAD, tells operators, scopes, backward functions and memory of all its threads when it is asked for a trace
// (docs/torch.md). While none runs libtorch calls nothing of it.
#pragma once

#include <concepts>
#include <memory>

#include "kymo/edge_module.h"
#include "kymo/export.h"

namespace torch {
namespace jit {
struct Module;
namespace mobile {
class Module;
}
}  // namespace jit
namespace nn {
class Module;
template <typename Contained>
class ModuleHolder;
}  // namespace nn
}  // namespace torch

namespace kymo::edge {

namespace detail {
KYMO_API std::unique_ptr<Module> make_torch_module(const torch::jit::mobile::Module& module);
KYMO_API std::unique_ptr<Module> make_torch_module(const torch::jit::Module& module);
KYMO_API std::unique_ptr<Module> make_torch_module(const torch::nn::Module& module);
}  // namespace detail

template <std::derived_from<torch::jit::mobile::Module> T>
struct ModuleOf<T> {
  static std::unique_ptr<Module> make(const T& module) {
    return detail::make_torch_module(static_cast<const torch::jit::mobile::Module&>(module));
  }
};

template <std::derived_from<torch::jit::Module> T>
struct ModuleOf<T> {
  static std::unique_ptr<Module> make(const T& module) {
    return detail::make_torch_module(static_cast<const torch::jit::Module&>(module));
  }
};

template <std::derived_from<torch::nn::Module> T>
struct ModuleOf<T> {
  static std::unique_ptr<Module> make(const T& module) {
    return detail::make_torch_module(static_cast<const torch::nn::Module&>(module));
  }
};

// What TORCH_MODULE makes. An empty holder throws what libtorch throws.
template <class T>
requires std::derived_from<T, torch::nn::ModuleHolder<typename T::ContainedType>>
struct ModuleOf<T> {
  static std::unique_ptr<Module> make(const T& module) {
    return detail::make_torch_module(static_cast<const torch::nn::Module&>(*module));
  }
};

}  // namespace kymo::edge

// Makes sure that a program that includes this has the library; called by nobody.
extern "C" KYMO_API void kymo_link_torch(void);
namespace kymo::detail {
[[gnu::used]] inline constexpr auto* kLinkTorch = &kymo_link_torch;
}
