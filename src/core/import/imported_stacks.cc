#include <algorithm>

#include "import/trace_builder.h"
#include "import/value_bytes.h"

namespace kymo::import {
namespace {

constexpr size_t kLongestFrameText = 4096;
constexpr size_t kStacksPerChunk = 512;

}  // namespace

uint32_t ImportedStacks::module(std::string_view path) {
  if (path.empty()) return 0;
  const auto [known, is_new] = module_ids_.try_emplace(std::string(path.substr(0, kLongestFrameText)),
                                                       static_cast<uint32_t>(modules_.size() + 1));
  if (is_new) {
    trace::Module& made = modules_.emplace_back();
    made.id = known->second;
    made.path = known->first;
  }
  return known->second;
}

uint32_t ImportedStacks::number_of(uint32_t track, std::span<const ImportedFrame> frames) {
  if (frames.empty()) return 0;
  std::string key;
  trace::Stack stack;
  for (const ImportedFrame& frame : frames) {
    const std::string_view function = frame.function.substr(0, kLongestFrameText),
                           file = frame.file.substr(0, kLongestFrameText);
    const uint32_t of = module(frame.module);
    key_.clear();
    put_varint(key_, of);
    put_varint(key_, frame.line);
    put_varint(key_, function.size());
    key_.append(function).append(file);
    const auto [known, is_new] = frame_ids_.try_emplace(key_, static_cast<uint32_t>(frames_.size() + 1));
    if (is_new) frames_.push_back({known->second, of, 0, std::string(function), std::string(file), frame.line});
    stack.frames.push_back(known->second);
    put_varint(key, known->second);
  }
  const auto [known, is_new] = stack_ids_.try_emplace(key, static_cast<uint32_t>(stacks_.size() + 1));
  if (is_new) {
    stack.id = known->second;
    stacks_.push_back(std::move(stack));
  }
  used_[track].insert(known->second);
  return known->second;
}

void ImportedStacks::write(trace::Writer& writer, const trace::WriterId& id, std::span<const uint32_t> tracks) const {
  std::set<uint32_t> numbers, written, written_modules;
  for (const uint32_t track : tracks)
    if (const auto used = used_.find(track); used != used_.end())
      numbers.insert(used->second.begin(), used->second.end());
  std::vector<trace::Stack> stacks;
  std::vector<trace::Frame> frames;
  std::vector<trace::Module> modules;
  const auto flush = [&] {
    if (!stacks.empty()) writer.stacks(id, modules, frames, stacks);
    stacks.clear();
    frames.clear();
    modules.clear();
  };
  for (const uint32_t number : numbers) {
    stacks.push_back(stacks_[number - 1]);
    for (const uint32_t frame : stacks.back().frames) {
      if (!written.insert(frame).second) continue;
      frames.push_back(frames_[frame - 1]);
      const uint32_t of = frames.back().module;
      if (of != 0 && written_modules.insert(of).second) modules.push_back(modules_[of - 1]);
    }
    if (stacks.size() == kStacksPerChunk) flush();
  }
  flush();
}

}  // namespace kymo::import
