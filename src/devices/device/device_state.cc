#include "device/device_state.h"

#include <exception>
#include <utility>

#include "device/builtin.h"
#include "device/language.h"
#include "device/library.h"
#include "device/stream_state.h"

namespace kymo::device {
namespace {

// This thread's streams, one per device. Few threads use more than one device, so the last one is cached.
struct CurrentStreams {
  DeviceState* device = nullptr;
  StreamState* stream = nullptr;
  std::vector<std::pair<DeviceState*, StreamState*>> others;
};
thread_local CurrentStreams current_streams;

DeviceInfo with_metal(DeviceInfo info) {
  add_metal(info);
  return info;
}

}  // namespace

DeviceState::DeviceState(std::string name, std::unique_ptr<Accelerator> accelerator)
    : name_(std::move(name)),
      accelerator_(std::move(accelerator)),
      info_(with_metal(accelerator_->info())),
      allocator_(std::make_unique<Allocator>(*this, AllocatorOptions::from_environment(info_.unified_memory))),
      libraries_(std::make_unique<LibraryCache>(*this)),
      builtins_(std::make_unique<BuiltinKernels>(*this)) {}

DeviceState::~DeviceState() = default;

void DeviceState::check_usable() const {
  if (__builtin_expect(forked_with_devices.load(std::memory_order_relaxed), 0)) refuse_after_fork();
  if (__builtin_expect(lost_.load(std::memory_order_relaxed), 0)) {
    throw DeviceError(name_ + " was lost in a fault, and its driver could not reset it: restart the process");
  }
}

StreamState& DeviceState::stream(StreamId id) {
  if (StreamState* made = streams_[id].load(std::memory_order_acquire)) return *made;
  check_usable();
  std::lock_guard lock(mutex_);
  if (StreamState* made = streams_[id].load(std::memory_order_acquire)) return *made;
  auto* made = new StreamState(*this, id);
  streams_[id].store(made, std::memory_order_release);
  return *made;
}

StreamState& DeviceState::next_stream() {
  StreamId id;
  {
    std::lock_guard lock(mutex_);
    id = next_stream_++ % kPoolStreams + 1;
  }
  return stream(id);
}

StreamState& DeviceState::current_stream() {
  CurrentStreams& current = current_streams;
  if (current.device == this) return *current.stream;
  for (auto& [device, stream] : current.others) {
    if (device != this) continue;
    std::swap(device, current.device);
    std::swap(stream, current.stream);
    return *current.stream;
  }
  set_current_stream(default_stream());
  return *current.stream;
}

void DeviceState::set_current_stream(StreamState& stream) {
  CurrentStreams& current = current_streams;
  if (current.device != this) {
    if (current.device != nullptr) current.others.emplace_back(current.device, current.stream);
    std::erase_if(current.others, [&](const auto& other) { return other.first == this; });
    current.device = this;
  }
  current.stream = &stream;
}

std::vector<StreamState*> DeviceState::streams() {
  std::vector<StreamState*> made;
  for (const auto& stream : streams_)
    if (StreamState* state = stream.load(std::memory_order_acquire)) made.push_back(state);
  return made;
}

void DeviceState::synchronize() { synchronize_each(&StreamState::wait); }
void DeviceState::synchronize_and_report() { synchronize_each(&StreamState::synchronize); }

void DeviceState::synchronize_each(void (StreamState::*wait)()) {
  check_usable();
  const uint64_t moment = allocator_->moment();
  std::exception_ptr first;  // waits for every stream, even if others fail
  for (StreamState* stream : streams()) {
    try {
      (stream->*wait)();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
  allocator_->idle_since(moment);
}

void DeviceState::order(StreamId before, StreamId after) {
  const uint32_t made_in = generation();
  Marker* marker = take_marker(false);
  stream(before).with_queue([&](Queue& queue) { queue.record(*marker); });
  stream(after).with_queue([&](Queue& queue) { queue.wait(*marker); });
  give_marker(marker, false, made_in);
}

uint64_t DeviceState::driver_allocated() {
  const auto bytes = accelerator_->driver_allocated();
  return bytes ? *bytes : allocator_->reserved();
}

Marker* DeviceState::take_marker(bool timing) {
  check_usable();
  std::lock_guard lock(marker_mutex_);
  auto& free = free_markers_[timing ? 1 : 0];
  if (!free.empty()) {
    Marker* marker = free.back();
    free.pop_back();
    return marker;
  }
  markers_.push_back(accelerator_->make_marker(timing));
  return markers_.back().get();
}

void DeviceState::give_marker(Marker* marker, bool timing, uint32_t made_in) noexcept {
  std::lock_guard lock(marker_mutex_);
  if (made_in != generation()) return;  // the reset destroyed it
  free_markers_[timing ? 1 : 0].push_back(marker);
}

void DeviceState::add_library(LibraryState& library) {
  std::lock_guard lock(mutex_);
  live_libraries_.insert(&library);
}

void DeviceState::remove_library(LibraryState& library) noexcept {
  std::lock_guard lock(mutex_);
  live_libraries_.erase(&library);
}

void DeviceState::reset() {
  check_usable();
  builtins_->forget();
  libraries_->forget();
  std::lock_guard lock(mutex_);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (StreamState* stream : streams()) stream->drop_queue();  // waits if possible
  for (LibraryState* library : live_libraries_) library->drop_program();
  {
    std::lock_guard markers_lock(marker_mutex_);
    markers_.clear();
    for (auto& free : free_markers_) free.clear();
  }
  allocator_->forget();
  try {
    accelerator_->reset();
  } catch (...) {
    lost_ = true;
    throw;
  }
  for (StreamState* stream : streams()) stream->make_queue();
}

}  // namespace kymo::device
