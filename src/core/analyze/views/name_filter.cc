#include "analyze/views/name_filter.h"

#include <algorithm>

#include "base/wildcard.h"

namespace kymo::views {

NameFilter::NameFilter(const trace::WriterInfo& writer, const std::string& pattern)
    : writer_(writer), pattern_(pattern) {
  // Class ids are assigned in order, so a table by id is nearly full. A forged id must not make the table huge.
  constexpr size_t kAlways = 1024;
  const auto& classes = writer.classes;
  const size_t wanted = classes.empty() ? 1 : classes.rbegin()->first + size_t{1};
  table_.resize(std::min(wanted, kAlways + 4 * classes.size()), Match::No);
  table_[trace::kInlineName] = Match::ByText;
  for (const auto& [id, event_class] : classes)
    if (id != trace::kInlineName && id < table_.size()) table_[id] = match(event_class);
}

bool NameFilter::describes(std::string_view text) const { return text == pattern_ || base::matches(pattern_, text); }

const trace::EventClass* NameFilter::event_class(uint32_t class_id) const {
  if (class_id == trace::kInlineName) return nullptr;
  const auto found = writer_.classes.find(class_id);
  return found == writer_.classes.end() ? nullptr : &found->second;
}

NameFilter::Match NameFilter::match(const trace::EventClass& event_class) const {
  if (describes(trace::shown_name(event_class))) return Match::Yes;
  const size_t place = event_class.name.find("{}");
  if (place == std::string::npos) return Match::No;
  // The text begins like the name, and must begin like the pattern.
  const std::string_view name = std::string_view(event_class.name).substr(0, place);
  const std::string_view pattern = std::string_view(pattern_).substr(0, pattern_.find_first_of("*?"));
  const size_t common = std::min(name.size(), pattern.size());
  return name.substr(0, common) == pattern.substr(0, common) ? Match::ByText : Match::No;
}

NameFilter::Match NameFilter::of_unusual(uint32_t class_id) const {
  const trace::EventClass* const known = event_class(class_id);
  return known == nullptr ? Match::No : match(*known);
}

}  // namespace kymo::views
