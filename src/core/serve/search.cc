// api/search: events by name, duration, thread, category and arguments. All cores decode chunks until a time limit,
// those first that are near a time.

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <optional>
#include <span>
#include <thread>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "base/units.h"
#include "base/wildcard.h"
#include "kymo/error.h"
#include "serve/api.h"
#include "serve/event_reader.h"

namespace kymo::serve {

namespace {

constexpr size_t kBins = 1024, kLongestText = 1000, kMaxHits = 10'000, kUsualHits = 1'000, kMaxNames = 1'000,
                 kSlowest = 20;
constexpr auto kTimeLimit = std::chrono::seconds(2);

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// A part of the name in any case, a pattern for the whole name, or the name itself in quotation marks.
class NamePattern {
 public:
  explicit NamePattern(const std::string& text = {}) : text_(to_lower(text)) {
    if (text.size() > 2 && text.front() == '"' && text.back() == '"') {
      kind_ = Kind::Exact;
      text_ = text.substr(1, text.size() - 2);
    } else if (base::has_wildcard(text)) {
      kind_ = Kind::Wildcards;
    }
  }
  bool matches(std::string_view name) const {
    if (kind_ == Kind::Exact) return name == text_;
    const std::string lower = to_lower(name);
    return kind_ == Kind::Wildcards ? base::matches(text_, lower) : lower.find(text_) != lower.npos;
  }

 private:
  enum class Kind : uint8_t { Part, Wildcards, Exact } kind_ = Kind::Part;
  std::string text_;
};

// What a search wants. Words such as "dur>1ms", "thread:loader", "category:io", "arg:train" and "arg.bytes>1MB" are
// conditions; the rest is a pattern for names, which may be missing. What is in quotation marks is a name.
class Wanted {
 public:
  explicit Wanted(const std::string& text);

  const NamePattern& name() const { return name_; }
  bool has_arguments() const { return !arguments_.empty(); }
  bool has_category(std::string_view category) const { return contains_all(category, categories_); }
  bool has_thread(std::string_view thread) const { return contains_all(thread, threads_); }
  bool has_length(int64_t ns) const { return ns > longer_than_ && ns < shorter_than_; }
  bool has_arguments(const trace::EventClass* event_class, const std::vector<trace::ValueCursor::Value>& row) const {
    return std::ranges::all_of(arguments_, [&](const Argument& one) { return has(one, event_class, row); });
  }

 private:
  struct Argument {
    std::string name;  // empty: any
    char how = ':';    // : contains, = is, < >
    std::string text;
    double number = 0;
  };
  static bool contains_all(std::string_view text, const std::vector<std::string>& parts) {
    const std::string lower = to_lower(text);
    return std::ranges::all_of(parts, [&](const std::string& part) { return lower.find(part) != lower.npos; });
  }
  static bool has(const Argument& wanted, const trace::EventClass* event_class,
                  const std::vector<trace::ValueCursor::Value>& row);
  bool add_condition(const std::string& word);

  NamePattern name_;
  std::vector<std::string> categories_, threads_;
  std::vector<Argument> arguments_;
  int64_t longer_than_ = -1, shorter_than_ = INT64_MAX;
};

Wanted::Wanted(const std::string& text) {
  const size_t quote = text.starts_with('"') ? text.rfind('"') : 0;
  const bool is_quoted = quote > 1 && (quote + 1 == text.size() || text[quote + 1] == ' ');
  std::string name = is_quoted ? text.substr(0, quote + 1) : std::string();
  for (size_t at = is_quoted ? quote + 2 : 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!add_condition(word)) name += (name.empty() ? "" : " ") + word;
    at = end + 1;
  }
  name_ = NamePattern(name);
}

// False: the word is none.
bool Wanted::add_condition(const std::string& word) {
  const size_t at = word.find_first_of(":<>=");
  if (at == word.npos || at == 0 || at + 1 == word.size()) return false;
  const std::string key = word.substr(0, at), value = word.substr(at + 1);
  const char how = word[at];
  if (key == "dur" && (how == '<' || how == '>')) {
    int64_t ns = 0;
    try {
      ns =
          static_cast<int64_t>(std::min<uint64_t>(base::parse_duration_ns(value, "250ns, 10us, 1ms or 2s"), INT64_MAX));
    } catch (const Error& error) {
      throw BadRequest(error.what());
    }
    if (how == '>') longer_than_ = ns;
    if (how == '<') shorter_than_ = ns;
    return true;
  }
  if (how == ':' && key == "thread") return threads_.push_back(to_lower(value)), true;
  if (how == ':' && key == "category") return categories_.push_back(to_lower(value)), true;
  if (key != "arg" && !key.starts_with("arg.")) return false;
  Argument argument{key.size() > 4 ? key.substr(4) : std::string(), how, to_lower(value)};
  if (how == '<' || how == '>') {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), argument.number);
    if (error != std::errc() || end != value.data() + value.size()) {
      try {
        argument.number = static_cast<double>(base::parse_bytes(value, "12, 0.5, 512KiB or 1MB"));
      } catch (const Error& bad) {
        throw BadRequest(bad.what());
      }
    }
  }
  arguments_.push_back(std::move(argument));
  return true;
}

