#include "analyze/memory/page.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <string_view>
#include <utility>

#include "analyze/memory/embedded.h"
#include "analyze/memory/holders.h"
#include "base/json_text.h"
#include "base/text.h"

namespace kymo::memory {

namespace {

using base::append;
using base::append_integer;
using base::append_json_string;
using base::JsonArray;
using base::JsonObject;
using base::TextBuffer;

constexpr std::string_view kDataMark = "@DATA@";
constexpr size_t kMostRowsOnPage = 300;    // the largest at the peak, and as many of those left at the end
constexpr size_t kMostFramesOnPage = 100;  // per row: a page with recursion stays small

void append_holding(TextBuffer& out, const Holding& holding) {
  base::format_to(out, "[{},{}]", holding.bytes, holding.count);
}

// The frames of all rows, each once. Rows refer to them by number.
class PageFrames {
 public:
  void append_row(TextBuffer& out, const std::vector<symbols::Frame>& frames) {
    JsonArray list(out);
    const size_t shown = std::min(frames.size(), kMostFramesOnPage);
    for (size_t i = 0; i < shown; ++i) append_integer(list.next(), number_of(frames[i].function, place_of(frames[i])));
    if (shown < frames.size())
      append_integer(list.next(), number_of(base::format("… and {} more", frames.size() - shown), ""));
    list.close();
  }
  void append_all(TextBuffer& out) const {
    JsonArray list(out);
    for (const auto& [function, place] : all_) {
      append(list.next(), "[");
      append_json_string(out, function);
      append(out, ",");
      append_json_string(out, place);
      append(out, "]");
    }
    list.close();
  }

