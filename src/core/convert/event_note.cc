#include "convert/event_note.h"

#include <charconv>

#include "base/text.h"

namespace kymo::convert {

using trace::PointKind;

std::string note_of(PointKind kind, uint64_t id) {
  if (kind == PointKind::Sample) return std::string(trace::name_of(kind));
  return trace::is_of_memory(kind) ? base::format("{} {:#x}", trace::name_of(kind), id) : std::string();
}

std::optional<Note> parse_note(std::string_view text) {
  if (text == trace::name_of(PointKind::Sample)) return Note{PointKind::Sample, 0};
  for (Note note : {Note{PointKind::Allocation, 0}, Note{PointKind::Free, 0}}) {
    const std::string before = base::format("{} 0x", trace::name_of(note.kind));
    if (!text.starts_with(before)) continue;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + before.size(), end, note.id, 16);
    if (error == std::errc() && stop == end) return note;
  }
  return std::nullopt;
}

}  // namespace kymo::convert
