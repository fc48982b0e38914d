#include "convert/event_note.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/text.h"

namespace kymo::convert {

namespace {

using trace::PointKind;

constexpr PointKind kNoted[] = {PointKind::Allocation, PointKind::Free,    PointKind::Sample,    PointKind::FlowBegin,
                                PointKind::FlowStep,   PointKind::FlowEnd, PointKind::AsyncBegin};

std::string_view word_of(PointKind kind) {
  return kind == PointKind::AsyncBegin ? "range across threads" : trace::name_of(kind);
}

}  // namespace

std::string note_of(PointKind kind, uint64_t id) {
  if (std::ranges::find(kNoted, kind) == std::end(kNoted)) return {};
  if (kind == PointKind::Sample) return std::string(word_of(kind));
  return trace::is_of_memory(kind) ? base::format("{} {:#x}", word_of(kind), id)
                                   : base::format("{} {}", word_of(kind), id);
}

std::optional<Note> parse_note(std::string_view text) {
  for (const PointKind kind : kNoted) {
    std::string earlier(word_of(kind));  // "flow begin", as earlier versions wrote it
    std::ranges::replace(earlier, '_', ' ');
    if (!text.starts_with(word_of(kind)) && !text.starts_with(earlier)) continue;
    text.remove_prefix(word_of(kind).size());
    Note note{kind, 0};
    if (kind == PointKind::Sample) return text.empty() ? std::optional(note) : std::nullopt;
    const bool is_hex = trace::is_of_memory(kind);
    const std::string_view before = is_hex ? " 0x" : " ";
    if (!text.starts_with(before)) return std::nullopt;
    text.remove_prefix(before.size());
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, note.id, is_hex ? 16 : 10);
    if (error != std::errc() || stop != end) return std::nullopt;
    return note;
  }
  return std::nullopt;
}

}  // namespace kymo::convert
