// What an EdgeProfiler asks of a module: where its operations come from, and what a debug handle stands for.
//
// An engine derives from edge::Module, or tells how a type of its own becomes one by specialising edge::ModuleOf, as
// Kymo does for libtorch's modules in kymo/torch.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "kymo/export.h"

namespace kymo::edge {

class Log;  // what one profiler records into: kymo/edge_engine.h

// Kineto's numbers: 0 the processor, 1 CUDA, 10 Vulkan, … Index -1: the only one.
struct DeviceId {
  int32_t type = 0;
  int32_t index = -1;
  bool operator==(const DeviceId&) const = default;
};

// What an engine is asked to report: more costs it time.
struct Wanted {
  bool inputs = false;  // shapes, types, concrete values; FLOPs need them too
  bool memory = false;
  bool places = false;  // where in the module: module_hierarchy() or call_stack() will be asked for
};

class KYMO_API Module {
 public:
  virtual ~Module() = default;

  // "top(C)::<unknown>.A0(A)::forward.aten::sub": the way from the module's top to the operation `name` behind the
  // handle. Called after the run, once for each handle and name that came up. Text in place of an answer where there is
  // none: kNoDebugInformation, unknown_handle(h).
  virtual std::string module_hierarchy(int64_t debug_handle, const std::string& name) const;
  // The module's source at that place, frames joined by ";".
  virtual std::string call_stack(int64_t debug_handle) const;

  // The engine is to report what this thread does to `log`, until end(). On the profiler's thread; may throw, and then
  // has done nothing. An engine that always asks edge::current_log() has nothing to do here.
  virtual void begin(Log& log, Wanted wanted);
  virtual void end() noexcept;
};

inline constexpr const char* kNoDebugInformation = "Model was not saved with debug information";
KYMO_API std::string unknown_handle(int64_t debug_handle);  // "Debug info for handle(s): 7, was not found."

// How a module of type T becomes an edge::Module: `static std::unique_ptr<Module> make(const T&)`.
template <class T>
struct ModuleOf;

template <class T>
concept Profilable = std::derived_from<T, Module> || requires(const T& module) {
  { ModuleOf<T>::make(module) } -> std::convertible_to<std::unique_ptr<Module>>;
};

// A module as the profiler keeps it: its own, or somebody's.
struct AdaptedModule {
  std::unique_ptr<Module> owned;
  Module* module = nullptr;
};

template <Profilable T>
AdaptedModule adapt(const T& module) {
  if constexpr (std::derived_from<T, Module>) {
    return {nullptr, const_cast<T*>(&module)};  // begin() and end() change nothing of the module that others see
  } else {
    std::unique_ptr<Module> made = ModuleOf<T>::make(module);
    Module* const pointer = made.get();
    return {std::move(made), pointer};
  }
}

}  // namespace kymo::edge
