#include "import/perfetto_samples.h"

#include <algorithm>

#include "base/text.h"
#include "import/perfetto_message.h"

namespace kymo::import {

using namespace perfetto;

namespace {

constexpr size_t kMostFrames = 1024;

std::string path_of(const PerfettoSequence& sequence, uint64_t mapping) {
  const auto parts = sequence.mappings.find(mapping);
  std::string path;
  if (parts == sequence.mappings.end()) return path;
  for (const uint64_t part : parts->second) {
    const std::string* const text = PerfettoSequence::find(sequence.mapping_paths, part);
    if (text == nullptr || text->empty()) continue;
    // Other tools store each folder of a path by itself, without slashes.
    if (parts->second.size() > 1) path += '/';
    path += *text;
  }
  return path;
}

}  // namespace

std::vector<ImportedFrame> PerfettoSamples::frames_of(const PerfettoSequence& sequence, uint64_t callstack) {
  std::vector<ImportedFrame> frames;
  const auto stack = sequence.callstacks.find(callstack);
  if (stack == sequence.callstacks.end()) return frames;
  texts_.clear();
  texts_.reserve(2 * std::min(stack->second.size(), kMostFrames));  // their addresses must not change
  for (auto id = stack->second.rbegin(); id != stack->second.rend() && frames.size() < kMostFrames; ++id) {
    const auto known = sequence.frames.find(*id);
    if (known == sequence.frames.end()) continue;
    const std::string& module = texts_.emplace_back(path_of(sequence, known->second.mapping));
    const std::string* const name = PerfettoSequence::find(sequence.function_names, known->second.function);
    const bool is_named = name != nullptr && !name->empty();
    const std::string& function =
        is_named
            ? *name
            : texts_.emplace_back(base::format("{}+{:#x}", module.substr(module.rfind('/') + 1), known->second.offset));
    frames.push_back({.function = function, .file = {}, .line = 0, .module = module});
  }
  return frames;
}

void PerfettoSamples::add(const PerfettoSequence& sequence, int64_t time, std::string_view perf_sample) {
  uint64_t pid = 0, tid = 0, callstack = 0;
  Fields fields(perf_sample);
  for (Field field; fields.next(field);) {
    if (!field.is_number()) continue;
    if (field.tag == perf_sample::kPid) pid = static_cast<uint32_t>(field.number);
    if (field.tag == perf_sample::kTid) tid = static_cast<uint32_t>(field.number);
    if (field.tag == perf_sample::kCallstack) callstack = field.number;
  }
  if (callstack == 0) {
    ++without_stack_;
    return;
  }
  if (period_ns_ == 0) period_ns_ = sequence.sample_period_ns;
  const uint32_t track = rows_.track(rows_.thread(pid, tid));
  const uint32_t stack = builder_.stack(track, frames_of(sequence, callstack));
  values_.assign(1, {"node", trace::FieldType::UInt, 0, 0, {}});
  builder_.point(track, time, trace::PointKind::Sample, stack, {"sample", "cpu", &values_});
}

void PerfettoSamples::finish() {
  constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
  if (period_ns_ == 0 || builder_.process_count() == 0) return;
  builder_.process(0).metadata.emplace_back("sampling", base::format("{} Hz", kNanosecondsPerSecond / period_ns_));
}

}  // namespace kymo::import
