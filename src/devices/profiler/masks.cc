#include "profiler/masks.h"

#include <charconv>
#include <optional>
#include <span>
#include <string>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::profiler {
namespace {

struct MaskWord {
  std::string_view word;
  uint32_t bits;
};

constexpr MaskWord kModeWords[] = {{"interval", kIntervals}, {"event", kEvents}};
constexpr MaskWord kSignpostWords[] = {
    {"all-events", kAllEvents},       {"all-intervals", kAllIntervals}, {"wait", kWait},
    {"schedule", kSchedule},          {"intervals", kIntervals},        {"events", kEvents},
    {"operations", kTraceOperations}, {"copies", kTraceCopies},         {"fallbacks", kTraceFallbacks}};
constexpr MaskWord kLogWords[] = {{"operations", kLogOperations},
                                  {"copies", kLogCopies},
                                  {"fallbacks", kLogFallbacks},
                                  {"statistics", kStatistics},
                                  {"operation-statistics", kOperationStatistics},
                                  {"copy-statistics", kCopyStatistics},
                                  {"fallback-statistics", kFallbackStatistics},
                                  {"gpu-time", kLogGpuTime},
                                  {"call-time", kLogCallTime},
                                  {"buffers", kLogBuffers}};

std::string to_lower_without_spaces(std::string_view text) {
  std::string plain;
  for (const char c : text)
    if (!base::is_space(c)) plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return plain;
}

std::string list_of(std::span<const MaskWord> words) {
  std::string list;
  for (const MaskWord& word : words) list += base::format("{}{}", list.empty() ? "" : ", ", word.word);
  return list;
}

// A number as in C.
std::optional<uint64_t> number_in(std::string_view text) {
  int radix = 10;
  if (text.starts_with("0x")) {
    radix = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    radix = 8;
    text.remove_prefix(1);
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, radix);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

uint32_t all_of(std::span<const MaskWord> words) {
  uint32_t bits = 0;
  for (const MaskWord& word : words) bits |= word.bits;
  return bits;
}

uint32_t bits_of(std::string_view token, std::span<const MaskWord> words, std::string_view variable) {
  for (const MaskWord& word : words)
    if (word.word == token) return word.bits;
  const uint32_t known = all_of(words);
  const auto number = number_in(token);
  if (!number)
    throw InvalidArgument(
        base::format("{}: \"{}\" is neither a number nor one of {}", variable, token, list_of(words)));
  if ((*number & ~uint64_t{known}) != 0) {
    throw InvalidArgument(base::format("{}: {} has unknown bits ({:#x}); valid bits: {:#x}, or {}", variable, token,
                                       *number & ~uint64_t{known}, known, list_of(words)));
  }
  return static_cast<uint32_t>(*number);
}

// Combines the bits of all tokens. Empty tokens are skipped.
template <class BitsOf>
uint32_t fold_tokens(std::string_view text, BitsOf&& token_bits) {
  uint32_t bits = 0;
  for (const std::string& token : base::split(to_lower_without_spaces(text), ','))
    if (!token.empty()) bits |= token_bits(token);
  return bits;
}

}  // namespace

uint32_t parse_mode(std::string_view text) {
  const uint32_t bits = fold_tokens(text, [&](std::string_view token) {
    for (const MaskWord& word : kModeWords)
      if (word.word == token) return word.bits;
    throw InvalidArgument(
        base::format("\"{}\" is not a mode of the profiler: use interval, event, or interval,event", token));
  });
  if (bits == 0) throw InvalidArgument("the mode of the profiler is empty: use interval, event, or interval,event");
  return bits | kTraceAll;
}

uint32_t parse_signposts(std::string_view text) {
  uint32_t bits =
      fold_tokens(text, [](std::string_view token) { return bits_of(token, kSignpostWords, "KYMO_SIGNPOSTS"); });
  if ((bits & kAllEvents) != 0) bits |= kEvents | kTraceAll;
  if ((bits & kAllIntervals) != 0) bits |= kIntervals | kTraceAll;
  if ((bits & kSchedule) != 0 && (bits & (kEvents | kIntervals)) == kEvents) {
    throw InvalidArgument(base::format(
        "KYMO_SIGNPOSTS: \"{}\" asks for the scheduling part of events, but events have none; add intervals, or "
        "leave schedule out",
        text));
  }
  if ((bits & kTraceAll) == 0 && (bits & (kEvents | kIntervals | kSchedule)) != 0) bits |= kTraceAll;
  if ((bits & kTraceAll) != 0 && (bits & (kEvents | kIntervals)) == 0) bits |= kIntervals;
  return bits;
}

uint32_t parse_log(std::string_view text) {
  const uint32_t bits =
      fold_tokens(text, [](std::string_view token) { return bits_of(token, kLogWords, "KYMO_PROFILE_LOG"); });
  return (bits & kStatistics) != 0 ? bits | kAllStatistics : bits;
}

}  // namespace kymo::profiler
