// The interface that a module has for an EdgeProfiler: where its operations come from, and what a debug handle means.
//
// An engine derives from edge::Module, or it specialises edge::ModuleOf to convert a type of its own. Kymo does this
// for libtorch's modules in kymo/torch.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "kymo/export.h"

namespace kymo::edge {

class Log;  // where one profiler records: kymo/edge_engine.h

// Kineto's numbers: 0 is the CPU, 1 CUDA, 10 Vulkan, and so on. Index -1: the only device of its type.
struct DeviceId {
  int32_t type = 0;
  int32_t index = -1;
  bool operator==(const DeviceId&) const = default;
};

// What an engine must report. Each item costs the engine time.
struct Wanted {
  bool inputs = false;  // shapes, types, concrete values; FLOPs need them too
  bool memory = false;
  bool places = false;  // the place in the module: module_hierarchy() or call_stack() will be called
};

class KYMO_API Module {
 public:
  virtual ~Module() = default;

  // "top(C)::<unknown>.A0(A)::forward.aten::sub": the path from the top of the module to the operation `name` that the
  // handle stands for. Called after the run, once for each handle and name that occurred. If there is no answer it
  // returns a message instead: kNoDebugInformation, unknown_handle(h).
  virtual std::string module_hierarchy(int64_t debug_handle, const std::string& name) const;
  // The source code of the module at that place; frames are joined by ";".
  virtual std::string call_stack(int64_t debug_handle) const;

  // From here until end(), the engine must report what this thread does to `log`. Called on the profiler's thread. May
  // throw, and must then have changed nothing. An engine that always asks edge::current_log() does nothing here.
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

// A module as the profiler keeps it: owned by the profiler, or by someone else.
struct AdaptedModule {
  std::unique_ptr<Module> owned;
  Module* module = nullptr;
};

template <Profilable T>
AdaptedModule adapt(const T& module) {
  if constexpr (std::derived_from<T, Module>) {
    return {nullptr, const_cast<T*>(&module)};  // begin() and end() do not change the module's visible state
  } else {
    std::unique_ptr<Module> made = ModuleOf<T>::make(module);
    Module* const pointer = made.get();
    return {std::move(made), pointer};
  }
}

}  // namespace kymo::edge
