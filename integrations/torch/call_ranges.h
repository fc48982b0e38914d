// Operations of libtorch as ranges of the active Kymo recording, on any thread.
//
// libtorch calls back at both ends of each operation. Each operation becomes a range of its thread, next to the
// program's own annotations. If an operation ends on another thread, or before an operation inside it, its range ends
// at the next event of its own thread. The only data of an operation is an entry on its thread's stack of open
// operations.
#pragma once

#include <ATen/record_function.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace kymo::libtorch {

struct CallOptions {
  bool operators = false;  // false: only scopes that the program named, for listeners of iterations
  bool shapes = false, flops = false, modules = false, stacks = false;
  bool inputs() const { return shapes || flops; }
};

// Sets what ranges report from now on. Open ranges end in the recording in which they began, if it still runs.
void record_calls(const CallOptions& options) noexcept;
// Whether operators are reported now. If so, no other code needs to report them to the recording.
bool calls_are_recorded() noexcept;

// For at::RecordFunctionCallback.
std::unique_ptr<at::ObserverContext> call_begins(const at::RecordFunction& call);
void call_ends(const at::RecordFunction& call, at::ObserverContext* context);

// The purpose of memory that this thread allocates now, according to its open operation: a kind as `kymo memory` names
// them, or empty.
std::string_view memory_category() noexcept;

}  // namespace kymo::libtorch
