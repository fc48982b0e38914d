// Profiles one module in one scope and writes one trace. The profiler is an object on the stack.
//
//   torch::jit::mobile::Module module = …;                     // or a module of any engine: kymo/edge_engine.h
//   {
//     kymo::EdgeProfiler profiler(module, {.trace_file = "run.json", .report_input_shapes = true});
//     module.forward(inputs);
//   }                                                          // stops, and writes the file
//
// It records every operation that this thread runs, and those that the module's engine moves from it to other threads.
// Times have a resolution of one nanosecond. The options add inputs, memory, stacks, FLOPs, the place in the module and
// CPU counters. Each thread may have one profiler at the same time. A second one on a thread is refused while the first
// one records.
//
// The file is Chrome JSON as Kineto writes it. Perfetto, chrome://tracing and HTA read it. The destructor writes it.
// close() also writes it, and throws on an error, which a destructor cannot do.
//
// A profiler must not outlive its module, so it must be on the stack: `new`, std::make_unique and std::make_shared do
// not compile, and a module that is a temporary does not compile either. The constructor refuses any other object that
// is not on the stack of the calling thread. In a forked child, the parent's profiler does nothing,
// get_current_edge_profiler() is null, and the child may have its own.
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

// What to record. `{"run.json", true, true, false, …}` gives the same options by position. Options cannot be copied or
// moved: write them in the constructor call of the profiler.
struct EdgeOptions {
  std::string trace_file = {};            // a name that ends in ".gz" is compressed; empty: no file is written
  bool report_input_shapes = false;       // shapes, strides and types of tensors, values of scalars
  bool profile_memory = false;            // allocations, and what was alive at the peak
  bool with_stack = false;                // the module's call stack, and the C++ stack
  bool with_flops = false;                // floating-point operations of the operators with a known count
  bool with_modules = false;              // the place in the module: `top(C)::<unknown>.A0(A)::forward.aten::sub`
  std::vector<std::string> events = {};   // performance events: "cycles", "instructions", … (kymo::edge::event_names)
  bool adjust_vulkan_timestamps = false;  // moves operations of Vulkan devices into what caused them (docs/edge.md)

  std::string kymo_file = {};  // the same run as a Kymo trace, for `kymo stats`, `kymo export` and so on
  bool with_device = false;    // operations of all devices of Kymo's runtime, with times from the device

  [[no_unique_address]] detail::Immovable immovable = {};
};

class KYMO_API EdgeProfiler {
 public:
  // Starts. If it throws, it has changed nothing:
  //   kymo::Error             a profiler records on this thread; a file cannot be written; not on the stack
  //   kymo::InvalidArgument   an event that cannot be counted here, a repeated event, too many events
  //   kymo::NotAvailable      this machine does not have what an option needs
  template <edge::Profilable Module>
  EdgeProfiler(const Module& module, EdgeOptions options) : EdgeProfiler(edge::adapt(module), options, nullptr) {}
  // A temporary module would end before the profiler.
  template <edge::Profilable Module>
  EdgeProfiler(const Module&& module, EdgeOptions options) = delete;
  // Stops and writes the files, if this has not been done yet. Never throws; close() does.
  ~EdgeProfiler();
  EdgeProfiler(const EdgeProfiler&) = delete;
  EdgeProfiler& operator=(const EdgeProfiler&) = delete;
  static void* operator new(size_t) = delete;
  static void* operator new[](size_t) = delete;

  // Stops now. The destructor or close() still writes the files. Throws kymo::Error if it is stopped already, or if
  // called from another thread.
  EdgeResult disable_profiler();
  // What disable_profiler() returned. Throws kymo::Error if that was not called yet.
  EdgeResult get_profiler_result() const;
  // Stops, writes the files, and throws on an error; then everything that could be written is there. A second call does
  // nothing.
  void close();

  // Adds an event that a backend measured itself, in microseconds since 1970 (system_clock). The debug handle names its
  // part of the module. The times are kept unchanged; an event that ends before it begins gets length 0 and is counted.
  void record_backend_event(int64_t start_us, int64_t end_us, int64_t debug_handle, std::string_view event_name,
                            std::string_view backend_name) noexcept;
  // Adds memory that a backend allocated (positive) or freed (negative) itself. Does nothing without `profile_memory`.
  void record_backend_memory_event(const void* pointer, int64_t alloc_size, size_t total_allocated,
                                   size_t total_reserved, edge::DeviceId device = {}) noexcept;

 private:
  struct Impl;
  EdgeProfiler(edge::AdaptedModule module, EdgeOptions& options, std::nullptr_t);
  std::unique_ptr<Impl> impl_;
};

// The profiler that records on this thread, or null. On a thread to which an engine moved work: the profiler of the
// thread that the work came from.
KYMO_API EdgeProfiler* get_current_edge_profiler() noexcept;

namespace edge {
// The names of the performance events that can be counted on this machine, the five most common ones first.
KYMO_API std::vector<std::string> event_names();
}  // namespace edge

// For backends: call the functions of these names if a profiler records on this thread. With -DKYMO_NO_EDGE they
// compile to nothing, and their arguments are not evaluated.
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
