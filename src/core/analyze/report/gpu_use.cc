#include "analyze/report/gpu_use.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>
#include <utility>

#include "analyze/operation_name.h"
#include "base/text.h"
#include "base/units.h"

namespace kymo::analyze {
namespace {

constexpr std::string_view kThrottle = "throttle reasons", kEnergy = "energy [J]", kCorrected = "ECC errors, corrected",
                           kNotCorrected = "ECC errors, not corrected", kNvLink = "NVLink errors";
constexpr size_t kMostSamples = 8 << 20;
constexpr uint64_t kFewestSamples = 5;
constexpr double kSmallestCover = 0.1;  // of the time of the samples: else their edges decide
constexpr int64_t kMostOfOthers = 100;  // a hundredth of the time of a kernel
constexpr double kNearPeak = 60, kFewActive = 50, kLowClock = 0.9, kUnused = 1;
constexpr double kAlone = 0.95;  // of the time between two readings of the energy

// What a multiprocessor can do in a cycle: fused multiplications and additions of 32-bit and 64-bit floats, and
// operations of tensor cores on 16-bit floats that are not sparse.
struct Multiprocessor {
  int capability;  // 10 * major + minor
  double fma, fma64, tensor;
};
constexpr Multiprocessor kMultiprocessors[] = {{70, 64, 32, 1024},  {75, 64, 2, 1024},  {80, 64, 32, 2048},
                                               {86, 128, 2, 1024},  {89, 128, 2, 1024}, {90, 128, 64, 4096},
                                               {100, 128, 64, 8192}};

// The type of the operands of a product that tensor cores can do, by the names that libraries and compilers give to
// such kernels; null: it is another kernel, or its name does not say it.
const char* type_of_product(std::string_view kernel) {
  const auto has_any = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](std::string_view word) { return kernel.find(word) != kernel.npos; });
  };
  if (!has_any({"gemm", "matmul", "Gemm", "conv2d", "convolve", "attention", "fmha", "flash_fwd", "flash_bwd"}))
    return nullptr;
  return has_any({"bf16", "bfloat16", "BFloat16"})               ? "bfloat16"
         : has_any({"__half", "f16", "fp16", "half_t", "hgemm"}) ? "float16"
                                                                 : nullptr;
}

// The bits of NVML's reasons.
constexpr std::pair<uint64_t, const char*> kReasons[] = {
    {0x4, "power limit"},
    {0x8, "hardware slowdown"},
    {0x20, "temperature limit"},
    {0x40, "temperature limit"},
    {0x80, "power brake of the server"},
    {0x2, "clock set by the user"},
    {0x10, "clock of the other GPUs"},
};

// A sum that a trace cannot overflow.
int64_t later(int64_t time, uint64_t ns) {
  int64_t sum = 0;
  return __builtin_add_overflow(time, ns, &sum) ? INT64_MAX : sum;
}

struct DeviceSamples {
  uint64_t interval_ns = 0;
  std::vector<int64_t> begins;
  std::vector<double> values;  // as many as there are counters, for each sample

  int64_t end(size_t i) const {
    const bool is_next_near = i + 1 < begins.size() && static_cast<uint64_t>(time_between(begins[i], begins[i + 1])) <=
                                                           interval_ns + interval_ns / 2;
    return is_next_near ? begins[i + 1] : later(begins[i], interval_ns);
  }
};

struct Reading {
  int64_t time;
  std::string_view name;
  double value;
};

// The counters of one device, as they are in the trace.
struct RecordedCounters {
  GpuUse use;
  DeviceSamples samples;
  std::vector<Reading> readings;

  // The first sample says which counters there are.
  void add(int64_t time, const std::string& name, double value) {
    const auto at = static_cast<size_t>(std::ranges::find(use.counters, name) - use.counters.begin());
    if (at == use.counters.size()) {
      if (samples.begins.size() > 1) return;
      use.counters.push_back(name);
    }
    if (!samples.begins.empty() && time < samples.begins.back()) return;  // of a damaged trace, or of two at a time
    if (samples.begins.empty() || samples.begins.back() != time) samples.begins.push_back(time);
    samples.values.resize(samples.begins.size() * use.counters.size());
    samples.values[(samples.begins.size() - 1) * use.counters.size() + at] = value;
  }
};

