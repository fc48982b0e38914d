// Operations of libtorch as ranges of the Kymo recording that is on, on whatever thread they run.
//
// libtorch calls back at both ends of each operation; each becomes a range of its thread, beside what the program
// annotates itself. An operation that ends on another thread, or before one that it holds, ends in the trace when its
// own thread does the next thing. Nothing is kept of an operation but an entry on its thread's stack of open ones.
#pragma once

#include <ATen/record_function.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace kymo::libtorch {

struct CallOptions {
  bool operators = false;  // else only scopes that the program named, for whoever listens for an iteration
  bool shapes = false, flops = false, modules = false, stacks = false;
  bool inputs() const { return shapes || flops; }
};

// What ranges are to tell from now on. Those that are open end where they began, if that recording still runs.
void record_calls(const CallOptions& told) noexcept;
// Whether operators are told now: then nobody else needs to tell the recording of them.
bool calls_are_recorded() noexcept;

// For at::RecordFunctionCallback.
std::unique_ptr<at::ObserverContext> call_begins(const at::RecordFunction& call);
void call_ends(const at::RecordFunction& call, at::ObserverContext* context);

// What memory that this thread takes now is for, by the operation that is open: a kind as `kymo memory` names them, or
// nothing.
std::string_view memory_category() noexcept;

}  // namespace kymo::libtorch
