#include "inject/nccl/events.h"

#include <atomic>

#include "kymo/annotate.h"
#include "record/interfaces.h"
#include "record/thread.h"

namespace kymo::inject::nccl {
namespace {

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

void start_collective(Event& event, const Communicator& communicator, const Collective& made) noexcept {
  event.channels.store(made.channels, std::memory_order_relaxed);
  event.range.store(
      start_range(Label(text(made.function), "nccl"), kymo::bytes("bytes", bytes_of(made.count, made.type)),
                  kymo::arg("count", made.count), kymo::arg("type", text(made.type)),
                  kymo::arg("communicator", std::string_view(communicator.name)),
                  kymo::arg("communicator id", std::string_view(communicator.id)), kymo::arg("rank", communicator.rank),
                  kymo::arg("ranks", communicator.ranks), kymo::arg("sequence", made.sequence),
                  kymo::arg("root", made.root), kymo::arg("algorithm", text(made.algorithm)),
                  kymo::arg("protocol", text(made.protocol)), kymo::arg("channels", made.channels)),
      std::memory_order_relaxed);
}

void start_point_to_point(Event& event, const Communicator& communicator, const PointToPoint& made) noexcept {
  event.channels.store(made.channels, std::memory_order_relaxed);
  event.range.store(
      start_range(Label(text(made.function), "nccl"), kymo::bytes("bytes", bytes_of(made.count, made.type)),
                  kymo::arg("count", made.count), kymo::arg("type", text(made.type)),
                  kymo::arg("communicator", std::string_view(communicator.name)),
                  kymo::arg("communicator id", std::string_view(communicator.id)), kymo::arg("rank", communicator.rank),
                  kymo::arg("ranks", communicator.ranks), kymo::arg("peer", made.peer),
                  kymo::arg("channels", made.channels)),
      std::memory_order_relaxed);
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

}  // namespace

void* start_event(const Communicator& communicator, const Description& made, uint64_t kind) noexcept {
  if (!record::recording() || (kind & kRecordedKinds) == 0) return nullptr;
  uint64_t number = 0;
  Event& event = *take_place(number);
  Event* const parent = event_of(made.parent);
  event.kind = kind;
  switch (kind) {
    case kCollective:
      start_collective(event, communicator, made.collective);
      count();
      break;
    case kPointToPoint:
      start_point_to_point(event, communicator, made.point_to_point);
      count();
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

void stop_event(void* handle) noexcept {
  Event* const event = event_of(handle);
  if (event == nullptr) return;
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
}

void change_state(void* handle, int state, const StateArguments*) noexcept {
  Event* const event = event_of(handle);
  const char* const name = name_of(state);
  if (event == nullptr || name == nullptr || event->kind != kProxyStep) return;
  end_range(*event);
  event->range.store(
      start_range(Label(name, "nccl step"), kymo::arg("peer", event->peer), kymo::arg("channel", event->channel),
                  kymo::arg("direction", std::string_view(event->is_send ? "send" : "receive"))),
      std::memory_order_relaxed);
  count();
}

}  // namespace kymo::inject::nccl