bool is_share(std::string_view counter) { return counter.ends_with("[%]"); }
bool is_ratio(std::string_view counter) { return counter.find("per") != counter.npos; }

bool is_of_counters(const trace::WriterInfo& writer) {
  return std::ranges::any_of(writer.origin.metadata, [](const auto& one) { return one.first == "GPU counters"; });
}

void add_metadata(const trace::Origin& origin, RecordedCounters& into) {
  for (const auto& [name, text] : origin.metadata) {
    const double number = std::strtod(text.c_str(), nullptr);
    if (name == "sample interval")
      into.samples.interval_ns = into.use.interval_ns = static_cast<uint64_t>(std::clamp(number, 0.0, 1e12));
    else if (name == "other processes")
      into.use.has_others = true;
    else if (number > 0 && std::isfinite(number))
      into.use.limits[name] = number;
  }
}

// By the id of the device.
std::map<std::string, RecordedCounters> read_counters(EventWalk& walk) {
  std::map<std::string, RecordedCounters> all;
  std::set<uint32_t> wanted;
  for (const TrackOfTrace& track : walk.tracks()) {
    if (!is_of_counters(*track.writer) || track.track->device_uuid.empty()) continue;
    wanted.insert(track.number);
    RecordedCounters& made = all[track.track->device_uuid];
    made.use.device = track.track->device();
    add_metadata(track.writer->origin, made);
  }
  if (wanted.empty()) return all;
  walk.each(
      trace::kPoints | trace::kPointValues, [&](const TrackOfTrace& track) { return wanted.contains(track.number); },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        RecordedCounters& into = all[track.track->device_uuid];
        trace::ValueCursor cursor(batch.points.values);
        for (size_t i = 0; i < batch.points.size(); ++i) {
          const trace::EventClass* const known = track.writer->find_class(batch.points.class_id[i]);
          const auto& row = cursor.next(known);
          if (batch.points.kind[i] != trace::PointKind::Counter || row.empty() || known == nullptr) continue;
          const double value = row[0].number();
          const int64_t time = track.ns(batch.points.time[i]);
          if (!std::isfinite(value) || into.readings.size() + into.samples.values.size() > kMostSamples) continue;
          if (track.track->name.ends_with("sensors"))
            into.readings.push_back({time, known->name, value});
          else
            into.add(time, known->name, value);
        }
      });
  return all;
}

// The names of the classes of operations, each once.
class OperationNames {
 public:
  explicit OperationNames(const EventWalk& walk) : walk_(walk) {}
  uint32_t of(const DeviceOperation& operation) {
    const TrackOfTrace& track = walk_.tracks()[operation.track];
    const auto [entry, is_new] = by_class_.try_emplace({track.writer_number, operation.class_id});
    if (is_new) {
      const trace::EventClass* const known = track.writer->find_class(operation.class_id);
      const std::string name = known == nullptr ? "(no name)" : operation_name(*known);
      entry->second = by_name_.try_emplace(name, static_cast<uint32_t>(by_name_.size())).first->second;
    }
    return entry->second;
  }
  std::vector<std::string> all() const {
    std::vector<std::string> names(by_name_.size());
    for (const auto& [name, number] : by_name_) names[number] = name;
    return names;
  }

 private:
  const EventWalk& walk_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> by_class_;
  std::map<std::string, uint32_t> by_name_;
};

bool is_kernel(const DeviceOperation& one) {
  return one.kind == WorkKind::Compute || one.kind == WorkKind::Communication;
}

struct KernelSums {
  GpuRow row;
  std::vector<double> sums;

