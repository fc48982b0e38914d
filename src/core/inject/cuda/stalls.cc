#include "inject/cuda/stalls.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/cupti_reason.h"
#include "base/print.h"
#include "inject/cuda/queues.h"
#include "kymo/annotate.h"
#include "record/interfaces.h"

namespace kymo::inject::cuda {
namespace {

constexpr Result kNoFunction = -1;
constexpr size_t kRecords = 8192, kReasonBytes = 128, kMostReads = 1000;
constexpr size_t kMostInstructions = 200;  // of a kernel: the rest is one row of it

template <class Parameters>
Result call(void* cupti, const char* name, Parameters& parameters) noexcept {
  const auto function = reinterpret_cast<Result (*)(Parameters*)>(dlsym(cupti, name));
  return function != nullptr ? function(&parameters) : kNoFunction;
}

PcContext of(void* context) noexcept { return {sizeof(PcContext), nullptr, context}; }

// "smsp__pcsamp_warps_issue_stalled_long_scoreboard" is "long_scoreboard". Empty: samples in which the scheduler issued
// nothing at all, which are counted under another reason too.
std::string short_reason(std::string_view name) {
  constexpr std::string_view kBefore = "issue_stalled_";
  if (name.ends_with("_not_issued")) return "";
  const size_t at = name.find(kBefore);
  return std::string(at == name.npos ? name : name.substr(at + kBefore.size()));
}

}  // namespace

void Stalls::Buffer::make(size_t reasons_of_each) {
  records.assign(kRecords, PcRecord{});
  reasons.assign(kRecords * reasons_of_each, PcReason{});
  for (size_t i = 0; i < kRecords; ++i) {
    records[i].size = sizeof(PcRecord);
    records[i].reasons = &reasons[i * reasons_of_each];
  }
  samples = {};
  samples.size = sizeof(PcSamples);
  samples.capacity = kRecords;
  samples.records = records.data();
}

void Stalls::start(void* context) {
  const auto require = [&](Result result) {
    if (result != 0 && !std::exchange(has_said_, true))
      base::say_to_user("GPU stalls are not recorded: ",
                        result == kNoFunction ? "libcupti.so of the program is too old" : base::cupti_reason(result));
    return result == 0;
  };
  PcContext enable = of(context);
  if (!require(call(cupti_, "cuptiPCSamplingEnable", enable))) return;
  size_t count = 0;
  PcReasonCount how_many{sizeof(PcReasonCount), nullptr, context, &count};
  if (!require(call(cupti_, "cuptiPCSamplingGetNumStallReasons", how_many))) return;
  std::vector<uint32_t> numbers(count);
  std::vector<std::array<char, kReasonBytes>> texts(count);
  std::vector<char*> names;
  for (auto& one : texts) names.push_back(one.data());
  PcReasonNames ask{sizeof(PcReasonNames), nullptr, context, count, numbers.data(), names.data()};
  if (!require(call(cupti_, "cuptiPCSamplingGetStallReasons", ask))) return;
  auto made = std::make_unique<Context>();
  for (size_t i = 0; i < count; ++i) {
    const std::string name = short_reason(names[i]);
    if (name.empty()) continue;
    reasons_[numbers[i]] = name;
    made->wanted.push_back(numbers[i]);
  }
  made->rest.make(count);
  if (buffer_.records.empty()) buffer_.make(count);
  PcConfig config[3]{};
  config[0].attribute = PcAttribute::CollectionMode;
  config[0].number = kContinuous;
  config[1].attribute = PcAttribute::Reasons;
  config[1].reasons = {made->wanted.size(), made->wanted.data()};
  config[2].attribute = PcAttribute::Buffer;
  config[2].buffer = &made->rest.samples;
  PcConfigure configure{sizeof(PcConfigure), nullptr, context, std::size(config), config};
  if (!require(call(cupti_, "cuptiPCSamplingSetConfigurationAttribute", configure))) {
    PcContext disable = of(context);
    call(cupti_, "cuptiPCSamplingDisable", disable);
    return;
  }
  contexts_[context] = std::move(made);
}

void Stalls::count(const PcSamples& samples) {
  dropped_ += samples.dropped;
  for (size_t i = 0; i < std::min(samples.count, samples.capacity); ++i) {
    const PcRecord& one = samples.records[i];
    if (one.function == nullptr) continue;
    auto& counts = counts_[{one.cubin, one.function, one.offset}];
    for (size_t reason = 0; reason < one.reason_count; ++reason)
      counts[one.reasons[reason].number] += one.reasons[reason].samples;
  }
}

// What CUPTI has decoded so far.
void Stalls::read(void* context) {
  for (size_t i = 0; i < kMostReads; ++i) {
    buffer_.samples.count = buffer_.samples.remaining = 0;
    PcRead get{sizeof(PcRead), nullptr, context, &buffer_.samples};
    if (call(cupti_, "cuptiPCSamplingGetData", get) != 0) return;
    count(buffer_.samples);
    if (buffer_.samples.remaining == 0) return;
  }
}

void Stalls::end(void* context) {
  const auto found = contexts_.find(context);
  if (found == contexts_.end()) return;
  read(context);
  found->second->rest.samples.count = 0;
  PcContext disable = of(context);
  if (call(cupti_, "cuptiPCSamplingDisable", disable) == 0) count(found->second->rest.samples);
  contexts_.erase(found);
}

void Stalls::context_created(void* context) noexcept try {
  const std::lock_guard lock(mutex_);
  start(context);
} catch (...) {  // no memory: this context is not sampled
}

void Stalls::context_ends(void* context) noexcept try {
  const std::lock_guard lock(mutex_);
  end(context);
} catch (...) {
}

// Offsets of instructions are those of the modules that were loaded before, so they are read first.
void Stalls::module_loaded(void* context, const Module& module) noexcept try {
  const std::lock_guard lock(mutex_);
  if (contexts_.contains(context)) read(context);
  const std::string_view image(static_cast<const char*>(module.cubin), module.bytes);
  if (image.find(".debug_line") == image.npos) return;
  CubinNumber number{sizeof(CubinNumber), module.bytes, module.cubin, 0};
  if (call(cupti_, "cuptiGetCubinCrc", number) == 0) cubins_.try_emplace(number.number, image);
} catch (...) {
}

std::string Stalls::line_of(const Place& place) const {
  const auto& [cubin, function, offset] = place;
  const auto found = cubins_.find(cubin);
  if (found == cubins_.end()) return "";
  CubinLine line{
      sizeof(CubinLine), found->second.data(), function.c_str(), found->second.size(), 0, offset, nullptr, nullptr};
  if (call(cupti_, "cuptiGetSassToSourceCorrelation", line) != 0) return "";
  const std::unique_ptr<char, void (*)(void*)> file(line.file, free), folder(line.folder, free);
  if (file == nullptr || *file == '\0' || line.line == 0) return "";
  std::string text = file.get();
  if (folder != nullptr && *folder != '\0' && text[0] != '/') text = std::string(folder.get()) + "/" + text;
  return text + ":" + std::to_string(line.line);
}

void Stalls::write() {
  std::map<std::string, std::vector<const decltype(counts_)::value_type*>> kernels;
  for (const auto& one : counts_) kernels[std::get<1>(one.first)].push_back(&one);
  for (auto& [function, rows] : kernels) {
    const auto samples_of = [](const auto* row) {
      uint64_t sum = 0;
      for (const auto& [reason, samples] : row->second) sum += samples;
      return sum;
    };
    std::ranges::stable_sort(rows, std::ranges::greater(), samples_of);
    const std::string name = readable_name(function);
    const Label label(name, "gpu stall");
    std::map<uint32_t, uint64_t> rest;
    const auto add = [&](uint64_t offset, const std::string& line, const std::map<uint32_t, uint64_t>& counts) {
      for (const auto& [reason, samples] : counts)
        if (samples != 0)
          mark(label, arg("reason", reasons_[reason]), arg("samples", samples), arg("instruction", offset),
               arg("line", line));
    };
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i < kMostInstructions) {
        add(std::get<2>(rows[i]->first), line_of(rows[i]->first), rows[i]->second);
      } else {
        for (const auto& [reason, samples] : rows[i]->second) rest[reason] += samples;
      }
    }
    add(~uint64_t{0}, "", rest);
  }
  if (dropped_ != 0) record::add_interface(record::Interface::Cuda, 0, dropped_, 0);
  counts_.clear();
  dropped_ = 0;
}

void Stalls::finish() noexcept try {
  const std::lock_guard lock(mutex_);
  while (!contexts_.empty()) end(contexts_.begin()->first);
  write();
} catch (...) {  // no memory: what is left is missing
}

}  // namespace kymo::inject::cuda