bool Wanted::has(const Argument& wanted, const trace::EventClass* event_class,
                 const std::vector<trace::ValueCursor::Value>& row) {
  if (event_class == nullptr) return false;
  for (size_t i = 0; i < std::min(row.size(), event_class->fields.size()); ++i) {
    if (!wanted.name.empty() && event_class->fields[i].name != wanted.name) continue;
    if (wanted.how == ':' || wanted.how == '=') {
      const std::string text = to_lower(trace::to_text(row[i]));
      if (wanted.how == '=' ? text == wanted.text : text.find(wanted.text) != text.npos) return true;
    } else if (row[i].type != trace::FieldType::String &&
               (wanted.how == '<' ? row[i].number() < wanted.number : row[i].number() > wanted.number)) {
      return true;
    }
  }
  return false;
}

struct Hit {
  int64_t start = 0, end = 0;
  uint32_t file = 0, track = 0, chunk = 0, index = 0, name = 0;
  std::string text;                  // if it is not the name of the class
  std::optional<EventRef::Row> row;  // if it is known
  bool operator<(const Hit& other) const {
    return std::tie(start, file, track, index) < std::tie(other.start, other.file, other.track, other.index);
  }
};

struct Histogram {
  uint64_t total = 0;
  uint64_t before = 0;  // that begin before the time of the search
  std::vector<uint32_t> bins = std::vector<uint32_t>(kBins);
  void add(int64_t start, int64_t bin_ns, int64_t at) {
    ++total;
    if (start < at) ++before;
    ++bins[static_cast<size_t>(std::min<int64_t>(start / bin_ns, kBins - 1))];
  }
};

// How many ranges are how long: four steps for each power of two.
struct Lengths {
  static constexpr size_t kSteps = 4, kCount = 64 * kSteps;
  std::array<uint64_t, kCount> counts{};
  static size_t step_of(int64_t ns) {
    const auto length = static_cast<uint64_t>(ns);
    if (length < kSteps) return length;
    const auto power = static_cast<size_t>(std::bit_width(length)) - 1;
    return (power - 1) * kSteps + (length >> (power - 2)) - kSteps;
  }
  static uint64_t first_of(size_t step) {
    return step < kSteps ? step : (kSteps + step % kSteps) << (step / kSteps - 1);
  }
};

// What one thread has found.
struct Found {
  std::vector<Hit> hits;
  std::vector<Hit> slowest;  // a heap, the shortest first
  Lengths lengths;
  std::unordered_map<uint32_t, uint64_t> names;    // by id of the class
  std::unordered_map<uint32_t, Histogram> tracks;  // by id
};

class Search {
 public:
  // Keeps the hits that begin nearest to `at`.
  Search(View& view, const Wanted& wanted, size_t limit, int64_t at, const IsGone& is_gone)
      : view_(view), wanted_(wanted), pattern_(wanted.name()), limit_(limit), at_(at), is_gone_(is_gone) {
    for (uint32_t file = 0; file < view.sources().size(); ++file)
      bin_ns_.push_back(std::max<int64_t>(1, view.sources()[file]->duration_ns() / int64_t{kBins} + 1));
  }

  std::string run();

