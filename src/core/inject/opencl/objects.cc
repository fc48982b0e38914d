#include "inject/opencl/objects.h"

#include <algorithm>
#include <cctype>

#include "base/hash.h"
#include "base/host.h"
#include "base/text.h"

namespace kymo::inject::opencl {
namespace {

constexpr size_t kMaxText = 64 << 10;  // a longer text of a driver is not plausible
constexpr cl_uint kMaxDevices = 1024;

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\0' || std::isspace(static_cast<unsigned char>(text.back()))))
    text.pop_back();
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first);
}

// A text of an object. `ask` is one of clGet…Info.
template <class Ask, class Object, class What>
std::string text_of(Ask ask, Object object, What what) {
  size_t size = 0;
  if (ask == nullptr || ask(object, what, 0, nullptr, &size) != CL_SUCCESS || size == 0 || size > kMaxText) return {};
  std::string text(size, '\0');
  if (ask(object, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  return trimmed(std::move(text));
}

bool has_word(std::string_view list, std::string_view word) {
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

// Its place among the devices of its platform.
int index_in_platform(cl_platform_id platform, cl_device_id device) {
  cl_uint count = 0;
  if (target.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS || count > kMaxDevices)
    return 0;
  std::vector<cl_device_id> ids(count);
  if (target.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr) != CL_SUCCESS) return 0;
  const auto at = std::find(ids.begin(), ids.end(), device);
  return at != ids.end() ? static_cast<int>(at - ids.begin()) : 0;
}

std::unique_ptr<DeviceState> describe(cl_device_id id) {
  auto state = std::make_unique<DeviceState>();
  state->id = id;
  state->platform = ask<cl_platform_id>(target.clGetDeviceInfo, id, CL_DEVICE_PLATFORM);
  state->is_cpu = (ask<cl_device_type>(target.clGetDeviceInfo, id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  state->name = text_of(target.clGetDeviceInfo, id, CL_DEVICE_NAME);
  cl_uchar uuid[CL_UUID_SIZE_KHR];
  if (has_word(text_of(target.clGetDeviceInfo, id, CL_DEVICE_EXTENSIONS), "cl_khr_device_uuid") &&
      target.clGetDeviceInfo(id, CL_DEVICE_UUID_KHR, sizeof uuid, uuid, nullptr) == CL_SUCCESS) {
    state->uuid = base::hex(uuid);
  } else {
    state->uuid = base::opencl_device_uuid(text_of(target.clGetPlatformInfo, state->platform, CL_PLATFORM_NAME),
                                           text_of(target.clGetDeviceInfo, id, CL_DEVICE_VENDOR), state->name,
                                           index_in_platform(state->platform, id));
  }
  return state;
}

}  // namespace

DeviceState* Objects::device(cl_device_id id) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = devices_.find(id); known != devices_.end()) return known->second.get();
  }
  auto described = describe(id);  // without the lock: it calls the driver
  const std::lock_guard lock(mutex_);
  auto& place = devices_[id];
  if (place == nullptr) {
    place = std::move(described);
    place->number = devices_.size() - 1;
  }
  return place.get();
}

DeviceState* Objects::device_of(cl_context context) {
  if (is_excluded(context)) return nullptr;
  size_t size = 0;
  if (target.clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, nullptr, &size) != CL_SUCCESS ||
      size < sizeof(cl_device_id) || size > kMaxDevices * sizeof(cl_device_id))
    return nullptr;
  std::vector<cl_device_id> ids(size / sizeof(cl_device_id));
  if (target.clGetContextInfo(context, CL_CONTEXT_DEVICES, ids.size() * sizeof(cl_device_id), ids.data(), nullptr) !=
      CL_SUCCESS)
    return nullptr;
  return device(ids.front());
}

KernelState* Objects::kernel(cl_kernel handle) {
  if (KernelState* known = kernels_.find(handle)) return known;
  add_kernel(handle, text_of(target.clGetKernelInfo, handle, CL_KERNEL_FUNCTION_NAME));
  return kernels_.find(handle);
}

void Objects::add_kernel(cl_kernel handle, std::string_view name) {
  if (name.empty()) name = "kernel";
  KernelState* state = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto found = names_.find(name);
    if (found == names_.end()) found = names_.emplace(name, std::make_unique<KernelState>(name)).first;
    state = found->second.get();
  }
  kernels_.put(handle, state);
}

void Objects::add_queue(cl_command_queue handle, std::unique_ptr<QueueState> state) {
  const DeviceState& device = *state->device;
  const auto properties = ask<cl_command_queue_properties>(target.clGetCommandQueueInfo, handle, CL_QUEUE_PROPERTIES);
  const auto context = ask<cl_context>(target.clGetCommandQueueInfo, handle, CL_QUEUE_CONTEXT);
  const std::lock_guard lock(mutex_);
  const uint64_t number = queue_count_++;
  const std::string name = base::format(
      "OpenCL queue {}{}", number, (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0 ? " (out of order)" : "");
  kymo_queue_info info{};
  info.name = name.c_str();
  info.device_uuid = device.uuid.c_str();
  info.device_name = device.name.c_str();
  info.context = contexts_[context];
  info.queue = number;
  info.clock = base::hash(base::as_bytes("OpenCL layer")) + device.number;  // not the clock of Kymo's own runtime
  info.period_numerator = info.period_denominator = 1;                      // OpenCL's profiling times are nanoseconds
  state->track = QueueTrack(info);
  QueueState* added = state.get();
  owned_queues_.push_back(std::move(state));
  queues_.put(handle, added);
}

void Objects::release_queue(cl_command_queue handle) noexcept {
  if (QueueState* state = queues_.take(handle)) state->released.store(true, std::memory_order_release);
}

std::vector<QueueState*> Objects::all_queues() const {
  const std::lock_guard lock(mutex_);
  std::vector<QueueState*> queues;
  queues.reserve(owned_queues_.size());
  for (const auto& queue : owned_queues_) queues.push_back(queue.get());
  return queues;
}

void Objects::remove(QueueState* queue) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(owned_queues_, [queue](const auto& owned) { return owned.get() == queue; });
}

// A new context may have the address of an old one.
void Objects::add_context(cl_context context) {
  if (context == nullptr) return;
  excluded_.take(context);
  const std::lock_guard lock(mutex_);
  contexts_[context] = ++context_count_;
}

void Objects::exclude(cl_context context) { excluded_.put(context, this); }

}  // namespace kymo::inject::opencl
