#include "analyze/memory/export.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/memory/embedded.h"
#include "analyze/memory/profile.h"
#include "analyze/memory/snapshot.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "convert/export_stream.h"
#include "kymo/error.h"

namespace kymo::memory {

namespace {

struct Source {
  const trace::Reader& reader;
  const std::string& device;
  Profile& profile;
};

void write_html(const Source& source, convert::ExportStream& sink) {
  write_page(source.profile, source.reader.path(), sink);
}
void write_timeline(const Source& source, convert::ExportStream& sink) {
  write_timeline_json(source.reader, source.device, source.profile.temporaries, sink);
}
void write_raw(const Source& source, convert::ExportStream& sink) {
  write_raw_json(source.reader, source.device, source.profile.temporaries, sink);
}
void write_pickle(const Source& source, convert::ExportStream& sink) {
  write_snapshot(source.reader, source.device, sink);
}

void write_copy(const Source& source, convert::ExportStream& sink) {
  const std::string& path = source.reader.path();
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw base::file_error("read", path, errno);
  std::vector<std::byte> piece(convert::kFlushAt);
  for (uint64_t at = 0;;) {
    const size_t got = base::read_at(file, path, at, piece);
    if (got == 0) return;
    sink.write({reinterpret_cast<const char*>(piece.data()), got});
    at += got;
  }
}

struct ProfileForm {
  std::string_view ending;
  void (*write)(const Source&, convert::ExportStream&);
  bool compressed = false;
  size_t timeline_points = 0;
};

constexpr ProfileForm kProfileForms[] = {
    {".html", write_html, false, kPageTimelinePoints},
    {".raw.json", write_raw},
    {".raw.json.gz", write_raw, true},
    {".json", write_timeline},
    {".json.gz", write_timeline, true},
    {".pickle", write_pickle},
    {".kymo", write_copy},
};

const ProfileForm& profile_form_of(const std::string& path) {
  for (const ProfileForm& form : kProfileForms)
    if (path.size() > form.ending.size() && path.ends_with(form.ending)) return form;
  throw InvalidArgument(
      base::format("cannot tell the form of the memory profile '{}' from its name: let it end in .html, .json, "
                   ".raw.json (either also .gz), .pickle or .kymo",
                   path));
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat first {
  }, second{};
  return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace

void check_profile_name(const std::string& path) { profile_form_of(path); }

void export_profile(const trace::Reader& reader, const std::string& path, const ExportOptions& options) {
  const ProfileForm& form = profile_form_of(path);
  if (is_same_file(reader.path(), path))
    throw InvalidArgument(base::format("'{}' is the trace itself: choose another name for its memory profile", path));
  Profile profile = read_profile(reader, {options.device, form.timeline_points});
  if (profile.is_empty())
    throw Error(
        base::format("{} holds no allocations: record with 'kymo record --memory', or with a program that tells "
                     "of its own",
                     reader.path()));
  convert::FileStream file(path);
  const Source source{reader, options.device, profile};
  if (form.compressed) {
    convert::GzipStream gzip(file);
    form.write(source, gzip);
    gzip.finish();
  } else {
    form.write(source, file);
    file.finish();
  }
}

namespace {

constexpr int64_t kNsPerUs = 1000;

enum RawAction : int { kPreexisting = 1, kCreate = 2, kDestroy = 4 };

class JsonPieces {
 public:
  explicit JsonPieces(convert::ExportStream& sink) : sink_(sink) {}
  template <class... Args>
  void add(base::FormatString<Args...> format, Args&&... args) {
    base::format_to(out_, format, std::forward<Args>(args)...);
    if (out_.size() >= convert::kFlushAt) flush();
  }
  void flush() {
    sink_.write({out_.data(), out_.size()});
    out_.clear();
  }
  const char* separator() { return std::exchange(first_, false) ? "" : ", "; }
  void begin_list() { first_ = true; }

 private:
  convert::ExportStream& sink_;
  base::TextBuffer out_;
  bool first_ = true;
};

class TimelineRows : public BlockVisitor {
 public:
  enum class Wanted { Times, Sizes };
  TimelineRows(JsonPieces& out, Wanted wanted) : out_(out), wanted_(wanted) {}

  void taken(const Block& block) override {
    step_to(block.taken_ns);
    uint64_t& bytes = in_use_[static_cast<size_t>(block.category)];
    bytes += std::min(block.bytes, UINT64_MAX - bytes);
  }
  void returned(const Block& block, const MemoryChange& by) override {
    step_to(by.time_ns);
    uint64_t& bytes = in_use_[static_cast<size_t>(block.category)];
    bytes -= std::min(block.bytes, bytes);
  }
  void ended(const Block& block, int64_t end_ns) override {
    MemoryChange by;
    by.time_ns = end_ns;
    returned(block, by);
  }
  void finish() {
    if (begun_) write();
  }

 private:
  void step_to(int64_t time_ns) {
    const int64_t time_us = time_ns / kNsPerUs;
    if (begun_ && time_us != time_us_) write();
    begun_ = true;
    time_us_ = time_us;
  }
  void write() {
    if (wanted_ == Wanted::Times)
      out_.add("{}{}", out_.separator(), time_us_);
    else
      out_.add("{}[0, {}]", out_.separator(), base::join(in_use_, ", "));
  }

  JsonPieces& out_;
  const Wanted wanted_;
  BytesByCategory in_use_{};
  int64_t time_us_ = 0;
  bool begun_ = false;
};

class RawPreexisting : public BlockVisitor {
 public:
  explicit RawPreexisting(JsonPieces& out) : out_(out) {}
  void unknown_return(const MemoryChange& change) override {
    if (change.bytes != 0)
      out_.add("{}[-1, {}, {}, {}]", out_.separator(), int{kPreexisting}, change.bytes, int{kUnknown});
  }
  static constexpr int kUnknown = static_cast<int>(Category::Unknown);

 private:
  JsonPieces& out_;
};

class RawChanges : public BlockVisitor {
 public:
  explicit RawChanges(JsonPieces& out) : out_(out) {}
  void taken(const Block& block) override {
    out_.add("{}[{}, {}, {}, {}]", out_.separator(), block.taken_ns, int{kCreate}, block.bytes,
             static_cast<int>(block.category));
  }
  void returned(const Block& block, const MemoryChange& by) override {
    destroyed(by.time_ns, block.bytes, static_cast<int>(block.category));
  }
  void unknown_return(const MemoryChange& change) override {
    if (change.bytes != 0) destroyed(change.time_ns, change.bytes, RawPreexisting::kUnknown);
  }

 private:
  void destroyed(int64_t time_ns, uint64_t bytes, int category) {
    out_.add("{}[{}, {}, {}{}, {}]", out_.separator(), time_ns, int{kDestroy}, bytes == 0 ? "" : "-", bytes, category);
  }
  JsonPieces& out_;
};

}  // namespace

void write_timeline_json(const trace::Reader& reader, const std::string& device, const Temporaries& temporaries,
                         convert::ExportStream& sink) {
  JsonPieces out(sink);
  for (const auto wanted : {TimelineRows::Wanted::Times, TimelineRows::Wanted::Sizes}) {
    out.add("{}", wanted == TimelineRows::Wanted::Times ? "[[" : ", [");
    out.begin_list();
    TimelineRows rows(out, wanted);
    Changes changes(reader, device);
    replay(changes, rows, &temporaries);
    rows.finish();
    out.add("]");
  }
  out.add("]\n");
  out.flush();
}

void write_raw_json(const trace::Reader& reader, const std::string& device, const Temporaries& temporaries,
                    convert::ExportStream& sink) {
  JsonPieces out(sink);
  out.add("[");
  RawPreexisting preexisting(out);
  Changes first(reader, device);
  replay(first, preexisting, &temporaries);
  RawChanges raw(out);
  Changes again(reader, device);
  replay(again, raw, &temporaries);
  out.add("]\n");
  out.flush();
}

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