 private:
  enum class Match : uint8_t { No, Yes, ByText };
  Match match(const Source::ClassName& known) const;
  struct Name {
    bool matches = false;
    uint32_t base = 0;
  };
  const Name& name(uint32_t id);
  bool is_on_wanted_thread(uint32_t file, size_t track) const {
    return wanted_.has_thread(view_.sources()[file]->tracks()[track].name);
  }
  std::vector<std::pair<uint32_t, uint32_t>> chunks_to_scan() const;
  void scan_items(uint32_t file, uint32_t track, std::span<const Item> items, Found& into);
  void scan_kept_items(Found& into);
  void scan(uint32_t file, uint32_t chunk, trace::EventBatch& batch, Found& into) const;
  template <typename TimesOf, typename Finish>
  void scan_events(const Hit& place, const trace::Values& values, const std::vector<uint32_t>& class_ids,
                   TimesOf&& times_of, Finish&& finish, Found& into) const;
  uint64_t distance(int64_t start) const;
  bool is_nearer(const Hit& a, const Hit& b) const;
  bool is_kept(int64_t start, const Found& found) const;
  void keep(Hit hit, Found& into) const;
  static bool is_slow(int64_t length, const Found& found);
  static void keep_slow(Hit hit, Found& into);
  std::string json(Found& found, bool complete) const;

  View& view_;
  const Wanted& wanted_;
  const NamePattern& pattern_;
  const size_t limit_;
  const int64_t at_;
  const IsGone& is_gone_;
  std::vector<int64_t> bin_ns_;               // by file
  std::unordered_map<uint32_t, Name> names_;  // of items that were looked at
};

Search::Match Search::match(const Source::ClassName& known) const {
  if (known.is_definition || !wanted_.has_category(view_.names().entry(known.name).category)) return Match::No;
  if (known.is_inline) return Match::ByText;
  if (pattern_.matches(view_.names().entry(known.name).text)) return Match::Yes;
  return known.has_places ? Match::ByText : Match::No;
}

uint64_t Search::distance(int64_t start) const {
  return start < at_ ? static_cast<uint64_t>(at_) - static_cast<uint64_t>(start)
                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(at_);
}

bool Search::is_nearer(const Hit& a, const Hit& b) const {
  const uint64_t first = distance(a.start), second = distance(b.start);
  return first != second ? first < second : a < b;
}

// Most hits of a large trace are farther away than all that are kept.
bool Search::is_kept(int64_t start, const Found& found) const {
  return limit_ > 0 && (found.hits.size() < limit_ || distance(found.hits.front().start) >= distance(start));
}

void Search::keep(Hit hit, Found& into) const {
  const auto order = [this](const Hit& a, const Hit& b) { return is_nearer(a, b); };
  into.hits.push_back(std::move(hit));
  std::push_heap(into.hits.begin(), into.hits.end(), order);
  if (into.hits.size() <= limit_) return;
  std::pop_heap(into.hits.begin(), into.hits.end(), order);
  into.hits.pop_back();
}

bool is_longer(const Hit& a, const Hit& b) {
  return a.end - a.start != b.end - b.start ? a.end - a.start > b.end - b.start : a < b;
}

bool Search::is_slow(int64_t length, const Found& found) {
  return length > 0 &&
         (found.slowest.size() < kSlowest || length >= found.slowest.front().end - found.slowest.front().start);
}

void Search::keep_slow(Hit hit, Found& into) {
  into.slowest.push_back(std::move(hit));
  std::ranges::push_heap(into.slowest, is_longer);
  if (into.slowest.size() <= kSlowest) return;
  std::ranges::pop_heap(into.slowest, is_longer);
  into.slowest.pop_back();
}

