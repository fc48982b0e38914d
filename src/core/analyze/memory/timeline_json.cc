#include "analyze/memory/timeline_json.h"

#include <algorithm>
#include <iterator>

#include "base/text_buffer.h"

namespace kymo::memory {

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

}  // namespace kymo::memory
