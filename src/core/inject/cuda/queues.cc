#include "inject/cuda/queues.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/text.h"

namespace kymo::inject::cuda {
namespace {

template <class Record>
bool read(const void* record, size_t bytes, Record& into) noexcept {
  if (bytes < sizeof(Record)) return false;
  memcpy(&into, record, sizeof(Record));
  return true;
}

// The members that all kinds of work have.
template <class Record>
Work common(const Record& record, WorkKind kind) noexcept {
  Work work;
  work.kind = kind;
  work.start = record.start;
  work.end = record.end;
  work.device = record.device;
  work.context = record.context;
  work.stream = record.stream;
  work.correlation = record.correlation;
  return work;
}

uint32_t positive(int32_t number) noexcept { return number > 0 ? static_cast<uint32_t>(number) : 0; }

WorkKind direction_of(uint8_t direction) noexcept {
  switch (direction) {
    case kHostToDevice:
      return WorkKind::CopyToDevice;
    case kDeviceToHost:
      return WorkKind::CopyToHost;
    case kHostToHost:
      return WorkKind::CopyOnHost;
    case kPeerToPeer:
      return WorkKind::CopyBetweenDevices;
    default:  // also to and from arrays, which are on the device
      return WorkKind::CopyOnDevice;
  }
}

Work kernel(const Kernel& record) noexcept {
  Work work = common(record, WorkKind::Kernel);
  if (record.name != nullptr) work.name = record.name;
  for (int i = 0; i < 3; ++i) {
    work.grid[i] = positive(record.grid[i]);
    work.block[i] = positive(record.block[i]);
  }
  work.graph_node = record.graph_node;
  work.registers = record.registers;
  work.shared_bytes = positive(record.static_shared) + positive(record.dynamic_shared);
  return work;
}

}  // namespace

std::optional<Work> work_from(const void* record, size_t bytes) noexcept {
  Kind kind{};
  if (!read(record, bytes, kind)) return {};
  if (kind == Kind::Kernel) {
    cuda::Kernel found;
    if (read(record, bytes, found)) return kernel(found);
  } else if (kind == Kind::Copy) {
    Copy found;
    if (!read(record, bytes, found)) return {};
    Work work = common(found, direction_of(found.direction));
    work.bytes = found.bytes;
    work.graph_node = found.graph_node;
    return work;
  } else if (kind == Kind::PeerCopy) {
    PeerCopy found;
    if (!read(record, bytes, found)) return {};
    Work work = common(found, WorkKind::CopyBetweenDevices);
    work.bytes = found.bytes;
    work.target_device = found.target_device;
    return work;
  } else if (kind == Kind::Fill) {
    Fill found;
    if (!read(record, bytes, found)) return {};
    Work work = common(found, WorkKind::Fill);
    work.bytes = found.bytes;
    work.graph_node = found.graph_node;
    return work;
  } else if (kind == Kind::Graph) {
    cuda::Graph found;
    if (!read(record, bytes, found)) return {};
    Work work = common(found, WorkKind::Graph);
    work.graph = found.graph;
    return work;
  }
  return {};
}

// ---- Names of kernels

namespace {

constexpr size_t kMaxNames = 50'000;

}  // namespace

std::string readable_name(std::string_view mangled) {
  std::string name(mangled);
  if (!mangled.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), free);
  return text != nullptr ? std::string(text.get()) : name;
}

Site* KernelNames::site_of(std::string_view mangled, bool in_graph) {
  const auto site = [&](Named& named) { return in_graph ? &named.in_graph : &named.site; };
  if (const auto found = names_.find(mangled); found != names_.end()) return site(*found->second);
  if (names_.size() == kMaxNames) return nullptr;
  auto named = std::make_unique<Named>();
  named->name = readable_name(mangled);
  named->site.label = named->in_graph.label = Label(named->name);
  return site(*names_.emplace(mangled, std::move(named)).first->second);
}

// ---- Queues

namespace {

constexpr uint64_t kClockEvery = 1'000'000'000;

// The driver's function, which the program has loaded.
template <class Function>
Function driver_function(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return driver != nullptr ? reinterpret_cast<Function>(dlsym(driver, name)) : nullptr;
}

Site& site_of(WorkKind kind) {
  static constinit Site to_device{Label("copy host to device", "copy")}, to_host{Label("copy device to host", "copy")},
      on_device{Label("copy on device", "copy")}, between{Label("copy between devices", "copy")},
      on_host{Label("copy on host", "copy")}, fill{Label("fill", "fill")};
  switch (kind) {
    case WorkKind::CopyToDevice:
      return to_device;
    case WorkKind::CopyToHost:
      return to_host;
    case WorkKind::CopyBetweenDevices:
      return between;
    case WorkKind::CopyOnHost:
      return on_host;
    case WorkKind::Fill:
      return fill;
    default:
      return on_device;
  }
}

}  // namespace

