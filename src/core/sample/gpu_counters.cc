#include "sample/gpu_counters.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/environment.h"
#include "base/hex.h"
#include "base/host.h"
#include "base/quiet_thread.h"
#include "base/text.h"
#include "base/version.h"
#include "kymo/error.h"
#include "sample/pm_sampling.h"
#include "sensors/gpu_sensors.h"

namespace kymo::sample {

namespace {

constexpr std::chrono::milliseconds kReadEvery(kGpuReadsMs), kLookEvery(20);
constexpr uint64_t kSensorsEvery = 100'000'000, kSlowEvery = 1'000'000'000, kHandOverEvery = 200'000'000;
constexpr uint32_t kHostClock = 1, kGpuClock = 2, kSampleTrack = 1, kSensorTrack = 2, kFirstSensor = 1000;

constexpr const char* kDriverDevice = "/dev/nvidiactl";

// CUPTI gives the times of samples as the host's real time.
base::ClockPair sample_time() { return base::read_clock_pair(base::realtime_ns); }

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The functions of the CUDA driver that are needed. None of them makes a context.
struct Driver {
  int (*initialize)(unsigned);
  int (*count)(int*);
  int (*get)(int*, int);
  int (*name)(char*, int, int);
  int (*uuid)(uint8_t*, int);
  int (*bus)(char*, int, int);
  int (*attribute)(int*, int, int);
};

Driver load_driver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw NotAvailable(dlerror());
  const auto find = [library]<class Function>(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) throw NotAvailable(base::format("libcuda.so.1 has no {}", name));
  };
  Driver driver{};
  find("cuInit", driver.initialize);
  find("cuDeviceGetCount", driver.count);
  find("cuDeviceGet", driver.get);
  find("cuDeviceGetName", driver.name);
  find("cuDeviceGetUuid_v2", driver.uuid);
  find("cuDeviceGetPCIBusId", driver.bus);
  find("cuDeviceGetAttribute", driver.attribute);
  return driver;
}

bool has_loaded_cupti(uint32_t pid) {
  return content_of(base::format("/proc/{}/maps", pid)).find("/libcupti.so") != std::string::npos;
}

// CUPTI as the program has it: libkymo_inject.so has loaded it there, and it belongs to the program's CUDA.
void* load_cupti(uint32_t user) {
  std::string path;
  if (const char* const named = base::environment("KYMO_CUPTI")) path = named;
  std::ifstream maps(base::format("/proc/{}/maps", user));
  std::string line;
  while (path.empty() && std::getline(maps, line))
    if (line.find("/libcupti.so") != line.npos) path = line.substr(line.find('/'));
  if (path.empty())
    throw NotAvailable(line.empty() ? "the program ended before" : "the program has not loaded libcupti.so");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw NotAvailable(dlerror());
  return library;
}

}  // namespace

// One GPU: what is sampled of it, and what of that is not written yet.
struct GpuCounters::Device {
  Device(const Driver& driver, int number_in, const GpuCounterOptions& options) : number(number_in) {
    int handle = 0;
    std::array<char, 256> text{};
    std::array<uint8_t, 16> bytes{};
    if (driver.get(&handle, number) != 0) return;
    if (driver.name(text.data(), static_cast<int>(text.size() - 1), handle) == 0) name = text.data();
    if (driver.uuid(bytes.data(), handle) == 0) uuid = base::hex(bytes);
    if (driver.bus(text.data(), static_cast<int>(text.size() - 1), handle) == 0) sensors.emplace(text.data());
    origin.session = options.session;
    origin.pid = static_cast<uint64_t>(getpid());
    origin.host = base::host_name();
    origin.boot_id = base::boot_id();
    origin.kymo_version = base::kVersion;
    origin.start_realtime_ns = base::realtime_ns();
    origin.command_line = {"GPU counters"};  // no program: it is in no list of them
    origin.metadata = {{"GPU counters", name}};
    constexpr std::pair<const char*, int> kAttributes[] = {{"multiprocessors", 16},
                                                           {"threads per multiprocessor", 39},
                                                           {"registers per multiprocessor", 82},
                                                           {"compute capability, major", 75},
                                                           {"compute capability, minor", 76}};
    for (const auto& [what, attribute] : kAttributes) {
      int value = 0;
      if (driver.attribute(&value, attribute, handle) == 0) origin.metadata.emplace_back(what, std::to_string(value));
    }
    if (sensors) std::ranges::move(sensors->limits(), std::back_inserter(origin.metadata));
  }