  void add(const std::vector<std::string>& counters, const double* values, uint64_t length, uint64_t covered) {
    sums.resize(counters.size());
    ++row.samples;
    row.sampled_ns += length;
    row.covered_ns += covered;
    for (size_t i = 0; i < counters.size(); ++i)
      sums[i] += values[i] * (is_share(counters[i])   ? static_cast<double>(length)
                              : is_ratio(counters[i]) ? static_cast<double>(covered)
                                                      : 1e9);  // events: per second
  }
  GpuRow finish(const std::vector<std::string>& counters) {
    const bool is_enough = row.samples >= kFewestSamples &&
                           static_cast<double>(row.covered_ns) >= kSmallestCover * static_cast<double>(row.sampled_ns);
    for (size_t i = 0; is_enough && i < sums.size(); ++i) {
      const double value = sums[i] / static_cast<double>(row.covered_ns);
      row.values.push_back(is_share(counters[i]) ? std::min(value, 100.0) : value);
    }
    return std::move(row);
  }
};

// A kernel gets the energy between two readings if it ran nearly all of this time.
void add_energy(const Device& device, const std::vector<uint32_t>& name_of, const Intervals& window,
                const std::vector<Reading>& readings, std::vector<KernelSums>& kernels) {
  const Reading* before = nullptr;
  size_t first = 0, hint = 0;
  for (const Reading& one : readings) {
    if (one.name != kEnergy) continue;
    const Reading* const last = std::exchange(before, &one);
    if (last == nullptr || one.value < last->value || one.time <= last->time) continue;
    const auto length = static_cast<uint64_t>(time_between(last->time, one.time));
    if (window.covered(last->time, one.time, hint) < length) continue;
    std::map<uint32_t, std::pair<double, double>> by_name;  // time, launches
    for (; first < device.operations.size() && device.operations[first].end <= last->time; ++first) {
    }
    for (size_t i = first; i < device.operations.size() && device.operations[i].begin < one.time; ++i) {
      const DeviceOperation& work = device.operations[i];
      const auto inside =
          static_cast<double>(time_between(std::max(work.begin, last->time), std::min(work.end, one.time)));
      if (!is_kernel(work) || inside <= 0) continue;
      auto& [ns, launches] = by_name[name_of[i]];
      ns += inside;
      launches += inside / static_cast<double>(time_between(work.begin, work.end));
    }
    for (const auto& [name, sums] : by_name) {
      if (sums.first < kAlone * static_cast<double>(length)) continue;
      kernels[name].row.joules += one.value - last->value;
      kernels[name].row.joules_launches += sums.second;
    }
  }
}

void give_to_kernels(const EventWalk& walk, const Device& device, const Intervals& window, RecordedCounters& recorded) {
  GpuUse& use = recorded.use;
  const DeviceSamples& samples = recorded.samples;
  OperationNames names(walk);
  std::vector<uint32_t> name_of(device.operations.size());
  std::vector<KernelSums> kernels;
  size_t hint = 0;
  for (size_t i = 0; i < device.operations.size(); ++i) {
    const DeviceOperation& one = device.operations[i];
    if (!is_kernel(one)) continue;
    name_of[i] = names.of(one);
    kernels.resize(std::max<size_t>(kernels.size(), name_of[i] + size_t{1}));
    const uint64_t inside = window.covered(one.begin, one.end, hint);
    if (inside == 0 && one.end > one.begin) continue;
    ++kernels[name_of[i]].row.count;
    kernels[name_of[i]].row.total_ns += inside;
  }
  KernelSums all;
  std::vector<size_t> running;  // operations
  size_t next = 0, window_hint = 0;
  for (size_t i = 0; i < samples.begins.size(); ++i) {
    const int64_t begin = samples.begins[i], end = samples.end(i);
    for (; next < device.operations.size() && device.operations[next].begin < end; ++next)
      if (device.operations[next].kind != WorkKind::Wait) running.push_back(next);
    std::erase_if(running, [&](size_t at) { return device.operations[at].end <= begin; });
    const auto length = static_cast<uint64_t>(time_between(begin, end));
    if (running.empty() || window.covered(begin, end, window_hint) < length) continue;
    const auto inside = [&](size_t at) {
      return time_between(std::max(device.operations[at].begin, begin), std::min(device.operations[at].end, end));
    };
    int64_t covered = 0, until = begin;
    size_t main = running.front();
    for (const size_t at : running) {  // by their begin
      const DeviceOperation& one = device.operations[at];
      covered += time_between(std::max(one.begin, until), std::min(one.end, end));
      until = std::max(until, std::min(one.end, end));
      if (inside(at) > inside(main)) main = at;
    }
    const double* const values = &samples.values[i * use.counters.size()];
    all.add(use.counters, values, length, static_cast<uint64_t>(covered));
    int64_t others = 0;
    for (const size_t at : running)
      if (!is_kernel(device.operations[at]) || name_of[at] != name_of[main]) others += inside(at);
    if (is_kernel(device.operations[main]) && others <= covered / kMostOfOthers)
      kernels[name_of[main]].add(use.counters, values, length, static_cast<uint64_t>(covered));
  }
  add_energy(device, name_of, window, recorded.readings, kernels);
  use.all = all.finish(use.counters);
  use.all.name = use.device;
  const std::vector<std::string> texts = names.all();
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].row.count == 0) continue;
    use.kernels.push_back(kernels[i].finish(use.counters));
    use.kernels.back().name = texts[i];
  }
  std::ranges::stable_sort(use.kernels, std::ranges::greater(), &GpuRow::total_ns);
}

