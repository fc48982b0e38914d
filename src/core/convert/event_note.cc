#include "convert/event_note.h"

#include <array>
#include <charconv>

#include "base/text.h"

namespace kymo::convert {

namespace {

using trace::PointKind;

struct Word {
  PointKind kind;
  std::string_view text;
};
constexpr std::array<Word, 7> kWords = {{{PointKind::Allocation, "allocation "},
                                         {PointKind::Free, "free "},
                                         {PointKind::Sample, "sample"},
                                         {PointKind::FlowBegin, "flow begin "},
                                         {PointKind::FlowStep, "flow step "},
                                         {PointKind::FlowEnd, "flow end "},
                                         {PointKind::AsyncBegin, "range across threads "}}};

bool has_address(PointKind kind) { return kind == PointKind::Allocation || kind == PointKind::Free; }

}  // namespace

std::string note_of(PointKind kind, uint64_t id) {
  for (const Word& word : kWords) {
    if (word.kind != kind) continue;
    if (kind == PointKind::Sample) return std::string(word.text);
    return has_address(kind) ? base::format("{}{:#x}", word.text, id) : base::format("{}{}", word.text, id);
  }
  return {};
}

std::optional<Note> parse_note(std::string_view text) {
  for (const Word& word : kWords) {
    if (!text.starts_with(word.text)) continue;
    text.remove_prefix(word.text.size());
    Note note{word.kind, 0};
    if (word.kind == PointKind::Sample) return text.empty() ? std::optional(note) : std::nullopt;
    const bool is_hex = has_address(word.kind);
    if (is_hex && !text.starts_with("0x")) return std::nullopt;
    if (is_hex) text.remove_prefix(2);
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, note.id, is_hex ? 16 : 10);
    if (error != std::errc() || stop != end) return std::nullopt;
    return note;
  }
  return std::nullopt;
}

}  // namespace kymo::convert
