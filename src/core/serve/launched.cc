// api/launched: the work of devices that was launched in a part of a thread, or inside of all ranges and functions with
// one name.

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <unordered_map>

#include "analyze/report/intervals.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "serve/api.h"
#include "serve/event_reader.h"
#include "trace/read_if_whole.h"

namespace kymo::serve {

namespace {

constexpr size_t kMaxWork = 1'000;
constexpr auto kTimeLimit = std::chrono::seconds(2);

class Launched {
 public:
  Launched(View& view, uint32_t file, const IsGone& is_gone)
      : view_(view), file_(file), source_(*view.sources()[file]), is_gone_(is_gone) {}

  void add_part(size_t thread, int64_t from, int64_t to) {
    for (const size_t track : source_.same_thread(thread)) parts_[track].push_back({from, std::max(to, from + 1)});
  }
  void add_name(const std::string& name);
  std::string json();

 private:
  bool is_over() {
    if (is_gone_ && is_gone_()) throw Abandoned();
    if (std::chrono::steady_clock::now() < deadline_) return false;
    complete_ = false;
    return true;
  }
  bool has_name(uint32_t id) const { return view_.names().entry(id).text == name_; }
  void add_named_items(size_t thread, const std::vector<Item>& items) {
    for (const Item& item : items)
      if (has_name(item.name)) add_part(thread, item.start, item.end);
  }
  void find_launches();
  void find_work();
  // The first ones by time.
  void keep_first() {
    std::ranges::stable_sort(work_, {}, &EventRef::start_ns);
    if (work_.size() > kMaxWork) work_.resize(kMaxWork);
  }