// `times_of` says nothing about an event that is not a hit, whatever its name is. `finish` sets the row of a hit.
template <typename TimesOf, typename Finish>
void Search::scan_events(const Hit& place, const trace::Values& values, const std::vector<uint32_t>& class_ids,
                         TimesOf&& times_of, Finish&& finish, Found& into) const {
  const Source& source = *view_.sources()[place.file];
  const trace::WriterId& writer = source.reader().event_chunks()[place.chunk].writer;
  struct Known {
    Source::ClassName name;
    Match match = Match::No;
    uint64_t count = 0;
  };
  std::unordered_map<uint32_t, Known> classes;
  uint32_t last_id = 0;
  Known* known = nullptr;
  const int64_t bin_ns = bin_ns_[place.file];
  trace::ValueCursor cursor(values);
  const bool has_values = !values.ints.empty() || !values.doubles.empty();
  bool is_lost = false;
  Histogram* histogram = nullptr;
  for (size_t i = 0; i < class_ids.size(); ++i) {
    if (known == nullptr || class_ids[i] != last_id) {
      last_id = class_ids[i];
      const auto [entry, is_new] = classes.try_emplace(last_id);
      if (is_new) {
        entry->second.name = source.class_of(writer, last_id);
        entry->second.match = match(entry->second.name);
      }
      known = &entry->second;
    }
    std::string text;
    bool has_arguments = !wanted_.has_arguments();
    const trace::EventClass* const event_class = known->name.event_class;
    if (has_values && !is_lost) {
      if (event_class == nullptr && !known->name.is_inline) {
        is_lost = true;
      } else {
        const auto& row = cursor.next(event_class);
        if (known->match == Match::ByText || (known->match == Match::Yes && known->name.has_places))
          text = trace::full_name(event_class, row);
        if (!has_arguments && known->match != Match::No) has_arguments = wanted_.has_arguments(event_class, row);
      }
    }
    if (known->match == Match::No || !has_arguments || (known->match == Match::ByText && !pattern_.matches(text)))
      continue;
    const std::optional<std::pair<int64_t, int64_t>> times = times_of(i);
    if (!times || !wanted_.has_length(times->second - times->first)) continue;
    if (histogram == nullptr) histogram = &into.tracks[place.track];
    histogram->add(times->first, bin_ns, at_);
    ++known->count;
    const int64_t length = times->second - times->first;
    ++into.lengths.counts[Lengths::step_of(length)];
    const bool is_near = is_kept(times->first, into), is_long = is_slow(length, into);
    if (!is_near && !is_long) continue;
    Hit hit = place;
    hit.index += static_cast<uint32_t>(i);
    std::tie(hit.start, hit.end) = *times;
    finish(i, hit);
    hit.name = known->name.name;
    hit.text = std::move(text);
    if (is_long) keep_slow(hit, into);
    if (is_near) keep(std::move(hit), into);
  }
  for (const auto& [id, entry] : classes)
    if (entry.count > 0) into.names[entry.name.name] += entry.count;
}

void Search::scan(uint32_t file, uint32_t chunk, trace::EventBatch& batch, Found& into) const {
  const Source& source = *view_.sources()[file];
  const trace::EventChunk& described = source.reader().event_chunks()[chunk];
  const SourceTrack& track = source.tracks()[source.chunks()[chunk].track];
  source.reader().read(described, batch,
                       trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kRangeValues |
                           (described.point_count > 0 ? trace::kPoints | trace::kPointValues : 0u));
  Hit place;
  place.file = file;
  place.track = view_.track_id(file, source.chunks()[chunk].track);
  place.chunk = chunk;
  const trace::Ranges& ranges = batch.ranges;
  scan_events(
      place, ranges.values, ranges.class_id,
      [&](size_t i) {
        const int64_t start = track.clock.ns(ranges.end[i] - ranges.duration[i]);
        return std::optional(std::pair(start, std::max(start, track.clock.ns(ranges.end[i]))));
      },
      [&](size_t i, Hit& hit) {
        hit.row = {ranges.depth[i], ranges.lane.empty() ? uint16_t{0} : ranges.lane[i]};
      },
      into);
  place.index = kPointIndex;
  const trace::Points& points = batch.points;
  scan_events(
      place, points.values, points.class_id,
      [&](size_t i) {
        const int64_t time = track.clock.ns(points.time[i]);
        return points.kind[i] == trace::PointKind::Instant ? std::optional(std::pair(time, time)) : std::nullopt;
      },
      [](size_t, Hit&) {}, into);
}

const Search::Name& Search::name(uint32_t id) {
  const auto [known, is_new] = names_.try_emplace(id);
  if (is_new) {
    const NameTable::Entry entry = view_.names().entry(id);
    known->second.base = entry.base;
    known->second.matches =
        !wanted_.has_arguments() && wanted_.has_category(entry.category) &&
        (pattern_.matches(entry.text) || (entry.base != id && pattern_.matches(view_.names().entry(entry.base).text)));
  }
  return known->second;
}