  // Whether a process of the recording computes on it, and whether others do. In another process namespace than the
  // driver's, only the number of processes is known.
  void look_for_users(const GpuCounterOptions& options, bool is_only_device) {
    const auto pids = sensors ? sensors->processes() : std::nullopt;
    is_used = is_used || is_only_device;
    if (!pids) return;
    const std::string wanted = "KYMO_SESSION=" + options.session;
    const auto own = static_cast<size_t>(std::ranges::count_if(*pids, [&](uint32_t pid) {
      return options.pid != 0 ? pid == options.pid
                              : content_of(base::format("/proc/{}/environ", pid)).find(wanted) != std::string::npos;
    }));
    std::error_code unknown;
    const bool is_first_namespace = std::filesystem::read_symlink("/proc/self/ns/pid", unknown) == "pid:[4026531836]";
    const size_t expected = own != 0 || is_first_namespace ? own : std::min<size_t>(pids->size(), 1);
    is_used = is_used || expected != 0;
    if (pids->size() > expected && !std::exchange(has_others, true) && is_introduced) add_origin("other processes");
  }

  void start(void* cupti, const GpuCounterOptions& options) {
    interval_ns = 1'000'000'000 / std::max<uint64_t>(options.hertz, 1);
    sampling = std::make_unique<PmSampling>(cupti, static_cast<size_t>(number), interval_ns, options.names);
    origin.metadata.emplace_back("sample interval", std::to_string(interval_ns));
  }

  void add_origin(const char* what) {
    trace::Origin more = origin;
    more.metadata = {{what, "yes"}};
    out->add({id, more});
  }

  void add_clock(uint32_t clock_id, trace::ClockKind kind, const base::ClockPair& pair) {
    trace::ClockDomain clock;
    clock.id = clock_id;
    clock.kind = kind;
    clock.boot_id = origin.boot_id;
    clock.pairs.push_back(pair);
    out->add({id, std::move(clock)});
  }

  void introduce() {
    if (std::exchange(is_introduced, true)) return;
    out->add({id, origin});
    if (has_others) add_origin("other processes");
    add_clock(kHostClock, trace::ClockKind::Monotonic, base::read_clock_pair(base::monotonic_ns));
    add_clock(kGpuClock, trace::ClockKind::Device, sample_time());
    std::vector<trace::EventClass> classes;
    const auto add = [&classes](size_t class_id, const std::string& name_of) {
      classes.push_back({static_cast<uint32_t>(class_id), name_of, "gpu", 0, {{"value", trace::FieldType::Double}}});
    };
    if (sampling)
      for (size_t i = 0; i < sampling->set().counters().size(); ++i) add(1 + i, sampling->set().counters()[i].name);
    const std::vector<std::string> names = sensors::GpuSensors::names();
    for (size_t i = 0; i < names.size(); ++i) add(kFirstSensor + i, names[i]);
    out->add({id, std::move(classes)});
    std::vector<trace::Track> tracks(2);
    for (const uint32_t one : {kSampleTrack, kSensorTrack}) {
      trace::Track& track = tracks[one - 1];
      track.id = one;
      track.kind = trace::TrackKind::Process;
      track.clock = one == kSampleTrack ? kGpuClock : kHostClock;
      track.name = base::format("cuda:{} {}", number, one == kSampleTrack ? "counters" : "sensors");
      track.device_uuid = uuid;
      track.device_name = name;
    }
    out->add({id, std::move(tracks)});
  }

  void add(uint32_t track, uint64_t time, size_t class_id, double value) {
    trace::Points& points = batches[track].points;
    points.time.push_back(time);
    points.kind.push_back(trace::PointKind::Counter);
    points.class_id.push_back(static_cast<uint32_t>(class_id));
    points.id.push_back(0);
    points.values.doubles.push_back(value);
  }

  void lose(trace::LossCause cause, const char* detail) {
    out->add({id, std::vector{trace::Loss{cause, kSampleTrack, 1, last_end, last_end, detail}}});
  }

  void hand_over(uint64_t now) {
    handed_ns = now;
    for (const uint32_t track : {kSampleTrack, kSensorTrack}) {
      trace::EventBatch batch;
      std::swap(batch, batches[track]);
      if (batch.points.size() == 0) continue;
      batch.track = batch.ring = track;
      batch.sequence_begin = sequences[track];
      batch.sequence_end = sequences[track] += batch.points.size();
      out->add({id, std::move(batch)});
    }
  }