  View& view_;
  const uint32_t file_;
  const Source& source_;
  const IsGone& is_gone_;
  const std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + kTimeLimit;
  std::string name_;
  std::map<size_t, std::vector<analyze::Interval>> parts_;  // by position of a thread
  std::set<std::pair<trace::WriterId, uint64_t>> launches_;
  struct Sum {
    uint64_t count = 0;
    int64_t total = 0, longest = 0;
  };
  std::map<std::string, Sum> sums_;
  std::vector<EventRef> work_;
  uint64_t count_ = 0;
  bool complete_ = true;
};

void Launched::add_name(const std::string& name) {
  name_ = name;
  for (const auto& derived : view_.derived())
    if (derived->file == file_ && derived->kind == DerivedTrack::Kind::Functions)
      add_named_items(derived->of_track, derived->items);
  std::unordered_map<uint32_t, bool> is_named;  // by name
  for (size_t position = 0; position < source_.tracks().size(); ++position) {
    const SourceTrack& track = source_.tracks()[position];
    if (track.is_queue) continue;
    add_named_items(position, view_.unfinished(file_, position));
    for (const uint32_t chunk : track.chunks) {
      if (source_.reader().event_chunks()[chunk].range_count == 0) continue;
      if (is_over()) return;
      const std::shared_ptr<const DecodedChunk> decoded = view_.decoded(file_, chunk);
      for (size_t i = 0; i < decoded->range_count(); ++i) {
        const auto [known, is_new] = is_named.try_emplace(decoded->name[i]);
        if (is_new) known->second = has_name(decoded->name[i]);
        const uint32_t text = decoded->text.empty() ? kNoText : decoded->text[i];
        if (known->second || (text != kNoText && decoded->texts[text] == name_))
          add_part(position, decoded->start[i], decoded->end[i]);
      }
    }
  }
}

// A launch belongs to the ranges that are open when it begins.
void Launched::find_launches() {
  trace::EventBatch batch;
  for (auto& [position, intervals] : parts_) {
    const SourceTrack& track = source_.tracks()[position];
    const analyze::Intervals parts(std::move(intervals));
    for (const uint32_t chunk : track.chunks) {
      const Source::ChunkTimes& times = source_.chunks()[chunk];
      if (parts.covered(times.first, times.last + 1) == 0) continue;
      if (is_over()) return;
      const trace::EventChunk& described = source_.reader().event_chunks()[chunk];
      if (!trace::read_if_whole(source_.reader(), described, batch, trace::kRangeCorrelations | trace::kRangeTimes))
        continue;  // tiles report damaged chunks
      for (size_t i = 0; i < batch.ranges.correlation.size(); ++i) {
        if (batch.ranges.correlation[i] == 0) continue;
        const int64_t begin = track.clock.ns(batch.ranges.end[i] - batch.ranges.duration[i]);
        if (parts.covered(begin, begin + 1) != 0) launches_.insert({track.writer, batch.ranges.correlation[i]});
      }
    }
  }
}

void Launched::find_work() {
  if (launches_.empty()) return;
  EventReader events(view_, file_);
  trace::EventBatch batch;
  for (const SourceTrack& track : source_.tracks()) {
    if (!track.is_queue) continue;
    for (const uint32_t chunk : track.chunks) {
      if (is_over()) return;
      constexpr unsigned kParts = trace::kRangeCorrelations | trace::kRangeTimes | trace::kRangeClasses;
      if (!trace::read_if_whole(source_.reader(), source_.reader().event_chunks()[chunk], batch, kParts)) continue;
      for (size_t i = 0; i < batch.ranges.correlation.size(); ++i) {
        if (!launches_.contains({track.writer, batch.ranges.correlation[i]})) continue;
        EventRef work = events.range(chunk, batch, i);
        Sum& sum = sums_[work.name];
        ++sum.count;
        ++count_;
        sum.total += work.end_ns - work.start_ns;
        sum.longest = std::max(sum.longest, work.end_ns - work.start_ns);
        work_.push_back(std::move(work));
        if (work_.size() >= 2 * kMaxWork) keep_first();
      }
    }
  }
  keep_first();
}

std::string Launched::json() {
  find_launches();
  find_work();
  base::JsonWriter json(base::JsonWriter::Layout::OneLine);
  json.begin_object();
  json.field("count", count_);
  json.field("complete", complete_);
  std::vector<std::pair<std::string, Sum>> names(sums_.begin(), sums_.end());
  std::ranges::stable_sort(names, [](const auto& a, const auto& b) { return a.second.total > b.second.total; });
  json.objects("names", names, [&](const auto& one) {
    json.field("name", one.first);
    json.field("count", one.second.count);
    json.field("total_ns", one.second.total);
    json.field("max_ns", one.second.longest);
  });
  json.array("work", work_, [&](const EventRef& event) { write_event(json, event); });
  json.end_object();
  return json.text();
}

}  // namespace

std::string launched_json(View& view, const Query& query, const IsGone& is_gone) {
  constexpr uint64_t kLatest = INT64_MAX / 2;
  const View::Busy busy(view);
  const View::Lock lock = view.lock();
  if (query.find("name")) {
    const uint64_t file = query.number_or("file", UINT32_MAX, 0);
    if (file >= view.sources().size()) throw BadRequest(base::format("file: there is no file {}", file), 404);
    Launched launched(view, static_cast<uint32_t>(file), is_gone);
    launched.add_name(query.text("name", NameTable::kMaxLength));
    return launched.json();
  }
  const uint32_t id = static_cast<uint32_t>(query.number("track", UINT32_MAX));
  const std::optional<TrackRef> ref = view.find_track(id);
  std::optional<size_t> thread;
  if (ref && ref->kind == TrackRef::Kind::Track) thread = ref->position;
  if (ref && ref->kind == TrackRef::Kind::Derived) {
    const auto derived = view.derived(ref->position);
    if (derived->kind == DerivedTrack::Kind::Functions) thread = derived->of_track;
  }
  if (!thread) throw BadRequest(base::format("track: there is no thread {}", id), 404);
  Launched launched(view, ref->file, is_gone);
  launched.add_part(*thread, static_cast<int64_t>(query.number("from", kLatest)),
                    static_cast<int64_t>(query.number("to", kLatest)));
  return launched.json();
}

}  // namespace kymo::serve