 private:
  uint64_t number_of(const std::string& function, const std::string& place) {
    const auto [known, is_new] = numbers_.try_emplace({function, place}, all_.size());
    if (is_new) all_.push_back(known->first);
    return known->second;
  }
  std::map<std::pair<std::string, std::string>, uint64_t> numbers_;
  std::vector<std::pair<std::string, std::string>> all_;
};

// The rows that any of the page's tables may show.
std::vector<Group> rows_for_page(const std::vector<Group>& groups) {
  std::vector<Group> rows = largest(groups, &Group::at_peak, kMostRowsOnPage);
  for (Holding Group::*which : {&Group::left, &Group::taken})
    for (const Group& one : largest(groups, which, kMostRowsOnPage))
      if (std::ranges::none_of(rows, [&](const Group& row) { return row.key == one.key; })) rows.push_back(one);
  return rows;
}

void append_holders(TextBuffer& out, Profile& profile, GroupBy by, PageFrames& frames) {
  JsonArray rows(out);
  for (const Group& group : rows_for_page(groups_by(profile, by))) {
    const Holder holder = describe(profile, group, by);
    JsonObject row(rows.next());
    append_json_string(row.key("name"), holder.name);
    append_json_string(row.key("where"), holder.where);
    append(row.key("named"), by == GroupBy::Range && group.key != 0 ? "true" : "false");
    append_holding(row.key("at_peak"), group.at_peak);
    append_holding(row.key("left"), group.left);
    append_holding(row.key("taken"), group.taken);
    frames.append_row(row.key("frames"), holder.frames);
    row.close();
  }
  rows.close();
}

std::string programs_text(const Profile& profile) {
  const auto& processes = profile.tables.processes;
  if (processes.empty()) return "a program";
  return processes.front().name + (processes.size() > 1 ? base::format(" and {} more", processes.size() - 1) : "");
}

std::string date_of(int64_t time_ns) {
  const std::time_t seconds = time_ns / 1'000'000'000;
  std::tm parts{};
  char text[64] = "";
  if (gmtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

uint64_t since_begin(const Profile& profile, int64_t time_ns) {
  return time_ns > profile.begin_ns ? static_cast<uint64_t>(time_ns) - static_cast<uint64_t>(profile.begin_ns) : 0;
}

void append_timeline(JsonObject& page, const Profile& profile) {
  TextBuffer& out = page.key("times");
  JsonArray times(out);
  for (const TimelinePoint& point : profile.timeline) append_integer(times.next(), since_begin(profile, point.time_ns));
  times.close();
  const auto append_rows = [&](std::string_view key, auto bytes_of) {
    JsonArray rows(page.key(key));
    for (const TimelinePoint& point : profile.timeline)
      base::format_to(rows.next(), "[{}]", base::join(bytes_of(point), ","));
    rows.close();
  };
  append_rows("by_category", [](const TimelinePoint& point) { return point.bytes; });
  append_rows("by_stack", [](const TimelinePoint& point) { return point.by_stack; });
  append_rows("by_range", [](const TimelinePoint& point) { return point.by_range; });
}

// The names of the timeline's layers, one for each number in its rows.
void append_layers(TextBuffer& out, Profile& profile, GroupBy by) {
  JsonArray names(out);
  const std::vector<Group>& groups = groups_by(profile, by);
  for (size_t i = 0; i < TimelinePoint::kMostHolders; ++i)
    append_json_string(names.next(), i < groups.size() ? describe(profile, groups[i], by).name : "");
  append_json_string(names.next(), "everything else");
  names.close();
}

void append_memories(TextBuffer& out, const Profile& profile) {
  JsonArray memories(out);
  for (size_t i = 0; i < profile.memories.size(); ++i) {
    const MemoryUse& use = profile.memories[i];
    JsonObject one(memories.next());
    append_json_string(one.key("name"), memory_name(profile, i));
    append_integer(one.key("peak"), use.peak_bytes);
    append_integer(one.key("peak_ns"), since_begin(profile, use.peak_ns));
    append_integer(one.key("end"), use.in_use);
    append_integer(one.key("allocations"), use.taken.count);
    append_integer(one.key("returns"), use.returns);
    one.close();
  }
  memories.close();
}

std::string page_data(Profile& profile, const std::string& file) {
  TextBuffer out;
  JsonObject page(out);
  append_json_string(page.key("file"), std::string_view(file).substr(file.rfind('/') + 1));
  append_json_string(page.key("program"), programs_text(profile));
  append_json_string(page.key("date"), date_of(profile.begin_ns));
  append_integer(page.key("duration_ns"), since_begin(profile, profile.end_ns));
  append(page.key("sampled"), profile.sampled ? "true" : "false");
  append_integer(page.key("peak_bytes"), profile.peak_bytes);
  append_integer(page.key("peak_ns"), since_begin(profile, profile.peak_ns));
  append_integer(page.key("end_bytes"), profile.end_bytes);
  append_integer(page.key("allocations"), profile.counts.allocations);
  append_integer(page.key("returns"), profile.counts.returns);
  append_integer(page.key("taken_bytes"), profile.taken.bytes);
  append_integer(page.key("left_count"), profile.left.count);
  append_integer(page.key("left_bytes"), profile.left.bytes);
  JsonArray categories(page.key("categories"));
  for (size_t i = 0; i < kCategories; ++i)
    append_json_string(categories.next(), category_label(static_cast<Category>(i)));
  categories.close();
  append_layers(page.key("stacks"), profile, GroupBy::Stack);
  append_layers(page.key("ranges"), profile, GroupBy::Range);
  append_timeline(page, profile);
  append_memories(page.key("memories"), profile);
  PageFrames frames;
  JsonObject holders(page.key("holders"));
  append_holders(holders.key("stack"), profile, GroupBy::Stack, frames);
  append_holders(holders.key("range"), profile, GroupBy::Range, frames);
  append_holders(holders.key("size"), profile, GroupBy::Size, frames);
  holders.close();
  frames.append_all(page.key("frames"));
  JsonObject hidden(page.key("hidden"));
  for (const auto& [name, by] :
       {std::pair{"stack", GroupBy::Stack}, {"range", GroupBy::Range}, {"size", GroupBy::Size}}) {
    const std::vector<Group>& groups = groups_by(profile, by);
    append_integer(hidden.key(name), groups.size() - rows_for_page(groups).size());
  }
  hidden.close();
  page.close();

  // No text in the page may look like the end of its script.
  std::string text;
  text.reserve(out.size());
  for (const char letter : std::string_view(out.data(), out.size())) {
    if (letter == '<')
      text += "\\u003c";
    else
      text += letter;
  }
  return text;
}

}  // namespace

void write_page(Profile& profile, const std::string& file, convert::ExportStream& sink) {
  const std::string_view page = embedded::page_html;
  const size_t mark = page.find(kDataMark);
  sink.write(page.substr(0, mark));
  sink.write(page_data(profile, file));
  sink.write(page.substr(mark + kDataMark.size()));
}

}  // namespace kymo::memory