// A reading counts while a kernel runs, or nearly so, and in the window. Energy is a total.
void add_sensors(const Device& device, const Intervals& window, RecordedCounters& recorded) {
  constexpr uint64_t kAround = 1'000'000;
  const Intervals busy =
      intersection(united(times_of(device, WorkKind::Compute), times_of(device, WorkKind::Communication)), window);
  std::map<std::string_view, GpuSensor> sensors;
  for (const Reading& one : recorded.readings) {
    const bool is_total =
        one.name == kEnergy || one.name == kCorrected || one.name == kNotCorrected || one.name == kNvLink;
    const Intervals& counted = is_total ? window : busy;
    if (counted.covered(one.time, later(one.time, kAround)) == 0) continue;
    if (one.name == kThrottle) {
      ++recorded.use.throttled[static_cast<uint64_t>(std::clamp(one.value, 0.0, 1e15))];
      continue;
    }
    GpuSensor& sensor = sensors[one.name];
    if (sensor.count++ == 0)
      sensor = {std::string(one.name), 1, 0, one.value, one.value, one.value, one.value, one.time, one.time};
    sensor.mean += (one.value - sensor.mean) / static_cast<double>(sensor.count);
    sensor.min = std::min(sensor.min, one.value);
    sensor.max = std::max(sensor.max, one.value);
    sensor.last = one.value;
    sensor.last_ns = one.time;
  }
  for (auto& [name, sensor] : sensors) recorded.use.sensors.push_back(std::move(sensor));
}

// The largest number of registers of a kernel's instances, and its block.
void add_launches(EventWalk& walk, const std::string& device, GpuUse& use) {
  std::map<std::string, GpuRow*> rows;
  for (GpuRow& row : use.kernels) rows[row.name] = &row;
  walk.each(
      trace::kRangeTimes | trace::kRangeClasses | trace::kRangeValues,
      [&](const TrackOfTrace& track) { return track.on_device && track.track->device_uuid == device; },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        trace::ValueCursor cursor(batch.ranges.values);
        std::map<uint32_t, GpuRow*> by_class;
        for (size_t i = 0; i < batch.ranges.size(); ++i) {
          const uint32_t id = batch.ranges.class_id[i];
          const trace::EventClass* const known = track.writer->find_class(id);
          const auto& values = cursor.next(known);
          if (known == nullptr) continue;
          const auto [entry, is_new] = by_class.try_emplace(id, nullptr);
          if (is_new)
            if (const auto row = rows.find(operation_name(*known)); row != rows.end()) entry->second = row->second;
          if (entry->second == nullptr) continue;
          double threads = 1;
          for (size_t field = 0; field < std::min(values.size(), known->fields.size()); ++field) {
            const std::string& name = known->fields[field].name;
            if (name.starts_with("block_")) threads *= std::max(values[field].number(), 1.0);
            if (name == "registers")
              entry->second->registers = std::max(entry->second->registers, values[field].number());
          }
          entry->second->threads = std::max(entry->second->threads, threads);
        }
      });
}

