#include "profiler/scope.h"

#include <algorithm>

#include "device/watcher.h"
#include "profiler/profiler.h"

namespace kymo::profiler {
namespace {

thread_local constinit Scope* innermost_scope = nullptr;

void let_go(Scope* scope) noexcept {
  while (scope != nullptr && scope->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Scope* parent = scope->parent;
    scope->owner->finish(*scope);
    delete scope;
    scope = parent;
  }
}

}  // namespace

void push_scope(Scope& scope) noexcept {
  scope.parent = current_scope();
  if (scope.parent != nullptr) scope.parent->references.fetch_add(1, std::memory_order_relaxed);
  innermost_scope = &scope;
}

// A scope that was closed on another thread, or before a scope inside it, is still on its thread's stack. It is removed
// here.
Scope* current_scope() noexcept {
  while (innermost_scope != nullptr && innermost_scope->closed.load(std::memory_order_acquire)) {
    Scope* over = innermost_scope;
    innermost_scope = over->parent;
    let_go(over);
  }
  return innermost_scope;
}

void close_scope(Scope& scope) noexcept {
  scope.closed.store(true, std::memory_order_release);
  current_scope();
}

void forget_scopes() noexcept { innermost_scope = nullptr; }

void enter_scope(Scope& scope, const device::StreamState& stream) noexcept {
  scope.references.fetch_add(1, std::memory_order_relaxed);
  for (Scope* at = &scope; at != nullptr; at = at->parent)
    if (at->stream == nullptr) at->stream = &stream;
}

void leave_scope(Scope& scope, const device::StreamState& stream, const device::OperationTimes* times) noexcept {
  for (Scope* at = &scope; at != nullptr; at = at->parent) {
    if (at->stream != &stream) continue;
    if (times == nullptr) {
      ++at->lost;
      continue;
    }
    at->start_ns = at->completed == 0 ? times->start_ns : std::min(at->start_ns, times->start_ns);
    at->end_ns = std::max(at->end_ns, times->end_ns);
    at->call_ns += times->call_ns;
    ++at->completed;
  }
  let_go(&scope);
}

}  // namespace kymo::profiler
