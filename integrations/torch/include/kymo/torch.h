// Support for libtorch's modules in kymo::EdgeProfiler. Library libkymo_torch.so, CMake target kymo::torch.
//
//   #include <kymo/edge.h>
//   #include <kymo/torch.h>
//
//   torch::jit::mobile::Module module = torch::jit::_load_for_mobile("model.ptl");
//   kymo::EdgeProfiler profiler(module, {.trace_file = "run.json", .with_modules = true});
//   module.forward(inputs);
//
// What is recorded, on the profiler's thread and on the threads to which libtorch moves its work (at::launch, fork,
// autograd):
//
//   torch::jit::mobile::Module   operators of the lite interpreter; named scopes of the program
//   torch::jit::Module           operators, also inside operators; functions of TorchScript; backward functions; scopes
//   torch::nn::Module            the same; also for derived classes and their holders (torch::nn::Linear)
//
// The place of an operation in the module (with_modules, with_stack): a mobile module gives it after the run by its
// debug handles, if it was saved with them. A scripted module is asked while it runs, which costs 2 µs per operation.
// C++ code of torch::nn gives only the scopes that it names (RECORD_USER_SCOPE) and the C++ stack.
//
// libtorch supports one profiler per thread. While its own profiler is active, an EdgeProfiler is refused with
// kymo::Error. While an EdgeProfiler records, libtorch refuses its own.
//
// The library also makes libtorch a client of kymo/ondemand.h. A program that links it, or has it in LD_PRELOAD,
// records operators, scopes, backward functions and memory of all its threads in a requested trace (docs/torch.md).
// While no trace runs, libtorch does not call this library.
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

// A holder as TORCH_MODULE defines it. An empty holder throws the exception of libtorch.
template <class T>
requires std::derived_from<T, torch::nn::ModuleHolder<typename T::ContainedType>>
struct ModuleOf<T> {
  static std::unique_ptr<Module> make(const T& module) {
    return detail::make_torch_module(static_cast<const torch::nn::Module&>(*module));
  }
};

}  // namespace kymo::edge

// Makes a program that includes this header link the library. Nobody calls it.
extern "C" KYMO_API void kymo_link_torch(void);
namespace kymo::detail {
[[gnu::used]] inline constexpr auto* kLinkTorch = &kymo_link_torch;
}
