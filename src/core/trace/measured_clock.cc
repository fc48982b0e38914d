#include "trace/measured_clock.h"

#include <charconv>
#include <string_view>

#include "trace/reader.h"
#include "trace/writer.h"

namespace kymo::trace {
namespace {

constexpr std::string_view kReference = "clock.reference", kOffset = "clock.offset_ns", kError = "clock.error_ns";
constexpr std::string_view kAlignmentError = "clock.alignment_error_ns";

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::optional<MeasuredClock> measured_clock(const Origin& origin) {
  MeasuredClock clock;
  int found = 0;
  for (const auto& [name, value] : origin.metadata) {
    if (name == kReference) found += !(clock.reference = value).empty();
    if (name == kOffset) found += read_number(value, clock.offset_ns);
    if (name == kError) found += read_number(value, clock.error_ns);
  }
  if (found != 3) return std::nullopt;
  return clock;
}

void add_measured_clock(const std::string& path, const MeasuredClock& clock) {
  std::vector<std::pair<WriterId, Origin>> origins;
  {
    const Reader reader(path);
    for (const auto& [id, writer] : reader.writers()) origins.emplace_back(id, writer.origin);
  }
  Writer writer(path, Writer::Mode::Append);
  for (auto& [id, origin] : origins) {
    origin.metadata = {{std::string(kReference), clock.reference},
                       {std::string(kOffset), std::to_string(clock.offset_ns)},
                       {std::string(kError), std::to_string(clock.error_ns)}};
    writer.origin(id, origin);
  }
  writer.close();
}

uint64_t alignment_error(const Origin& origin) {
  uint64_t error_ns = 0;
  for (const auto& [name, value] : origin.metadata)
    if (name == kAlignmentError && read_number(value, error_ns)) return error_ns;
  return 0;
}

void add_alignment_error(Origin& origin, uint64_t error_ns) {
  const uint64_t sum = alignment_error(origin) + error_ns;  // it may have been merged before
  std::erase_if(origin.metadata, [](const auto& one) { return one.first == kAlignmentError; });
  origin.metadata.emplace_back(kAlignmentError, std::to_string(sum));
}

}  // namespace kymo::trace