const Queues::Device& Queues::describe(uint32_t device) {
  const auto [at, is_new] = devices_.try_emplace(device);
  if (!is_new) return at->second;
  int handle = 0;
  const auto get = driver_function<int (*)(int*, int)>("cuDeviceGet");
  const auto name_of = driver_function<int (*)(char*, int, int)>("cuDeviceGetName");
  auto uuid_of = driver_function<int (*)(uint8_t*, int)>("cuDeviceGetUuid_v2");
  if (uuid_of == nullptr) uuid_of = driver_function<int (*)(uint8_t*, int)>("cuDeviceGetUuid");
  std::array<char, 256> name{};
  std::array<uint8_t, 16> uuid{};
  if (get != nullptr && get(&handle, static_cast<int>(device)) == 0) {
    if (name_of != nullptr && name_of(name.data(), static_cast<int>(name.size() - 1), handle) == 0)
      at->second.name = name.data();
    if (uuid_of != nullptr && uuid_of(uuid.data(), handle) == 0) at->second.uuid = base::hex(uuid);
  }
  if (at->second.name.empty()) at->second.name = base::format("CUDA device {}", device);
  if (at->second.uuid.empty()) at->second.uuid = base::format("cuda:{}", device);
  return at->second;
}

Queues::Queue& Queues::queue_of(const Work& work) {
  const auto [at, is_new] = queues_.try_emplace(Key{work.device, work.context, work.stream});
  if (is_new) {
    const Device& device = describe(work.device);
    const auto default_stream = default_streams_.find(work.context);
    const auto named = stream_names_.find({work.context, work.stream});
    const std::string name = named != stream_names_.end() ? named->second
                             : default_stream != default_streams_.end() && default_stream->second == work.stream
                                 ? base::format("cuda:{} default stream", work.device)
                                 : base::format("cuda:{} stream {}", work.device, work.stream);
    kymo_queue_info info{};
    info.name = name.c_str();
    info.device_uuid = device.uuid.c_str();
    info.device_name = device.name.c_str();
    info.context = work.context;
    info.queue = work.stream;
    info.clock = 1;  // the host's, for all devices
    info.period_numerator = info.period_denominator = 1;
    at->second.track = QueueTrack(info);
  }
  note_clock(at->second);
  return at->second;
}

void Queues::note_clock(Queue& queue) {
  const uint64_t now = base::monotonic_ns();
  if (queue.clock_noted_ns != 0 && now - queue.clock_noted_ns < kClockEvery) return;
  queue.track.clock_pair(now, now, now + base::realtime_offset().ns, kConversionErrorNs);
  queue.clock_noted_ns = now;
}

void Queues::write(const Work& work) {
  Queue& queue = queue_of(work);
  if (!work.has_times()) {
    queue.track.lost(1);
    ++lost_;
    return;
  }
  ++written_;
  const uint64_t correlation = correlation_of(work.correlation);
  const uint64_t captured =
      work.kind == WorkKind::Graph ? graphs_.captured(work.graph) : graphs_.call_of(work.graph_node);
  if (work.kind == WorkKind::Kernel) {
    const auto span = [&](auto& label) {
      const auto with = [&](const auto&... more) {
        queue.track.span(label, work.start, work.end, correlation, kymo::arg("grid_x", work.grid[0]),
                         kymo::arg("grid_y", work.grid[1]), kymo::arg("grid_z", work.grid[2]),
                         kymo::arg("block_x", work.block[0]), kymo::arg("block_y", work.block[1]),
                         kymo::arg("block_z", work.block[2]), kymo::arg("registers", work.registers),
                         kymo::bytes("shared_memory", work.shared_bytes), more...);
      };
      captured != 0 ? with(kymo::arg("captured", captured)) : with();
    };
    if (Site* const site = kernels_.site_of(work.name, captured != 0)) {
      span(*site);
    } else {
      const std::string name = readable_name(work.name);
      const Label label(name);
      span(label);
    }
  } else if (work.kind == WorkKind::Graph) {
    static constinit Site graph{Label("graph {}", "graph")};
    queue.track.span(graph, work.start, work.end, correlation, work.graph, kymo::arg("captured", captured));
  } else {
    const auto ns = static_cast<double>(work.end - work.start);
    const kymo_arg bytes = kymo::bytes("bytes", work.bytes),
                   rate = kymo::arg("GB_per_s", ns > 0 ? static_cast<double>(work.bytes) / ns : 0.0);
    Site& site = site_of(work.kind);
    const Label label({site.label.name, site.label.name_length}, {site.label.category, site.label.category_length});
    if (captured == 0)
      queue.track.span(site, work.start, work.end, correlation, bytes, rate);
    else
      queue.track.span(label, work.start, work.end, correlation, bytes, rate, kymo::arg("captured", captured));
  }
}

}  // namespace kymo::inject::cuda
