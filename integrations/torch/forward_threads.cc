#include "forward_threads.h"

#include <ATen/record_function.h>
#include <unistd.h>

#include <mutex>
#include <unordered_map>

namespace kymo::edge {

namespace {

struct ForwardThreads {
  std::mutex mutex;
  std::unordered_map<uint64_t, uint64_t> by_torch;
};

ForwardThreads& forward_threads() {
  static auto* const threads = new ForwardThreads;  // never destroyed, because threads may use it until they end
  return *threads;
}

}  // namespace

[[gnu::tls_model("initial-exec")]] constinit thread_local bool thread_is_noted = false;

void note_new_thread() noexcept {
  thread_is_noted = true;
  try {
    const std::lock_guard lock(forward_threads().mutex);
    forward_threads().by_torch[at::RecordFunction::currentThreadId()] = static_cast<uint64_t>(gettid());
  } catch (...) {  // no memory: libtorch's own number is used
  }
}

uint64_t forward_thread(uint64_t torch_thread) noexcept {
  const std::lock_guard lock(forward_threads().mutex);
  const auto found = forward_threads().by_torch.find(torch_thread);
  return found == forward_threads().by_torch.end() ? torch_thread : found->second;
}

}  // namespace kymo::edge
