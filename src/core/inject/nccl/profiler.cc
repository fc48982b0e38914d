// The profiler that NCCL finds in the library that NCCL_PROFILER_PLUGIN names: events of NCCL as ranges of the trace.
//
//   collective, send, receive   from the call that queues it, on its thread, until all channels of its kernel have
//                               stopped
//   step of a channel           on NCCL's thread: a range for each of its states, so that waiting for the GPU, waiting
//                               for the peer, and transfer can be told apart
//
// NCCL uses a handle after it has stopped the event, and there is no sign when it does so for the last time. So a
// handle is a number in a table of fixed size. If an event is replaced in the table, its handle is not valid any more.
#include <stdio.h>

#include <atomic>
#include <new>

#include "inject/adapter.h"
#include "inject/nccl/abi.h"
#include "kymo/annotate.h"
#include "kymo/export.h"
#include "record/interfaces.h"
#include "record/process.h"
#include "record/slots.h"

namespace kymo::inject::nccl {
namespace {

struct Communicator {
  char name[64];
  char id[20];  // the same for all ranks, in hex
  int rank, ranks;
};

// Where NCCL reads which events to report: one variable for the whole process.
constinit std::atomic<int*> process_mask{nullptr};

// Tells NCCL what to report from now on. While nothing records, that is nothing. NCCL's threads read the variable at
// any time.
void report_events(bool on) noexcept {
  if (int* const mask = process_mask.load(std::memory_order_acquire))
    __atomic_store_n(mask, on ? static_cast<int>(kRecordedKinds) : 0, __ATOMIC_RELAXED);
}

// ---- Events --------------------------------------------------------------------------------------------------------

constexpr uint32_t kEvents = 1 << 14;

struct Event {
  std::atomic<uint64_t> handle{0};  // 0: free, or finished
  uint64_t kind = 0;
  std::atomic<uint64_t> range{0};  // the open range; 0: none
  std::atomic<int> channels{0};    // of an operation: how many have not stopped
  Event* operation = nullptr;      // of a channel: what it is part of
  uint64_t operation_handle = 0;
  int peer = -1, channel = -1;
  bool is_send = false;
};

constinit Event events[kEvents];
constinit std::atomic<uint64_t> next_number{1};

Event* event_of(void* handle) noexcept {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number == 0) return nullptr;
  Event& event = events[number % kEvents];
  return event.handle.load(std::memory_order_acquire) == number ? &event : nullptr;
}

void count() noexcept {
  if (record::Slot* const slot = record::own_slot()) record::count_delivered(*slot, record::Interface::Nccl);
}

void end_range(Event& event) noexcept {
  if (const uint64_t range = event.range.exchange(0, std::memory_order_relaxed); range != 0) kymo_range_end(range);
}

template <class... Args>
uint64_t start_range(const Label& label, const Args&... args) noexcept {
  return static_cast<uint64_t>(kymo::range_start(label, args...));
}

void finish(Event& event) noexcept {
  end_range(event);
  event.handle.store(0, std::memory_order_release);
}

// The next place in the table. An operation that is there and has not finished is too old: its end was never reported.
Event* take_place(uint64_t& number) noexcept {
  number = next_number.fetch_add(1, std::memory_order_relaxed);
  if (number % kEvents == 0) number = next_number.fetch_add(1, std::memory_order_relaxed);
  Event& event = events[number % kEvents];
  if (event.handle.exchange(0, std::memory_order_acq_rel) != 0) {
    end_range(event);
    record::add_interface(record::Interface::Nccl, 0, 1, 0);
  }
  event.operation = nullptr;
  event.operation_handle = 0;
  event.channels.store(0, std::memory_order_relaxed);
  event.peer = event.channel = -1;
  return &event;
}

std::string_view text(const char* untrusted) noexcept { return untrusted != nullptr ? untrusted : "?"; }

uint64_t bytes_of(size_t count, const char* type) noexcept {
  struct Type {
    std::string_view name;
    uint64_t bytes;
  };
  static constexpr Type kTypes[] = {{"ncclInt8", 1},     {"ncclUint8", 1},      {"ncclInt32", 4},
                                    {"ncclUint32", 4},   {"ncclInt64", 8},      {"ncclUint64", 8},
                                    {"ncclFloat16", 2},  {"ncclFloat32", 4},    {"ncclFloat64", 8},
                                    {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}};
  for (const Type& known : kTypes)
    if (text(type) == known.name) return count * known.bytes;
  return 0;
}

// A collective, or a send or receive. `more` are the arguments that only one of them has.
template <class Operation, class... Args>
void start_operation(Event& event, const Communicator& communicator, const Operation& made,
                     const Args&... more) noexcept {
  event.channels.store(made.channels, std::memory_order_relaxed);
  event.range.store(
      start_range(Label(text(made.function), "nccl"), kymo::bytes("bytes", bytes_of(made.count, made.type)),
                  kymo::arg("count", made.count), kymo::arg("type", text(made.type)),
                  kymo::arg("communicator", std::string_view(communicator.name)),
                  kymo::arg("communicator id", std::string_view(communicator.id)), kymo::arg("rank", communicator.rank),
                  kymo::arg("ranks", communicator.ranks), more..., kymo::arg("channels", made.channels)),
      std::memory_order_relaxed);
  count();
}

const char* name_of(int state) noexcept {
  switch (state) {
    case kSendWaitsForGpu:
    case kReceiveWaitsForGpu:
      return "wait for GPU";
    case kSendWaitsForPeer:
      return "wait for peer";
    case kSends:
      return "send";
    case kReceives:
      return "receive";
    case kFlushes:
      return "flush";
    default:
      return nullptr;
  }
}

// All channels of its kernel have stopped.
void stop_channel(Event& channel) noexcept {
  Event* const operation = channel.operation;
  const uint64_t handle = channel.operation_handle;
  finish(channel);
  if (operation == nullptr || operation->handle.load(std::memory_order_acquire) != handle) return;
  if (operation->channels.fetch_sub(1, std::memory_order_acq_rel) == 1) finish(*operation);
}

// A handle, or null if nothing records, the event is not recorded, or the table is full of unfinished events.
void* start_event(const Communicator& communicator, const Description& made, uint64_t kind) noexcept {
  if (!record::recording() || (kind & kRecordedKinds) == 0) return nullptr;
  uint64_t number = 0;
  Event& event = *take_place(number);
  Event* const parent = event_of(made.parent);
  event.kind = kind;
  switch (kind) {
    case kCollective:
      start_operation(event, communicator, made.collective, kymo::arg("sequence", made.collective.sequence),
                      kymo::arg("root", made.collective.root), kymo::arg("algorithm", text(made.collective.algorithm)),
                      kymo::arg("protocol", text(made.collective.protocol)));
      break;
    case kPointToPoint:
      start_operation(event, communicator, made.point_to_point, kymo::arg("peer", made.point_to_point.peer));
      break;
    case kProxyOperation:
      event.peer = made.proxy_operation.peer;
      event.channel = made.proxy_operation.channel;
      event.is_send = made.proxy_operation.is_send != 0;
      break;
    case kProxyStep:
      if (parent != nullptr) {
        event.peer = parent->peer;
        event.channel = parent->channel;
        event.is_send = parent->is_send;
      }
      break;
    case kKernelChannel:
      event.operation = parent;
      event.operation_handle = parent != nullptr ? reinterpret_cast<uintptr_t>(made.parent) : 0;
      break;
    default:
      return nullptr;
  }
  event.handle.store(number, std::memory_order_release);
  return reinterpret_cast<void*>(number);
}

Result stop(void* handle) {
  Event* const event = event_of(handle);
  if (event == nullptr) return 0;
  switch (event->kind) {
    case kCollective:
    case kPointToPoint:
      // The call has returned, and the work goes on. Without channels its end is not reported.
      if (event->channels.load(std::memory_order_acquire) <= 0) finish(*event);
      break;
    case kKernelChannel:
      stop_channel(*event);
      break;
    default:
      finish(*event);
  }
  return 0;
}

Result change_state(void* handle, int state, StateArguments*) {
  Event* const event = event_of(handle);
  const char* const name = name_of(state);
  if (event == nullptr || name == nullptr || event->kind != kProxyStep) return 0;
  end_range(*event);
  event->range.store(
      start_range(Label(name, "nccl step"), kymo::arg("peer", event->peer), kymo::arg("channel", event->channel),
                  kymo::arg("direction", std::string_view(event->is_send ? "send" : "receive"))),
      std::memory_order_relaxed);
  count();
  return 0;
}

// ---- The tables ----------------------------------------------------------------------------------------------------

void activate() noexcept { report_events(true); }
void deactivate() noexcept { report_events(false); }

constexpr Adapter kAdapter{record::Interface::Nccl, activate, deactivate};

// Another result than 0 means that NCCL has no profiler.
Result init(void** context, int* mask, const char* name, uint64_t id, int rank, int ranks) noexcept {
  if (context == nullptr || !is_wanted(record::Interface::Nccl)) return 1;
  auto* const made = new (std::nothrow) Communicator{};
  if (made == nullptr) return 1;
  snprintf(made->id, sizeof made->id, "%llx", static_cast<unsigned long long>(id));
  snprintf(made->name, sizeof made->name, "%s", name != nullptr && *name != '\0' ? name : made->id);
  made->rank = rank;
  made->ranks = ranks;
  if (mask != nullptr) {
    process_mask.store(mask, std::memory_order_release);
    report_events(record::recording());
  }
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
Result finalize(void* context) {
  delete static_cast<Communicator*>(context);
  return 0;
}

}  // namespace
}  // namespace kymo::inject::nccl

using namespace kymo::inject::nccl;

extern "C" {
extern KYMO_API const Functions4 ncclProfiler_v4;
extern KYMO_API const Functions5 ncclProfiler_v5;
const Functions4 ncclProfiler_v4 = {"Kymo", init4, start4, stop, change_state, finalize};
const Functions5 ncclProfiler_v5 = {"Kymo", init5, start5, stop, change_state, finalize};
}