void Search::scan_items(uint32_t file, uint32_t track, std::span<const Item> items, Found& into) {
  Histogram* histogram = nullptr;
  for (const Item& item : items) {
    const Name& known = name(item.name);
    const int64_t length = item.end - item.start;
    if (!known.matches || !wanted_.has_length(length)) continue;
    if (histogram == nullptr) histogram = &into.tracks[track];
    histogram->add(item.start, bin_ns_[file], at_);
    ++into.names[known.base];
    ++into.lengths.counts[Lengths::step_of(length)];
    Hit hit{item.start, item.end, file, track, item.chunk, item.index, item.name, {}, {}};
    hit.row = {item.depth, item.lane};
    if (is_slow(length, into)) keep_slow(hit, into);
    if (is_kept(item.start, into)) keep(std::move(hit), into);
  }
}

// What is not in a chunk as it is shown: ranges across threads, functions of samples, states of threads, times of
// ranks, and ranges without an end.
void Search::scan_kept_items(Found& into) {
  const auto is_wanted = [&](uint32_t file, size_t track) { return is_on_wanted_thread(file, track); };
  for (const auto& track : view_.derived()) {
    const bool is_of_thread = track->kind == DerivedTrack::Kind::Functions || track->kind == DerivedTrack::Kind::States;
    if (is_of_thread ? is_wanted(track->file, track->of_track) : wanted_.has_thread(track->name))
      scan_items(track->file, track->id, track->items, into);
  }
  for (uint32_t file = 0; file < view_.sources().size(); ++file)
    for (size_t i = 0; i < view_.sources()[file]->tracks().size(); ++i)
      if (is_wanted(file, i)) scan_items(file, view_.track_id(file, i), view_.unfinished(file, i), into);
}

// Those near the time first. The names of a file are few, so most chunks need not be decoded: a name that no chunk has
// is found nowhere at once.
std::vector<std::pair<uint32_t, uint32_t>> Search::chunks_to_scan() const {
  std::vector<std::pair<uint32_t, uint32_t>> chunks;
  for (uint32_t file = 0; file < view_.sources().size(); ++file) {
    const Source& source = *view_.sources()[file];
    uint64_t wanted = kHasStoredNames;
    source.each_class([&](const Source::ClassName& known) {
      if (match(known) != Match::No) wanted |= name_bit(known.name);
    });
    for (uint32_t i = 0; i < source.chunks().size(); ++i)
      if (source.chunks()[i].track != Source::kNoTrack && is_on_wanted_thread(file, source.chunks()[i].track) &&
          view_.may_have(file, i, wanted))
        chunks.emplace_back(file, i);
  }
  const auto away = [&](const std::pair<uint32_t, uint32_t>& chunk) {
    const Source::ChunkTimes& times = view_.sources()[chunk.first]->chunks()[chunk.second];
    return distance(std::max(times.first, std::min(at_, times.last)));
  };
  std::stable_sort(chunks.begin(), chunks.end(), [&](const auto& a, const auto& b) { return away(a) < away(b); });
  return chunks;
}

std::string Search::run() {
  const auto deadline = std::chrono::steady_clock::now() + kTimeLimit;
  const std::vector<std::pair<uint32_t, uint32_t>> chunks = chunks_to_scan();
  std::atomic<size_t> next = 0;
  std::atomic<bool> complete = true, abandoned = false;
  const size_t threads = std::clamp<size_t>(std::min<size_t>(chunks.size(), std::thread::hardware_concurrency()), 1, 8);
  std::vector<Found> found(threads);
  scan_kept_items(found[0]);
  const auto work = [&](Found& into) {
    trace::EventBatch batch;
    for (size_t i = next++; i < chunks.size(); i = next++) {
      if (std::chrono::steady_clock::now() > deadline) {
        complete = false;
        return;
      }
      if (is_gone_ && is_gone_()) {
        abandoned = true;
        return;
      }
      try {
        scan(chunks[i].first, chunks[i].second, batch, into);
      } catch (const Error&) {
        // tiles report damaged chunks
      }
    }
  };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < threads; ++i) helpers.emplace_back([&, i] { work(found[i]); });
  work(found[0]);
  for (std::thread& helper : helpers) helper.join();
  if (abandoned) throw Abandoned();
  for (size_t i = 1; i < threads; ++i) {
    found[0].hits.insert(found[0].hits.end(), found[i].hits.begin(), found[i].hits.end());
    for (Hit& hit : found[i].slowest) keep_slow(std::move(hit), found[0]);
    for (size_t step = 0; step < Lengths::kCount; ++step)
      found[0].lengths.counts[step] += found[i].lengths.counts[step];
    for (const auto& [name, count] : found[i].names) found[0].names[name] += count;
    for (const auto& [track, histogram] : found[i].tracks) {
      Histogram& sum = found[0].tracks[track];
      sum.total += histogram.total;
      sum.before += histogram.before;
      for (size_t bin = 0; bin < kBins; ++bin) sum.bins[bin] += histogram.bins[bin];
    }
  }
  return json(found[0], complete);
}

