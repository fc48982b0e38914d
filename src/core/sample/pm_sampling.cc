#include "sample/pm_sampling.h"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

#include "base/cupti_reason.h"
#include "base/text.h"
#include "kymo/error.h"
#include "sample/pm_sampling_abi.h"

namespace kymo::sample {

namespace {

constexpr int kOutOfMemory = 8, kHardwareBusy = 26, kInsufficientRights = 35;
constexpr uint32_t kPmSampling = 1, kByTime = 1, kByCycles = 0;
constexpr uint64_t kFewestDecoded = 64, kMostDecoded = 4096;  // samples at a time: each needs 26 kB on GH100
constexpr size_t kBufferBytes = size_t{64} << 20;

const GpuCounter kDefaults[] = {
    {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "multiprocessors active [%]"},
    {"sm__warps_active_realtime.avg.pct_of_peak_sustained_elapsed", "warps active [%]"},
    {"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", "tensor cores active [%]"},
    {"dram__read_throughput.avg.pct_of_peak_sustained_elapsed", "DRAM read [%]"},
    {"dram__write_throughput.avg.pct_of_peak_sustained_elapsed", "DRAM written [%]"},
    {"sm__inst_executed_realtime.avg.per_cycle_active", "instructions per cycle"},
    {"sm__cycles_elapsed.avg.per_second", "SM cycles per second"},
    // For the roofline. Chips call them differently: the first one that is accepted counts.
    {"TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_elapsed", "FMA pipe active [%]"},
    {"TPC.TriageCompute.sm__pipe_fma_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", "FMA pipe active [%]"},
    {"sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_elapsed", "FMA pipe active [%]"},
    {"TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
     "FP64 pipe active [%]"},
};

// Null for a counter that the user has named.
const char* default_name(const std::string& metric) {
  for (const GpuCounter& one : kDefaults)
    if (one.metric == metric) return one.name.c_str();
  return nullptr;
}

// Calls a function of the library with a structure. The size that CUPTI expects ends with the last member.
template <class Parameters, class Last>
int cupti_call(void* cupti, const char* name, Parameters& parameters, Last Parameters::*last) {
  const auto function = reinterpret_cast<int (*)(Parameters*)>(dlsym(cupti, name));
  if (function == nullptr) throw NotAvailable("libcupti.so of the program is older than CUDA 12.6");
  const auto* const begin = reinterpret_cast<const char*>(&parameters);
  parameters.size = static_cast<size_t>(reinterpret_cast<const char*>(&(parameters.*last)) - begin) + sizeof(Last);
  return function(&parameters);
}

void require_success(const char* what, int result) {
  if (result != 0) throw NotAvailable(base::format("{}: {}", what, base::cupti_reason(result)));
}

std::vector<const char*> metric_names(const std::vector<GpuCounter>& counters) {
  std::vector<const char*> names;
  for (const GpuCounter& one : counters) names.push_back(one.metric.c_str());
  return names;
}

// "pcie__read_bytes.sum [byte]"
std::string shown_name(void* cupti, void* host, const std::string& metric) {
  if (const char* const name = default_name(metric)) return name;
  const std::string short_name = metric.substr(0, metric.find('.'));
  if (metric.find(".pct") != metric.npos) return short_name + " [%]";
  if (metric.find(".per_") != metric.npos) return metric;
  cupti::Properties properties{};
  properties.host = host;
  properties.name = metric.c_str();
  const int result = cupti_call(cupti, "cuptiProfilerHostGetMetricProperties", properties, &cupti::Properties::kind);
  if (result != 0 || properties.unit == nullptr || *properties.unit == '\0') return metric;
  return base::format("{} [{}]", metric, properties.unit);
}

}  // namespace

CounterSet::CounterSet(void* cupti, std::string_view chip, const std::vector<uint8_t>& availability,
                       const std::vector<std::string>& wanted)
    : cupti_(cupti), chip_(chip), availability_(availability) {
  std::vector<std::string> names = wanted;
  if (names.empty())
    for (const GpuCounter& one : kDefaults) names.push_back(one.metric);
  const auto has_name_of = [this](const std::string& metric) {
    const char* const name = default_name(metric);
    return name != nullptr && std::ranges::any_of(counters_, [&](const GpuCounter& one) {
             const char* const other = default_name(one.metric);
             return other != nullptr && std::string_view(other) == name;
           });
  };
  for (const std::string& name : names) {
    if (has_name_of(name)) continue;
    std::vector<std::string> forms{name};
    if (name.find('.') == name.npos) forms = {name + ".avg.pct_of_peak_sustained_elapsed", name + ".sum"};
    const auto is_accepted = [this](const std::string& form) {
      std::vector<GpuCounter> more = counters_;
      more.push_back({form, form});
      if (!accepts(more)) return false;
      counters_ = std::move(more);
      return true;
    };
    if (std::ranges::none_of(forms, is_accepted)) refused_.push_back(name);
  }
  if (counters_.empty())
    throw NotAvailable(base::format("{} has none of these: {}", chip_, base::join(refused_, ", ")));
  if (!accepts(counters_)) throw NotAvailable("CUPTI refuses them");  // the last one asked was refused
  for (GpuCounter& one : counters_) one.name = shown_name(cupti_, host_, one.metric);
}

CounterSet::~CounterSet() {
  cupti::HostDeinitialize end{};
  end.host = host_;
  if (host_ != nullptr) cupti_call(cupti_, "cuptiProfilerHostDeinitialize", end, &cupti::HostDeinitialize::host);
}

// A host object keeps what was added, so each question needs a new one.
bool CounterSet::accepts(const std::vector<GpuCounter>& together) {
  cupti::HostDeinitialize end{};
  end.host = std::exchange(host_, nullptr);
  if (end.host != nullptr) cupti_call(cupti_, "cuptiProfilerHostDeinitialize", end, &cupti::HostDeinitialize::host);
  cupti::HostInitialize begin{};
  begin.kind = kPmSampling;
  begin.chip = chip_.c_str();
  begin.availability = availability_.empty() ? nullptr : availability_.data();
  require_success(chip_.c_str(),
                  cupti_call(cupti_, "cuptiProfilerHostInitialize", begin, &cupti::HostInitialize::host));
  host_ = begin.host;
  std::vector<const char*> names = metric_names(together);
  cupti::AddMetrics add{};
  add.host = host_;
  add.names = names.data();
  add.count = names.size();
  if (cupti_call(cupti_, "cuptiProfilerHostConfigAddMetrics", add, &cupti::AddMetrics::count) != 0) return false;
  cupti::ConfigSize size{};
  size.host = host_;
  if (cupti_call(cupti_, "cuptiProfilerHostGetConfigImageSize", size, &cupti::ConfigSize::bytes) != 0) return false;
  config_.resize(size.bytes);
  cupti::Config config{};
  config.host = host_;
  config.bytes = config_.size();
  config.image = config_.data();
  if (cupti_call(cupti_, "cuptiProfilerHostGetConfigImage", config, &cupti::Config::image) != 0) return false;
  cupti::Passes passes{};
  passes.bytes = config_.size();
  passes.image = config_.data();
  return cupti_call(cupti_, "cuptiProfilerHostGetNumOfPasses", passes, &cupti::Passes::passes) == 0 &&
         passes.passes == 1;
}

void CounterSet::evaluate(const std::vector<uint8_t>& image, size_t sample, std::vector<double>& values) const {
  std::vector<const char*> names = metric_names(counters_);
  values.assign(names.size(), 0);
  cupti::Evaluate one{};
  one.host = host_;
  one.image = image.data();
  one.bytes = image.size();
  one.sample = sample;
  one.names = names.data();
  one.count = names.size();
  one.values = values.data();
  require_success("a sample",
                  cupti_call(cupti_, "cuptiProfilerHostEvaluateToGpuValues", one, &cupti::Evaluate::values));
}

PmSampling::PmSampling(void* cupti, size_t device, uint64_t interval_ns, const std::vector<std::string>& wanted)
    : cupti_(cupti) {
  cupti::Head nothing{};
  cupti_call(cupti_, "cuptiProfilerInitialize", nothing, &cupti::Head::reserved);
  cupti::ChipName chip{};
  chip.device = device;
  require_success("the chip", cupti_call(cupti_, "cuptiDeviceGetChipName", chip, &cupti::ChipName::name));
  const std::string name = chip.name;
  cupti::Availability available{};
  available.device = device;
  const auto ask = [&] {
    return cupti_call(cupti_, "cuptiPmSamplingGetCounterAvailability", available, &cupti::Availability::image);
  };
  require_success("which counters there are", ask());
  availability_.resize(available.bytes);
  available.image = availability_.data();
  require_success("which counters there are", ask());
  set_ = std::make_unique<CounterSet>(cupti_, name, availability_, wanted);

  cupti::Enable enable{};
  enable.device = device;
  require_success("PM sampling", cupti_call(cupti_, "cuptiPmSamplingEnable", enable, &cupti::Enable::object));
  object_ = enable.object;
  try {
    cupti::SetConfig config{};
    config.object = object_;
    config.bytes = set_->config().size();
    config.config = set_->config().data();
    config.buffer_bytes = kBufferBytes;
    config.interval = interval_ns;
    config.trigger = kByTime;
    const auto set = [&] { return cupti_call(cupti_, "cuptiPmSamplingSetConfig", config, &cupti::SetConfig::append); };
    int result = set();
    if (result != 0 && result != kInsufficientRights && result != kHardwareBusy) {
      config.trigger = kByCycles;  // Turing and GA100 know no time: at 1.5 GHz
      config.interval = interval_ns + interval_ns / 2;
      result = set();
    }
    require_success("PM sampling", result);
    std::vector<const char*> names = metric_names(set_->counters());
    cupti::DataSize size{};
    size.object = object_;
    size.names = names.data();
    size.count = names.size();
    const uint64_t of_two_reads = 2 * kGpuReadsMs * 1'000'000 / std::max<uint64_t>(interval_ns, 1);
    size.most_samples = static_cast<uint32_t>(std::clamp(of_two_reads, kFewestDecoded, kMostDecoded));
    require_success("PM sampling",
                    cupti_call(cupti_, "cuptiPmSamplingGetCounterDataSize", size, &cupti::DataSize::bytes));
    image_.resize(size.bytes);
    reset_image();
    cupti::OfObject start{};
    start.object = object_;
    require_success("PM sampling", cupti_call(cupti_, "cuptiPmSamplingStart", start, &cupti::OfObject::object));
    is_running_ = true;
  } catch (...) {
    disable();
    throw;
  }
}

PmSampling::~PmSampling() { disable(); }

void PmSampling::disable() {
  stop();
  cupti::OfObject end{};
  end.object = object_;
  cupti_call(cupti_, "cuptiPmSamplingDisable", end, &cupti::OfObject::object);
}

void PmSampling::stop() {
  cupti::OfObject end{};
  end.object = object_;
  if (std::exchange(is_running_, false)) cupti_call(cupti_, "cuptiPmSamplingStop", end, &cupti::OfObject::object);
}

void PmSampling::reset_image() {
  cupti::DataInitialize data{};
  data.object = object_;
  data.bytes = image_.size();
  data.image = image_.data();
  require_success("PM sampling",
                  cupti_call(cupti_, "cuptiPmSamplingCounterDataImageInitialize", data, &cupti::DataInitialize::image));
}

bool PmSampling::read(const Visit& visit) {
  constexpr uint32_t kImageIsFull = 1;
  std::vector<double> values;
  cupti::Decode decode{};
  bool is_whole = true;
  do {
    decode = {};
    decode.object = object_;
    decode.image = image_.data();
    decode.bytes = image_.size();
    const int result = cupti_call(cupti_, "cuptiPmSamplingDecodeData", decode, &cupti::Decode::overflow);
    if (result == kOutOfMemory) {  // so CUPTI 13 says that the GPU's buffer was full, at 20 kHz
      reset_image();
      return false;
    }
    require_success("samples", result);
    is_whole = is_whole && decode.overflow == 0;
    cupti::DataInfo info{};
    info.image = image_.data();
    info.bytes = image_.size();
    require_success("samples",
                    cupti_call(cupti_, "cuptiPmSamplingGetCounterDataInfo", info, &cupti::DataInfo::completed));
    for (size_t i = 0; i < info.completed; ++i) {
      cupti::SampleInfo sample{};
      sample.object = object_;
      sample.image = image_.data();
      sample.bytes = image_.size();
      sample.sample = i;
      require_success("samples",
                      cupti_call(cupti_, "cuptiPmSamplingCounterDataGetSampleInfo", sample, &cupti::SampleInfo::end));
      if (!std::exchange(has_first_, true) || sample.end <= sample.begin) continue;  // the first one has no begin
      set_->evaluate(image_, i, values);
      visit(sample.begin, sample.end, values);
    }
    if (info.completed != 0) reset_image();
  } while (decode.stop_reason == kImageIsFull);
  return is_whole;
}

}  // namespace kymo::sample