  void read(uint64_t now, bool is_last) {
    introduce();
    if (sampling) {
      if (is_last) sampling->stop();
      const bool is_whole = sampling->read([&](uint64_t begin, uint64_t end, const std::vector<double>& values) {
        for (size_t i = 0; i < values.size(); ++i) add(kSampleTrack, begin, 1 + i, values[i]);
        last_end = end;
      });
      if (!is_whole) lose(trace::LossCause::Reported, "the GPU's buffer of counters was full; use a lower rate");
    }
    const bool with_slow = is_last || now - slow_ns >= kSlowEvery;
    if (with_slow) {
      slow_ns = now;
      add_clock(kGpuClock, trace::ClockKind::Device, sample_time());
    }
    if (sensors && (is_last || now - sensors_ns >= kSensorsEvery)) {
      sensors_ns = now;
      sensors->read(with_slow,
                    [&](size_t i, double value) { add(kSensorTrack, base::monotonic_ns(), kFirstSensor + i, value); });
    }
    if (is_last || now - handed_ns >= kHandOverEvery) hand_over(now);
    if (is_last) {
      add_clock(kHostClock, trace::ClockKind::Monotonic, base::read_clock_pair(base::monotonic_ns));
      out->add({id, trace::Ending{now}});
    }
  }

  const int number;
  std::string name, uuid;
  std::optional<sensors::GpuSensors> sensors;
  std::unique_ptr<PmSampling> sampling;
  trace::WriterId id = trace::random_writer_id();
  trace::Origin origin;
  Outbox* out = nullptr;
  bool is_used = false, is_started = false, has_others = false, is_introduced = false;
  uint64_t interval_ns = 0, sensors_ns = 0, slow_ns = 0, handed_ns = 0, last_end = 0;
  std::array<trace::EventBatch, 3> batches;  // by track
  std::array<uint64_t, 3> sequences{};
};

GpuCounters::GpuCounters(GpuCounterOptions options) : options_(std::move(options)) {
  try {
    thread_ = base::quiet_thread("kymo-gpu", [this] { run(); });
  } catch (const std::system_error& error) {
    throw NotAvailable(base::format("no thread for GPU counters: {}; raise the limit on processes (ulimit -u)",
                                    error.code().message()));
  }
}

GpuCounters::~GpuCounters() {
  stopping_.store(true, std::memory_order_release);
  if (thread_.joinable()) thread_.join();
}

void GpuCounters::run() {
  if (options_.pid != 0 && access(kDriverDevice, F_OK) != 0) return;
  for (uint64_t i = 0; !stopping_.load(std::memory_order_acquire) && user_ == 0; ++i) {
    constexpr uint64_t kMapsEvery = 5;
    if (options_.pid != 0 && i % kMapsEvery == 0 && has_loaded_cupti(options_.pid)) user_ = options_.pid;
    std::this_thread::sleep_for(kLookEvery);
  }
  if (user_ == 0) return;
  try {
    begin();
    while (!stopping_.load(std::memory_order_acquire)) {
      read(false);
      std::this_thread::sleep_for(kReadEvery);
    }
    read(true);
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    problem_ = base::format("no GPU counters: {}", error.what());
  }
}

void GpuCounters::begin() {
  const Driver driver = load_driver();
  int count = 0;
  if (const int error = driver.initialize(0); error != 0 || driver.count(&count) != 0)
    throw NotAvailable(base::format("the CUDA driver cannot be used, error {}", error));
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < count; ++i) {
    devices_.push_back(std::make_unique<Device>(driver, i, options_));
    devices_.back()->out = &outbox_;
  }
}

// A device that is not used by the recorded program keeps its counters for others.
void GpuCounters::read(bool is_last) {
  const std::lock_guard lock(mutex_);
  const uint64_t now = base::monotonic_ns();
  for (const auto& device : devices_) {
    if (!device->is_used || now - device->slow_ns >= kSlowEvery) device->look_for_users(options_, devices_.size() == 1);
    if (!device->is_used) continue;
    if (options_.hertz != 0 && !std::exchange(device->is_started, true)) {
      try {
        device->start(load_cupti(user_), options_);
        const std::vector<std::string>& refused = device->sampling->set().refused();
        if (!refused.empty() && !options_.names.empty())
          problem_ = base::format("the GPU does not have these counters, or not together with the others: {}",
                                  base::join(refused, ", "));
      } catch (const NotAvailable& error) {
        problem_ = base::format("no GPU counters, only power and clocks: {}", error.what());
      }
    }
    device->read(now, is_last);
  }
}

void GpuCounters::end_file(trace::Writer& file) {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& device : devices_) {
      if (device->is_introduced) device->hand_over(base::monotonic_ns());
      device->is_introduced = false;
    }
  }
  outbox_.write(file);
}

std::string GpuCounters::finish(bool was_asked) {
  stopping_.store(true, std::memory_order_release);
  if (thread_.joinable()) thread_.join();
  if (user_ != 0 || !was_asked) return problem_;
  return access(kDriverDevice, F_OK) == 0
             ? "no GPU counters: no recorded program used CUDA"
             : "no GPU counters: this machine has no NVIDIA GPU, or its driver is not loaded (/dev/nvidiactl)";
}

}  // namespace kymo::sample
