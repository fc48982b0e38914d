// The arguments of an event in a Chrome file, besides its name and times, with Kineto's keys. docs/edge.md lists them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "convert/chrome_writer.h"
#include "edge/input_texts.h"
#include "edge/result_data.h"

namespace kymo::edge {

// Texts of a result in quotes, each escaped once: events share them.
class QuotedTexts {
 public:
  // `text` must stay at its address while this object lives.
  const std::string& of(std::string_view text) {
    std::string& quoted = quoted_[{text.data(), text.size()}];
    if (quoted.empty()) quote(quoted, text);
    return quoted;
  }

 private:
  struct Key {
    const char* data;
    size_t size;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return (reinterpret_cast<uintptr_t>(key.data) ^ key.size << 48) * 0x9E3779B97F4A7C15u >> 16;
    }
  };
  static void quote(std::string& quoted, std::string_view text);

  std::unordered_map<Key, std::string, Hash> quoted_;
};

class ChromeArgs {
 public:
  using Args = convert::KinetoChromeWriter::Args;

  // `base_ns` is the start of the times in the file.
  ChromeArgs(const ResultData& result, uint64_t base_ns);

  void append(Args& args, const EdgeEvent& event, uint32_t index, bool on_device, uint64_t device_pid);
  void append(Args& args, const EdgeAllocation& allocation, uint64_t index);

  const std::string& in_quotes(std::string_view text) { return quoted_.of(text); }

 private:
  void append_identity(Args& args, const EdgeEvent& event, uint32_t index, bool on_device, uint64_t device_pid);
  void append_inputs(Args& args, const EdgeEvent& event);
  void append_place(Args& args, const EdgeEvent& event);
  void append_counts(Args& args, const EdgeEvent& event);
  void append_stack(Args& args, const EdgeEvent& event);
  void append_times(Args& args, const EdgeEvent& event);

  const ResultData& result_;
  const uint64_t base_ns_;
  QuotedTexts quoted_;
  InputTextCache inputs_;
  struct CounterKeys {
    std::string inclusive, exclusive, scaled;  // escaped, without quotes
  };
  std::vector<CounterKeys> counter_keys_;
  std::vector<std::string> stacks_;  // by EdgeEvent::stack, in quotes; empty: not created yet
};

}  // namespace kymo::edge
