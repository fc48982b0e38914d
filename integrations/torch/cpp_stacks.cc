#include "cpp_stacks.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "of_thread.h"
#include "symbols/capture.h"
#include "symbols/symbols.h"

namespace kymo::libtorch {

namespace {

constexpr size_t kDeepest = 64;
constexpr size_t kLongestText = 1200;    // of the 4 KiB of a record
constexpr size_t kLongestFunction = 96;  // templates of libtorch have names of a thousand characters

using Addresses = std::span<const uintptr_t>;

// "at::_ops::addmm::call": without the parameters and the template arguments.
std::string short_name(std::string_view function) {
  static constexpr std::string_view kAnonymous = "(anonymous namespace)", kCall = "operator()", kConst = " const";
  if (function.ends_with(kConst)) function.remove_suffix(kConst.size());
  std::string name;
  int depth = 0;  // of nested brackets
  for (size_t i = 0; i < function.size(); ++i) {
    const std::string_view rest = function.substr(i);
    const std::string_view whole = rest.starts_with(kAnonymous) ? kAnonymous : rest.starts_with(kCall) ? kCall : "";
    if (!whole.empty()) {
      if (depth == 0) name += whole;
      i += whole.size() - 1;
      continue;
    }
    const char letter = function[i];
    const bool opens = letter == '<' || letter == '(', closes = letter == '>' || letter == ')';
    if (opens) ++depth;
    if (depth == 0 && letter == ' ' && !name.ends_with("operator"))
      name.clear();  // it was the result type of a template
    else if (depth == 0)
      name += letter;
    if (closes && depth > 0) --depth;
  }
  if (name.size() > kLongestFunction) name.resize(kLongestFunction);
  return name;
}

// The data that all threads share. Names stay valid while the process runs.
class FrameTexts {
 public:
  // The frames of a return address, joined.
  const std::string& at(uintptr_t address) {
    const auto [found, is_new] = texts_.try_emplace(address);
    if (is_new) found->second = text_of(address);
    return found->second;
  }
  std::mutex mutex;  // the caller holds it

 private:
  std::string text_of(uintptr_t address) {
    std::string text;
    for (const symbols::Frame& frame : symbols_.at_return_address(address)) {
      if (!text.empty()) text += ';';
      text += short_name(frame.function);
      if (!frame.file.empty())
        text += " (" + frame.file.substr(frame.file.rfind('/') + 1) + ":" + std::to_string(frame.line) + ")";
    }
    return text;
  }

  symbols::Symbols symbols_;
  std::unordered_map<uintptr_t, std::string> texts_;
};

FrameTexts& frame_texts() {
  static auto* const texts = new FrameTexts;
  return *texts;
}

// Leaves out the frames between libtorch and this code.
size_t first_of_interest(FrameTexts& texts, Addresses addresses) {
  constexpr size_t kMaxOwnFrames = 8;
  size_t first = 0;
  for (size_t i = 0; i < std::min(addresses.size(), kMaxOwnFrames); ++i)
    if (texts.at(addresses[i]).starts_with("at::RecordFunction::")) first = i + 1;
  return first;
}

std::string stack_text(Addresses addresses) {
  FrameTexts& texts = frame_texts();
  const std::lock_guard lock(texts.mutex);
  std::string text;
  for (const uintptr_t address : addresses.subspan(first_of_interest(texts, addresses))) {
    const std::string& frame = texts.at(address);
    if (frame.empty()) continue;
    if (text.size() + frame.size() + 4 > kLongestText) return text + ";…";
    if (!text.empty()) text += ';';
    text += frame;
  }
  return text;
}

class RecentStacks {
 public:
  RecentStacks() : places_(std::make_unique<Place[]>(kPlaces)) {}

  const std::string& text_of(Addresses addresses) {
    uint64_t hash = addresses.size();
    for (const uintptr_t address : addresses) hash = (hash ^ address) * 0x9e3779b97f4a7c15u;
    Place& place = places_[hash >> 56];
    static_assert(kPlaces == 256);
    if (place.text.empty() || !std::ranges::equal(place.addresses, addresses)) {
      place.text.clear();
      place.addresses.assign(addresses.begin(), addresses.end());
      place.text = stack_text(addresses);
    }
    return place.text;
  }

 private:
  static constexpr size_t kPlaces = 256;
  struct Place {
    std::vector<uintptr_t> addresses;
    std::string text;
  };
  std::unique_ptr<Place[]> places_;
};

}  // namespace

void prepare_cpp_stacks() noexcept try {
  std::array<uintptr_t, kDeepest> found;
  const size_t count = symbols::capture(found, 0, symbols::chosen_method());
  stack_text({found.data(), count});  // loads the symbols of the C library and of Kymo itself
  const auto of_libtorch = reinterpret_cast<uintptr_t>(&at::clearCallbacks);
  stack_text({&of_libtorch, 1});
} catch (const std::exception&) {
}

const std::string* cpp_stack() noexcept try {
  RecentStacks* const recent = OfThread<RecentStacks>::get();
  if (recent == nullptr) return nullptr;
  std::array<uintptr_t, kDeepest> found;
  const size_t count = symbols::capture(found, 1, symbols::chosen_method());
  const std::string& text = recent->text_of({found.data(), count});
  return text.empty() ? nullptr : &text;
} catch (const std::exception&) {
  return nullptr;
}

}  // namespace kymo::libtorch
