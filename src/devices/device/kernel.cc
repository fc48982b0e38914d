// Launching a kernel: how many threads, in which groups, on which stream.

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "device/arguments.h"
#include "device/library.h"
#include "device/stream_state.h"
#include "device/work_capture.h"
#include "kymo/shader.h"

namespace kymo::device {
namespace {

constexpr uint64_t kUsualGroup = 256;

std::string text_of(const Extent& extent, int dimensions) {
  if (dimensions == 1) return std::to_string(extent.x);
  if (dimensions == 2) return base::format("{} x {}", extent.x, extent.y);
  return base::format("{} x {} x {}", extent.x, extent.y, extent.z);
}

// If edges need separate launches, a group that divides the number of threads is better than a larger group.
uint64_t usual_group(uint64_t threads, uint64_t longest, const DeviceInfo& device) {
  const uint64_t group = std::min({threads, longest, kUsualGroup});
  if (device.partial_groups_are_free || threads % group == 0) return group;
  for (uint64_t divisor = group; divisor >= group / 4 && divisor > 1; --divisor)
    if (threads % divisor == 0) return divisor;
  return group;
}

// A Metal kernel whose threads cooperate in their group gets the largest group, because Metal's users expect that.
bool expects_largest_group(const KernelInfo& kernel) {
  if (!kernel.is_translated) return false;
  return kernel.uses_simdgroups || kernel.group_memory != 0 ||
         std::ranges::any_of(kernel.parameters, [](const Parameter& p) { return p.kind == ParameterKind::Local; });
}

Extent default_group(const KernelInfo& kernel, const Extent& threads, const DeviceInfo& device) {
  if (kernel.required_group.x != 0) return kernel.required_group;
  const uint64_t longest = std::min(kernel.max_threads_per_group, device.max_group.x);
  Extent group;
  group.x = expects_largest_group(kernel) ? std::min(threads.x, longest) : usual_group(threads.x, longest, device);
  return group;
}

void check_group(const KernelState& kernel, const Extent& group, int dimensions, const DeviceInfo& device) {
  const KernelInfo& info = *kernel.info;
  const Extent& longest = device.max_group;
  if (group.x == 0 || group.y == 0 || group.z == 0)
    throw InvalidArgument(base::format("group size {} of kernel \"{}\" must be 1 or more in each dimension",
                                       text_of(group, dimensions), kernel.name));
  uint64_t volume = 0;
  const bool overflows =
      __builtin_mul_overflow(group.x, group.y, &volume) || __builtin_mul_overflow(volume, group.z, &volume);
  if (overflows || volume > info.max_threads_per_group) {
    throw InvalidArgument(
        base::format("a group of {} threads is too large for kernel \"{}\": its max is {} threads on {}",
                     text_of(group, dimensions), kernel.name, info.max_threads_per_group, device.name));
  }
  if (group.x > longest.x || group.y > longest.y || group.z > longest.z) {
    throw InvalidArgument(
        base::format("a group of {} is too large for kernel \"{}\": on {} the max is {} in each dimension",
                     text_of(group, dimensions), kernel.name, device.name, text_of(longest, 3)));
  }
  if (info.required_group.x != 0 && group != info.required_group) {
    throw InvalidArgument(base::format("a group of {} does not match kernel \"{}\": its source requires {}",
                                       text_of(group, dimensions), kernel.name, text_of(info.required_group, 3)));
  }
}

// The threads of a simdgroup hold its matrices together: without some of them a product has elements of nothing.
void check_simdgroups(const KernelState& kernel, const Extent& threads, const Extent& group) {
  const KernelInfo& info = *kernel.info;
  if (!info.uses_simdgroup_matrices) return;
  const auto check = [&](uint64_t x, uint64_t y, uint64_t z) {
    if (x * y * z % info.execution_width == 0) return;
    throw InvalidArgument(base::format(
        "kernel \"{}\" uses simdgroup matrices, which need all {} threads of each simdgroup: {} threads in groups of "
        "{} "
        "have a group of {} threads; make the sizes of all groups multiples of {}",
        kernel.name, info.execution_width, text_of(threads, 3), text_of(group, 3), x * y * z, info.execution_width));
  };
  for (const uint64_t x : {group.x, threads.x % group.x})
    for (const uint64_t y : {group.y, threads.y % group.y})
      for (const uint64_t z : {group.z, threads.z % group.z}) check(x, y, z);
}

// Metal counts threads in 32 bits.
void check_threads(const KernelState& kernel, const Extent& threads) {
  constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
  if (!kernel.info->is_translated || (threads.x <= kMax && threads.y <= kMax && threads.z <= kMax)) return;
  throw InvalidArgument(base::format("{} threads are too many for kernel \"{}\": Metal's max is {} in each dimension",
                                     text_of(threads, 3), kernel.name, kMax));
}

}  // namespace

const std::string& Kernel::name() const { return state_->info->name; }
Device Kernel::device() const { return Device(library_->device()); }
uint64_t Kernel::max_threads_per_threadgroup() const { return state_->info->max_threads_per_group; }
uint64_t Kernel::thread_execution_width() const { return state_->info->execution_width; }
uint64_t Kernel::static_thread_group_memory_length() const { return state_->info->group_memory; }

Kernel Kernel::with_threads(std::array<uint64_t, 3> threads, uint8_t dimensions) const {
  Kernel changed = *this;
  changed.threads_ = threads;
  changed.thread_dimensions_ = dimensions;
  return changed;
}

Kernel Kernel::with_group(std::array<uint64_t, 3> group, uint8_t dimensions) const {
  Kernel changed = *this;
  changed.group_ = group;
  changed.group_dimensions_ = dimensions;
  return changed;
}

Kernel Kernel::on(Stream stream) const {
  Kernel changed = *this;
  changed.stream_ = &stream.state();
  return changed;
}

void Kernel::launch(std::span<const KernelArgument> given) const {
  DeviceState& device = library_->device();
  StreamState& stream = stream_ != nullptr ? *stream_ : device.current_stream();
  if (&stream.device() != &device) {
    throw InvalidArgument(base::format("kernel \"{}\" was compiled for {} and cannot run on a stream of {}", name(),
                                       device.name(), stream.device().name()));
  }
  if (thread_dimensions_ != 0 && group_dimensions_ != 0 && thread_dimensions_ != group_dimensions_) {
    throw InvalidArgument(
        base::format("threads() has {} dimensions but group() has {} for kernel \"{}\": they must be equal",
                     int{thread_dimensions_}, int{group_dimensions_}, name()));
  }
  Arguments arguments(*state_, given, stream);

  Launch launch;
  launch.program = &state_->library->program();
  launch.kernel = state_->index;
  launch.arguments = arguments.list();
  launch.indirect = arguments.indirect();
  if (thread_dimensions_ != 0) {
    launch.threads = {threads_[0], threads_[1], threads_[2]};
  } else if (const auto threads = arguments.default_threads()) {
    launch.threads = *threads;
  } else {
    throw InvalidArgument(base::format(
        "kernel \"{}\" was given no tensor, so the number of threads is unknown: set it with threads(), in Python with "
        "threads=",
        name()));
  }
  const bool chosen = group_dimensions_ != 0;
  if (chosen) {
    launch.group = {group_[0], group_[1], group_[2]};
    check_group(*state_, launch.group, group_dimensions_, device.info());
  }
  check_threads(*state_, launch.threads);
  if (launch.threads.x == 0 || launch.threads.y == 0 || launch.threads.z == 0) return;
  if (!chosen) launch.group = default_group(*state_->info, launch.threads, device.info());
  // A group size that the source requires stays unchanged. The group is then partial.
  if (state_->info->required_group.x == 0) {
    launch.group.x = std::min(launch.group.x, launch.threads.x);
    launch.group.y = std::min(launch.group.y, launch.threads.y);
    launch.group.z = std::min(launch.group.z, launch.threads.z);
  }
  check_simdgroups(*state_, launch.threads, launch.group);
  if (WorkCapture* capture = work_capture(); capture != nullptr && library_->source() != nullptr)
    capture->launch(*state_, launch, given, stream);
  arguments.complete();

  stream.run(
      [&] {
        Operation operation;
        operation.name = state_->name;
        operation.site = state_->site;
        operation.handle = state_;
        operation.arguments = given;
        operation.threads = launch.threads;
        operation.group = launch.group;
        operation.bytes = arguments.tensor_bytes();
        return operation;
      },
      [&](Queue& queue, Ticket* ticket) {
        queue.launch(launch, ticket);
        if (arguments.uses_error_buffer()) stream.errors().add_launch();
      });
}

}  // namespace kymo::device
