// The tables that NCCL looks for in the library that NCCL_PROFILER_PLUGIN names.
#include "inject/adapter.h"
#include "inject/nccl/abi.h"
#include "inject/nccl/communicators.h"
#include "inject/nccl/events.h"
#include "kymo/export.h"

namespace kymo::inject::nccl {
namespace {

void activate() noexcept { report_events(true); }
void deactivate() noexcept { report_events(false); }

constexpr Adapter kAdapter{record::Interface::Nccl, activate, deactivate};

// Another result than 0 means that NCCL has no profiler.
Result init(void** context, int* mask, const char* name, uint64_t id, int rank, int ranks) noexcept {
  if (context == nullptr || !is_wanted(record::Interface::Nccl)) return 1;
  Communicator* const made = add(id, name, rank, ranks, mask);
  if (made == nullptr) return 1;
  *context = made;
  inject::start(kAdapter);
  return 0;
}

Result init4(void** context, int* mask, const char* name, uint64_t id, int, int ranks, int rank, Logger) {
  return init(context, mask, name, id, rank, ranks);
}
Result init5(void** context, uint64_t id, int* mask, const char* name, int, int ranks, int rank, Logger) {
  return init(context, mask, name, id, rank, ranks);
}

Result start(void* context, void** handle, const Description* description, uint64_t kind) noexcept {
  *handle = nullptr;
  if (context != nullptr && description != nullptr)
    *handle = start_event(*static_cast<const Communicator*>(context), *description, kind);
  return 0;
}
Result start4(void* context, void** handle, Description* description) {
  return start(context, handle, description, description != nullptr ? description->kind & 0xff : 0);
}
Result start5(void* context, void** handle, Description* description) {
  return start(context, handle, description, description != nullptr ? description->kind : 0);
}
Result stop(void* handle) {
  stop_event(handle);
  return 0;
}
Result state(void* handle, int which, StateArguments* arguments) {
  change_state(handle, which, arguments);
  return 0;
}
Result finalize(void* context) {
  forget(static_cast<Communicator*>(context));
  return 0;
}

}  // namespace
}  // namespace kymo::inject::nccl

using namespace kymo::inject::nccl;

extern "C" {
extern KYMO_API const Functions4 ncclProfiler_v4;
extern KYMO_API const Functions5 ncclProfiler_v5;
const Functions4 ncclProfiler_v4 = {"Kymo", init4, start4, stop, state, finalize};
const Functions5 ncclProfiler_v5 = {"Kymo", init5, start5, stop, state, finalize};
}
