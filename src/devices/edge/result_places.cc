
#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "edge/result_builder.h"
#include "symbols/shared_symbols.h"

namespace kymo::edge {

namespace {

struct HandleAndName {
  int64_t handle;
  const char* name;  // equal texts are stored once, so addresses are compared
  bool operator==(const HandleAndName&) const = default;
};
struct HandleAndNameHash {
  size_t operator()(const HandleAndName& key) const {
    return (static_cast<uint64_t>(key.handle) ^ reinterpret_cast<uintptr_t>(key.name)) * 0x9e3779b97f4a7c15u >> 16;
  }
};

// Calls of the module that threw an exception.
struct Unanswered {
  uint64_t count = 0;
  std::string first;

  template <class Ask>
  std::string try_to(Ask ask) {
    try {
      return ask();
    } catch (const std::exception& error) {
      if (count++ == 0) first = error.what();
    } catch (...) {
      if (count++ == 0) first = "an exception that is not a std::exception";
    }
    return {};
  }
};

struct SameStack {
  bool operator()(std::span<const uintptr_t> one, std::span<const uintptr_t> other) const {
    return std::ranges::equal(one, other);
  }
};
struct StackHash {
  size_t operator()(std::span<const uintptr_t> stack) const { return base::hash(std::as_bytes(stack)); }
};

// Functions of Kymo and its engine interface: stacks begin in them, because they record the stack.
bool is_of_kymo(const symbols::Frame& frame) {
  static constexpr std::array<std::string_view, 2> kOwn = {"kymo::edge::", "kymo::symbols::"};
  if (frame.module.find("/libkymo_") != std::string::npos) return true;  // stripped, they have no names
  const std::string_view function = frame.function;
  return std::ranges::any_of(kOwn, [&](std::string_view own) {
    const size_t at = function.find(own);
    if (at == 0 || at == std::string_view::npos) return at == 0;
    // The result type of a function template comes before its name.
    return function[at - 1] == ' ' && function.substr(0, at).find_first_of("(<") == std::string_view::npos;
  });
}

std::vector<EdgeFrame> frames_of(std::span<const uintptr_t> addresses, symbols::Symbols& symbols) {
  std::vector<EdgeFrame> frames;
  bool of_kymo = true;
  for (const uintptr_t address : addresses) {
    for (const symbols::Frame& frame : symbols.at_return_address(address)) {
      of_kymo = of_kymo && is_of_kymo(frame);
      if (!of_kymo) frames.push_back({frame.function, frame.file, frame.module, frame.line, frame.inlined});
    }
  }
  return frames;
}

}  // namespace

void ResultBuilder::ask_module() {
  if (!options_.modules && !options_.stack) return;
  std::unordered_map<HandleAndName, std::string_view, HandleAndNameHash> hierarchies;
  std::unordered_map<int64_t, std::string_view> call_stacks;
  Unanswered no_hierarchy, no_call_stack;
  for (EdgeEvent& event : std::span(data_->events).first(data_->first_device_event)) {
    if (event.debug_handle == -1) continue;
    if (options_.modules) {
      const auto [found, is_new] = hierarchies.try_emplace({event.debug_handle, event.name.data()});
      if (is_new)
        found->second = data_->keep(
            no_hierarchy.try_to([&] { return module_.module_hierarchy(event.debug_handle, std::string(event.name)); }));
      event.module_hierarchy = found->second;
    }
    if (options_.stack) {
      const auto [found, is_new] = call_stacks.try_emplace(event.debug_handle);
      if (is_new)
        found->second = data_->keep(no_call_stack.try_to([&] { return module_.call_stack(event.debug_handle); }));
      event.call_stack = found->second;
    }
  }
  const auto add_loss = [&](const Unanswered& unanswered, std::string_view what) {
    if (unanswered.count == 0) return;
    data_->losses.push_back(base::format("the module was asked {} time{} for {} and threw: {}", unanswered.count,
                                         unanswered.count == 1 ? "" : "s", what, unanswered.first));
  };
  add_loss(no_hierarchy, "the place of an operation");
  add_loss(no_call_stack, "the call stack of an operation");
}

void ResultBuilder::name_stacks() {
  if (!options_.stack) return;
  std::unordered_map<std::span<const uintptr_t>, uint32_t, StackHash, SameStack> known;
  std::optional<symbols::SharedSymbols> symbols;
  for (size_t which = 0; which < log_.threads.size(); ++which) {
    const ThreadLog& log = *log_.threads[which];
    std::vector<uint32_t> now(log.stacks.size(), EdgeEvent::kNone);  // the index of each stack in the result
    for (uint32_t at = 0; at < log.operations.size(); ++at) {
      const uint32_t stack = log.extras_of(log.operations[at]).stack;
      if (stack >= now.size()) continue;
      if (now[stack] == EdgeEvent::kNone) {
        const std::span<const uintptr_t> addresses = log.addresses.run(log.stacks[stack].at, log.stacks[stack].count);
        if (addresses.empty()) continue;
        const auto [found, is_new] = known.try_emplace(addresses, static_cast<uint32_t>(data_->stacks.size()));
        if (is_new) {
          if (!symbols) symbols.emplace();
          data_->stacks.push_back(frames_of(addresses, **symbols));
        }
        now[stack] = found->second;
      }
      data_->events[threads_[which].of(at)].stack = now[stack];
    }
  }
}

}  // namespace kymo::edge
