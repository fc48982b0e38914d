// One module, one scope, one trace: a profiler that lives on the stack beside the module it watches.
//
//   torch::jit::mobile::Module module = …;                     // or a module of any engine: kymo/edge_engine.h
//   {
//     kymo::EdgeProfiler profiler(module, {.trace_file = "run.json", .report_input_shapes = true});
//     module.forward(inputs);
//   }                                                          // stopped, and written
//
// It hears every operation that this thread runs, and those that the module's engine moves to other threads for it:
// with times to the nanosecond and, where asked for, inputs, memory, stacks, FLOPs, the place in the module, counters
// of the processor. Threads may each have one at the same time; a second one on a thread is refused while the first
// records.
//
// The file is Chrome's JSON as Kineto writes it; Perfetto, chrome://tracing and HTA read it. It is written when the
// profiler ends; close() does the same and throws what went wrong, which a destructor cannot.
//
// A profiler must not outlive its module, so it lives on the stack: `new`, std::make_unique and std::make_shared do not
// compile, and any other object that is not on the calling thread's stack is refused when it is made. In a forked child
// the one that came along does nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/edge_module.h"
#include "kymo/edge_result.h"
#include "kymo/error.h"
#include "kymo/export.h"

namespace kymo {

namespace detail {
struct Immovable {
  Immovable() = default;
  Immovable(Immovable&&) = delete;
};
}  // namespace detail

// What to record. In this order `{"run.json", true, true, false, …}` says the same without names. Options are written
// where the profiler is made and nowhere else: they cannot be copied or moved.
struct EdgeOptions {
  std::string trace_file = {};            // ".gz" at its end compresses it; empty: none is written
  bool report_input_shapes = false;       // shapes, strides and types of tensors, values of scalars
  bool profile_memory = false;            // allocations, and what was alive at the peak
  bool with_stack = false;                // the module's call stack, and the C++ stack
  bool with_flops = false;                // floating-point operations of those operators whose number is known
  bool with_modules = false;              // where in the module: `top(C)::<unknown>.A0(A)::forward.aten::sub`
  std::vector<std::string> events = {};   // performance events: "cycles", "instructions", … (kymo::edge::event_names)
  bool adjust_vulkan_timestamps = false;  // operations of Vulkan devices, moved inside what caused them (docs/edge.md)

  std::string kymo_file = {};  // the same run as a Kymo trace, for `kymo stats`, `kymo export` and the rest
  bool with_device = false;    // operations of any device of Kymo's runtime, at the times the device says

  [[no_unique_address]] detail::Immovable immovable = {};
};

class KYMO_API EdgeProfiler {
 public:
  // Starts. Throws, with nothing changed:
  //   kymo::Error             this thread has one that records; a file cannot be written; not on the stack
  //   kymo::InvalidArgument   an event's name that cannot be counted here, given twice, or too many
  //   kymo::NotAvailable      what was asked for is not on this machine
  template <edge::Profilable Module>
  EdgeProfiler(const Module& module, EdgeOptions options) : EdgeProfiler(edge::adapt(module), options, nullptr) {}
  // Stops if that was not done, and writes if that was not done. Throws nothing: close() does.
  ~EdgeProfiler();
  EdgeProfiler(const EdgeProfiler&) = delete;
  EdgeProfiler& operator=(const EdgeProfiler&) = delete;
  static void* operator new(size_t) = delete;
  static void* operator new[](size_t) = delete;

  // Stops now; the files are still written at the end. Throws kymo::Error where it was stopped already, or from another
  // thread than its own.
  EdgeResult disable_profiler();
  // What disable_profiler() returned. Throws kymo::Error before that.
  EdgeResult get_profiler_result() const;
  // Stops, writes the files, and throws what went wrong; what could be written is there then. Once done it does
  // nothing.
  void close();

  // An event that a backend measured itself: microseconds since 1970 (of system_clock). It belongs to the part of the
  // module that the debug handle names. Kept as it came; what ends before it begins is given no length, and counted.
  void record_backend_event(int64_t start_us, int64_t end_us, int64_t debug_handle, std::string_view event_name,
                            std::string_view backend_name) noexcept;
  // Memory that a backend took (positive) or gave back (negative) itself; nothing without `profile_memory`.
  void record_backend_memory_event(const void* pointer, int64_t alloc_size, size_t total_allocated,
                                   size_t total_reserved, edge::DeviceId device = {}) noexcept;

 private:
  struct Impl;
  EdgeProfiler(edge::AdaptedModule module, EdgeOptions& options, std::nullptr_t);
  std::unique_ptr<Impl> impl_;
};

// The one that records on this thread, or null. On a thread to which an engine moved work: the one of the thread it
// came from.
KYMO_API EdgeProfiler* get_current_edge_profiler() noexcept;

namespace edge {
// The performance events that can be counted here, by their names: the usual five first.
KYMO_API std::vector<std::string> event_names();
}  // namespace edge

// For backends: as the functions of these names, if a profiler records on this thread. With -DKYMO_NO_EDGE they compile
// to nothing, their arguments included.
#ifdef KYMO_NO_EDGE
#define KYMO_RECORD_BACKEND_EVENT(...) static_cast<void>(0)
#define KYMO_RECORD_BACKEND_MEMORY_EVENT(...) static_cast<void>(0)
#else
#define KYMO_RECORD_BACKEND_EVENT(...)                                                    \
  do {                                                                                    \
    if (::kymo::EdgeProfiler* const kymo_profiler_ = ::kymo::get_current_edge_profiler()) \
      kymo_profiler_->record_backend_event(__VA_ARGS__);                                  \
  } while (false)
#define KYMO_RECORD_BACKEND_MEMORY_EVENT(...)                                             \
  do {                                                                                    \
    if (::kymo::EdgeProfiler* const kymo_profiler_ = ::kymo::get_current_edge_profiler()) \
      kymo_profiler_->record_backend_memory_event(__VA_ARGS__);                           \
  } while (false)
#endif

}  // namespace kymo