std::string Search::json(Found& found, bool complete) const {
  if (found.hits.size() > limit_) {
    std::nth_element(found.hits.begin(), found.hits.begin() + static_cast<std::ptrdiff_t>(limit_), found.hits.end(),
                     [this](const Hit& a, const Hit& b) { return is_nearer(a, b); });
    found.hits.resize(limit_);
  }
  std::sort(found.hits.begin(), found.hits.end());
  // What is counted but not returned is farther away: the place of the first hit among all of them.
  uint64_t total = 0, before = 0;
  for (const auto& [track, histogram] : found.tracks) before += histogram.before;
  for (const Hit& hit : found.hits) before -= hit.start < at_;
  std::vector<std::pair<uint64_t, uint32_t>> names;
  for (const auto& [name, count] : found.names) {
    total += count;
    names.emplace_back(count, name);
  }
  std::sort(names.begin(), names.end(), std::greater<>());
  if (names.size() > kMaxNames) names.resize(kMaxNames);
  base::JsonWriter json(base::JsonWriter::Layout::OneLine);
  json.begin_object();
  json.field("total", total);
  json.field("complete", complete);
  json.field("before", before);
  json.objects("names", names, [&](const auto& entry) {
    const auto& [count, name] = entry;
    json.field("id", name);
    json.field("name", view_.names().entry(name).text);
    json.field("count", count);
  });
  const auto write_hit = [&](const Hit& hit) {
    write_event(json, {hit.track, hit.chunk, hit.index,
                       hit.text.empty() ? view_.names().entry(hit.name).text : hit.text, hit.start, hit.end, hit.row});
  };
  json.array("hits", found.hits, write_hit);
  std::ranges::sort_heap(found.slowest, is_longer);
  json.array("slowest", found.slowest, write_hit);
  json.array("lengths", Lengths::kCount, [&](size_t step) {
    if (found.lengths.counts[step] == 0) return;
    json.begin_array();
    json.value(Lengths::first_of(step));
    json.value(Lengths::first_of(step + 1));
    json.value(found.lengths.counts[step]);
    json.end_array();
  });
  const std::map<uint32_t, Histogram> tracks(found.tracks.begin(), found.tracks.end());
  json.objects("tracks", tracks, [&](const auto& entry) {
    const Histogram& histogram = entry.second;
    json.field("track", entry.first);
    json.field("total", histogram.total);
    const std::optional<TrackRef> ref = view_.find_track(entry.first);
    json.field("bin_ns", ref ? bin_ns_[ref->file] : 1);
    json.array("bins", kBins, [&](size_t bin) {
      if (histogram.bins[bin] == 0) return;
      json.begin_array();
      json.value(bin);
      json.value(histogram.bins[bin]);
      json.end_array();
    });
  });
  json.end_object();
  return json.text();
}

}  // namespace

std::string search_json(View& view, const Query& query, const IsGone& is_gone) {
  const Wanted wanted(query.text("q", kLongestText));
  const size_t limit = query.number_or("limit", kMaxHits, kUsualHits);
  const auto at = static_cast<int64_t>(query.number_or("at", INT64_MAX, 0));
  const View::Busy busy(view);
  const View::Lock lock = view.lock();
  return Search(view, wanted, limit, at, is_gone).run();
}

}  // namespace kymo::serve
