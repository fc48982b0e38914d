// The collector of Intel's ITT: tasks, markers and names of threads of libraries that report by it, such as oneDNN,
// OpenVINO and PyTorch.
//
// The stub in such a library loads the collector that INTEL_LIBITTNOTIFY64 names, with its first call. Because the
// collector exports __itt_api_version and not __itt_api_init, the stub then looks up each function of ITT by its name.
// A function that is not there does nothing. But a library that finds a collector may rely on results: LLVM's OpenMP
// aborts if __itt_stack_caller_create returns null. So functions with a result that somebody relies on are all here.
#pragma once

#include <cstdint>

#include "kymo/export.h"

namespace kymo::inject::itt {

// The structures of ITT that the collector uses, on 64-bit systems. The stub makes domains and strings, and keeps them.

struct Domain {
  volatile int flags;  // 0: its events are turned off
  const char* name;
  const void* wide_name;
  int reserved;
  void* reserved_pointer;
  Domain* next;
};

struct String {
  const char* text;  // may be null: then there is only a wide text
  const void* wide_text;
  int reserved;
  void* reserved_pointer;
  String* next;
};

struct Id {
  unsigned long long words[3];
};

}  // namespace kymo::inject::itt

// NOLINTBEGIN(bugprone-reserved-identifier): ITT chose the names
extern "C" {
KYMO_API const char* __itt_api_version(void);
KYMO_API void __itt_task_begin(const kymo::inject::itt::Domain* domain, kymo::inject::itt::Id id,
                               kymo::inject::itt::Id parent, const kymo::inject::itt::String* name);
KYMO_API void __itt_task_end(const kymo::inject::itt::Domain* domain);
KYMO_API void __itt_marker(const kymo::inject::itt::Domain* domain, kymo::inject::itt::Id id,
                           const kymo::inject::itt::String* name, int scope);
KYMO_API void __itt_thread_set_name(const char* name);
KYMO_API void* __itt_stack_caller_create(void);
KYMO_API void __itt_stack_caller_destroy(void* caller);
KYMO_API void __itt_stack_callee_enter(void* caller);
KYMO_API void __itt_stack_callee_leave(void* caller);
}
// NOLINTEND(bugprone-reserved-identifier)