// The share of the warps that fit if only registers limit it; 1: all. A warp gets registers in units of 256.
double register_limit(const GpuUse& use, const GpuRow& row) {
  const double registers = use.limit("registers per multiprocessor"), threads = use.limit("threads per multiprocessor");
  if (registers == 0 || threads == 0 || row.registers == 0 || row.threads == 0) return 1;
  const double warps = std::ceil(row.threads / 32), of_warp = std::ceil(row.registers * 32 / 256) * 256;
  return std::min(1.0, std::floor(registers / of_warp / warps) * warps * 32 / threads);
}

}  // namespace

double GpuUse::value(const GpuRow& row, std::string_view counter) const {
  const auto at = static_cast<size_t>(std::ranges::find(counters, counter) - counters.begin());
  return at < row.values.size() ? row.values[at] : -1;
}

double GpuUse::memory(const GpuRow& row) const {
  const double read = value(row, kRead), written = value(row, kWritten);
  return read < 0 && written < 0 ? -1 : std::min(std::max(read, 0.0) + std::max(written, 0.0), 100.0);
}

double GpuUse::limit(const std::string& name) const {
  const auto found = limits.find(name);
  return found == limits.end() ? 0 : found->second;
}

const GpuSensor* GpuUse::sensor(std::string_view name) const {
  const auto found = std::ranges::find(sensors, name, &GpuSensor::name);
  return found == sensors.end() ? nullptr : &*found;
}

double GpuUse::joules(uint64_t window_ns) const {
  const GpuSensor* const energy = sensor(kEnergy);
  const auto span = energy == nullptr ? 0.0 : static_cast<double>(time_between(energy->first_ns, energy->last_ns));
  const auto window = static_cast<double>(window_ns);
  return span <= 0 || 2 * span < window ? -1 : (energy->last - energy->first) * window / span;
}

std::optional<Roofline> GpuUse::roofline(const GpuRow& row) const {
  const auto capability =
      static_cast<int>(10 * limit("compute capability, major") + limit("compute capability, minor"));
  const auto known = std::ranges::find(kMultiprocessors, capability, &Multiprocessor::capability);
  const double cycles = value(row, kCycles) * limit("multiprocessors"), share = memory(row);
  const double peak_bytes = limit("max memory clock [MHz]") * 1e6 * 2 * limit("memory bus [bits]") / 8;
  const double peak_cycles = limit("max SM clock [MHz]") * 1e6 * limit("multiprocessors");
  if (known == std::end(kMultiprocessors) || cycles <= 0 || share < 0 || peak_bytes <= 0 || peak_cycles <= 0) return {};
  const auto of = [&](std::string_view pipe, double operations) {
    return std::max(value(row, pipe), 0.0) / 100 * operations * cycles;
  };
  Roofline line;
  // Some moves of constants run on the tensor cores too: those are few, beside what the FMA pipe does.
  if (value(row, kTensor) > value(row, kFma)) line.tensor_operations = of(kTensor, known->tensor);
  line.operations = line.tensor_operations + of(kFma, 2 * known->fma) + of(kFp64, 2 * known->fma64);
  line.bytes = share / 100 * peak_bytes;
  line.peak = 2 * known->fma * peak_cycles;
  line.tensor_peak = known->tensor * peak_cycles;
  line.peak_bytes = peak_bytes;
  return line;
}

