#include "call_texts.h"

#include <torch/csrc/jit/runtime/interpreter.h>

#include <algorithm>
#include <functional>
#include <span>

#include "inputs.h"
#include "kymo/edge_engine.h"
#include "source_frames.h"
#include "torch_module.h"

namespace kymo::libtorch {

namespace {

// A record has 4 KiB. Longer texts end in "…".
constexpr size_t kLongestShapes = 768, kLongestTypes = 384, kLongestHierarchy = 512, kLongestScriptStack = 512;
constexpr std::string_view kCut = "…";

void cut(std::string& text, size_t longest) {
  if (text.size() <= longest) return;
  text.resize(longest - kCut.size());
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80) != 0) text.pop_back();
  text += kCut;
}

std::string_view view_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void put_into_words(CallTexts& call, std::string_view name, std::span<const std::byte> inputs) {
  call.name.clear();  // the entry is not valid until all of it is set
  call.inputs.assign(inputs.begin(), inputs.end());
  edge::InputTexts texts = edge::input_texts(inputs);
  cut(texts.sizes, kLongestShapes);
  cut(texts.types, kLongestTypes);
  call.shapes = std::move(texts.sizes);
  call.types = std::move(texts.types);
  call.flops = edge::count_flops(name, inputs).value_or(0);
  call.name = name;
}

}  // namespace

KnownCalls::KnownCalls() : places_(std::make_unique<CallTexts[]>(kPlaces)) {}
KnownCalls::~KnownCalls() = default;

const CallTexts* KnownCalls::find(const at::RecordFunction& call, std::string_view name) noexcept try {
  edge::Inputs inputs;
  edge::put_inputs(edge::CallReader().arguments(call), inputs);
  if (inputs.count() == 0 || !inputs.whole()) return nullptr;
  const std::string_view bytes = view_of(inputs.bytes());
  const size_t hash = std::hash<std::string_view>()(name) * 31 + std::hash<std::string_view>()(bytes);
  CallTexts& place = places_[hash % kPlaces];
  if (place.name != name || view_of(place.inputs) != bytes) put_into_words(place, name, inputs.bytes());
  return &place;
} catch (const std::bad_alloc&) {
  return nullptr;
}

std::string module_hierarchy(std::string_view name) noexcept try {
  std::string text = edge::hierarchy_text(torch::jit::currentModuleHierarchy());
  if (text.empty()) return text;
  text.append(".").append(name);
  cut(text, kLongestHierarchy);
  return text;
} catch (const std::exception&) {
  return {};
}

std::string script_stack() noexcept try {
  std::string text = edge::frames_text(torch::jit::currentCallstack());
  cut(text, kLongestScriptStack);
  return text;
} catch (const std::exception&) {
  return {};
}

}  // namespace kymo::libtorch