std::vector<std::string> GpuUse::verdicts(const GpuRow& row) const {
  std::vector<std::string> all;
  if (row.values.empty() || has_others) return all;
  const auto add = [&](const std::string& text) {
    all.push_back(base::format("{} ({})", text, base::count_of(row.samples, "sample")));
  };
  if (const double share = memory(row); share >= kNearPeak) {
    const double peak = limit("max memory clock [MHz]") * 1e6 * 2 * limit("memory bus [bits]") / 8;
    add(base::format("memory: {:.0f} % of the peak{}", share,
                     peak > 0 ? base::format(" of {:.1f} TB/s", peak / 1e12) : std::string()));
  }
  const double tensor = value(row, kTensor);
  if (tensor >= kNearPeak) add(base::format("tensor cores: {:.0f} % of the peak", tensor));
  if (const char* const type = type_of_product(row.name); type != nullptr && tensor >= 0 && tensor < kUnused)
    add(base::format("tensor cores unused although the operands are {}, by its name", type));
  const double active = value(row, kActive), multiprocessors = limit("multiprocessors");
  if (active >= 0 && active < kFewActive)
    add(multiprocessors > 0 ? base::format("few threads: {:.0f} of {:.0f} multiprocessors active",
                                           std::max(1.0, active * multiprocessors / 100), multiprocessors)
                            : base::format("few threads: {:.0f} % of the multiprocessors active", active));
  if (const double share = register_limit(*this, row); share <= 0.5)
    add(base::format("registers limit it to {:.3g} % of the warps ({:.0f} for each thread)", 100 * share,
                     row.registers));
  return all;
}

std::vector<std::string> GpuUse::verdicts() const {
  std::vector<std::string> all;
  for (const auto& [name, text] :
       {std::pair{kNotCorrected, "memory errors that ECC did not correct"},
        std::pair{kCorrected, "memory errors that ECC corrected"}, std::pair{kNvLink, "errors of NVLink"}})
    if (const GpuSensor* const errors = sensor(name); errors != nullptr && errors->last > errors->first)
      all.push_back(
          base::format("{}: {}", text, base::count_text(static_cast<uint64_t>(errors->last - errors->first))));
  const GpuSensor* const clock = sensor(kSmClock);
  const auto most = limits.find("max SM clock [MHz]");
  // NVML's clock is too high while the power limit changes it; the cycles are counted.
  const double cycles = value(this->all, kCycles) / 1e6, mhz = cycles > 0 || clock == nullptr ? cycles : clock->mean;
  if (clock == nullptr || most == limits.end() || clock->count < kFewestSamples || mhz >= kLowClock * most->second)
    return all;
  std::string reason = "the reason is not known";
  uint64_t readings = 0;
  for (const auto& [bits, count] : throttled) readings += count;
  for (const auto& [bit, text] : kReasons) {
    uint64_t with = 0;
    for (const auto& [bits, count] : throttled) with += (bits & bit) != 0 ? count : 0;
    if (2 * with <= readings) continue;
    reason = text;
    break;
  }
  all.push_back(base::format("clock {} of {} MHz: {} ({})", base::count_text(static_cast<uint64_t>(mhz + 0.5)),
                             base::count_text(static_cast<uint64_t>(most->second)), reason,
                             base::count_of(clock->count, "reading")));
  return all;
}

std::vector<GpuUse> gpu_use(EventWalk& walk, const DeviceWork& work, const Intervals& window) {
  std::vector<GpuUse> uses;
  std::map<std::string, RecordedCounters> recorded = read_counters(walk);
  if (recorded.empty()) return uses;
  for (const Device& device : work.devices) {
    const std::string& id = walk.tracks()[device.operations.front().track].track->device_uuid;
    const auto found = recorded.find(id);
    if (found == recorded.end()) continue;
    add_sensors(device, window, found->second);
    give_to_kernels(walk, device, window, found->second);
    add_launches(walk, id, found->second.use);
    uses.push_back(std::move(found->second.use));
  }
  return uses;
}

std::vector<GpuUse> gpu_use(const trace::Reader& reader) {
  if (std::ranges::none_of(reader.writers(), [](const auto& writer) { return is_of_counters(writer.second); }))
    return {};
  EventWalk walk(reader);
  return gpu_use(walk, read_device_work(walk), Intervals({{walk.first_ns(), later(walk.last_ns(), 1)}}));
}

}  // namespace kymo::analyze
