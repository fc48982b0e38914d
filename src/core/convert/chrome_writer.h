// The writer of Chrome's JSON trace format, for all that Kymo writes in it: exports of traces, on-demand traces and the
// files of the edge profiler. It knows the format and its two dialects; its callers know their events.
//
//   KinetoChromeWriter writer(sink, start_ns);
//   append(writer.member("deviceProperties"), "[]");
//   writer.begin_events();
//   const std::string row = writer.row(pid, tid);
//   writer.name_row(row, "thread 12 (main)", 12);
//   writer.complete(R"("cpu_op")", R"("aten::add")", row, begin_ns, end_ns);
//   auto args = writer.args();
//   append_integer(args.key("Ev Idx"), 0);
//   args.close();
//   writer.end_event();
//   writer.end_events();
//   append_json_string(writer.member("traceName"), path);
//   writer.finish();
//
// `category` and `name` of an event or an arrow are JSON: in quotes and escaped, because callers keep texts that many
// events share. All other texts are plain. Times are nanoseconds since 1970; a time before the base of the file is
// written as 0.
//
// Memory for kFlushAt bytes. A function throws what the sink throws; the caller finishes the sink.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "base/text.h"
#include "convert/export_stream.h"

namespace kymo::convert {

// The times in a Chrome file: microseconds with three decimals, counted from a base that the traces of one job share.

// The base for a trace that starts at this time, both in nanoseconds since 1970. As in Kineto, it is the start of a
// quarter of a year: the traces of several ranks have the same one, and a double still holds nanoseconds.
constexpr uint64_t chrome_base_ns(uint64_t start_ns) {
  constexpr uint64_t kStepNs = 7'889'238ull * 1'000'000'000;
  return start_ns / kStepNs * kStepNs;
}

// Nanoseconds as microseconds with exactly three decimals.
inline void append_microseconds(base::TextBuffer& out, uint64_t ns) {
  constexpr size_t kDigits = std::numeric_limits<uint64_t>::digits10 + 1, kDecimals = 3;
  out.append_in_place(kDigits + 1 + kDecimals, [ns](char* to) {
    const auto thousandths = static_cast<uint32_t>(ns % 1000);
    char* end = std::to_chars(to, to + kDigits, ns / 1000).ptr;
    *end++ = '.';
    *end++ = static_cast<char>('0' + thousandths / 100);
    *end++ = static_cast<char>('0' + thousandths / 10 % 10);
    *end++ = static_cast<char>('0' + thousandths % 10);
    return end;
  });
}

// The two dialects of Chrome's JSON, as policies of ChromeWriter.
//
//   CompactDialect   one line per event, no blanks: small files. For exports of traces.
//   KinetoDialect    Kineto's form: several lines per event and one line per argument, below the name of the event.
//                    PyTorch's tests read such files line by line.
//
// Both have the same keys in the same order, which is Kineto's. A dialect is the text between the values, and the unit
// in which viewers show times.

struct CompactDialect {
  using Args = base::JsonObject;
  static constexpr std::string_view kTimeUnit = "ns";
  static constexpr std::string_view kIndent{};              // of the members of the file
  static constexpr std::string_view kBegin = "{\"ph\":\"";  // of an event; its phase follows
  static constexpr std::string_view kEnd = "}";
  // After the phase or another text, whose quotes they close.
  static constexpr std::string_view kCategory = "\",\"cat\":";
  static constexpr std::string_view kFlowId = "\",\"id\":";
  static constexpr std::string_view kGlobalName = "\",\"s\":\"g\",\"name\":";
  static constexpr std::string_view kQuotedName = "\",\"name\":\"";
  // After a value.
  static constexpr std::string_view kName = ",\"name\":";
  static constexpr std::string_view kInstantName = ",\"s\":\"t\",\"name\":";
  static constexpr std::string_view kRow = ",";
  static constexpr std::string_view kTime = ",\"ts\":";
  static constexpr std::string_view kRowLine = ",";  // where Kineto starts a new line
  static constexpr std::string_view kTimeLine = ",\"ts\":";
  static constexpr std::string_view kDuration = ",\"dur\":";
  static constexpr std::string_view kFlowCategory = ",\"cat\":";
  static constexpr std::string_view kFlowEnd = ",\"bp\":\"e\"";
  static constexpr std::string_view kArgs = ",\"args\":";
  // The parts of a row.
  static constexpr std::string_view kPid = "\"pid\":";
  static constexpr std::string_view kTid = ",\"tid\":";
};

// An object with one member per line, as deep as the arguments of an event.
class KinetoArgs {
 public:
  explicit KinetoArgs(base::TextBuffer& out) : out_(out) { out_.push_back('{'); }
  // The caller appends the value. `name` must not need escaping.
  base::TextBuffer& key(std::string_view name) {
    if (!empty_) out_.push_back(',');
    empty_ = false;
    out_.append("\n      \"", name, "\": ");
    return out_;
  }
  void close() { out_.append("\n    }"); }

 private:
  base::TextBuffer& out_;
  bool empty_ = true;
};

struct KinetoDialect {
  using Args = KinetoArgs;
  static constexpr std::string_view kTimeUnit = "ms";
  static constexpr std::string_view kIndent = "  ";
  static constexpr std::string_view kBegin = "  {\n    \"ph\": \"";
  static constexpr std::string_view kEnd = "\n  }";
  static constexpr std::string_view kCategory = "\", \"cat\": ";
  static constexpr std::string_view kFlowId = "\", \"id\": ";
  static constexpr std::string_view kGlobalName = "\", \"s\": \"g\", \"name\": ";
  static constexpr std::string_view kQuotedName = "\", \"name\": \"";
  static constexpr std::string_view kName = ", \"name\": ";
  static constexpr std::string_view kInstantName = ", \"s\": \"t\", \"name\": ";
  static constexpr std::string_view kRow = ", ";
  static constexpr std::string_view kTime = ", \"ts\": ";
  static constexpr std::string_view kRowLine = ",\n    ";
  static constexpr std::string_view kTimeLine = ",\n    \"ts\": ";
  static constexpr std::string_view kDuration = ", \"dur\": ";
  static constexpr std::string_view kFlowCategory = ",\n    \"cat\": ";
  static constexpr std::string_view kFlowEnd = ", \"bp\": \"e\"";
  static constexpr std::string_view kArgs = ",\n    \"args\": ";
  static constexpr std::string_view kPid = "\"pid\": ";
  static constexpr std::string_view kTid = ", \"tid\": ";
};

template <class Dialect>
class ChromeWriter {
 public:
  using Args = typename Dialect::Args;

  // `start_ns` is the first time in the file. It sets the base of all times, and is the time of the rows' names.
  ChromeWriter(ExportStream& sink, uint64_t start_ns)
      : sink_(sink), start_ns_(start_ns), base_ns_(chrome_base_ns(start_ns)) {
    append_integer(member("schemaVersion"), 1);
  }
  ChromeWriter(const ChromeWriter&) = delete;
  ChromeWriter& operator=(const ChromeWriter&) = delete;

  // ---- The file: members, the events, more members.

  // The caller appends the value. `key` must not need escaping.
  base::TextBuffer& member(std::string_view key) {
    out_.append(has_members_ ? ",\n" : "{\n", Dialect::kIndent, "\"", key, "\": ");
    has_members_ = true;
    return out_;
  }
  void begin_events() {
    base::append_json_string(member("displayTimeUnit"), Dialect::kTimeUnit);
    append_integer(member("baseTimeNanoseconds"), base_ns_);
    member("traceEvents").push_back('[');
    has_events_ = false;
  }
  void end_events() { out_.append("\n", Dialect::kIndent, "]"); }
  void finish() {
    out_.append("\n}\n");
    flush();
  }

  // ---- Rows. A viewer puts threads into processes, and queues into devices, which are processes too.

  // The text that puts an event into a row.
  static std::string row(uint64_t pid, uint64_t tid) {
    base::TextBuffer text;
    text.append(Dialect::kPid);
    text.append_number(pid);
    text.append(Dialect::kTid);
    text.append_number(tid);
    return text.string();
  }
  // Complete events. Viewers sort by `order`.
  void name_process(uint64_t pid, std::string_view name, std::string_view label, uint64_t order) {
    const std::string first = row(pid, 0);
    metadata("process_name", first, "name", name);
    metadata("process_labels", first, "labels", label);
    metadata("process_sort_index", first, "sort_index", order);
  }
  void name_row(std::string_view row, std::string_view name, uint64_t order) {
    metadata("thread_name", row, "name", name);
    metadata("thread_sort_index", row, "sort_index", order);
  }
  // Viewers put a queue into its device. This says which queue of which process it is, for the import into Kymo.
  void describe_queue(std::string_view row, uint64_t pid, std::string_view device, uint64_t queue, uint64_t context) {
    Args object = begin_metadata("kymo_queue", row);
    append_integer(object.key("pid"), pid);
    base::append_json_string(object.key("device"), device);
    append_integer(object.key("queue"), queue);
    append_integer(object.key("context"), context);
    object.close();
    end_event();
  }

  // ---- Events. Each function begins one. args() may follow, then end_event().

  void complete(std::string_view category, std::string_view name, std::string_view row, uint64_t start_ns,
                uint64_t end_ns) {
    begin<'X', Dialect::kName, Dialect::kRow>(category, name, row, start_ns);
    out_.append(Dialect::kDuration);
    const uint64_t visible_start = std::max(start_ns, base_ns_);
    append_microseconds(out_, end_ns - std::min(visible_start, end_ns));
  }
  void instant(std::string_view category, std::string_view name, std::string_view row, uint64_t ns) {
    begin<'i', Dialect::kInstantName, Dialect::kRowLine>(category, name, row, ns);
  }
  // Its value is the argument "value".
  void counter(std::string_view category, std::string_view name, std::string_view row, uint64_t ns) {
    begin<'C', Dialect::kName, Dialect::kRow>(category, name, row, ns);
  }
  // The ends of a range across threads. `id` is unique in their process.
  void async_begin(std::string_view category, std::string_view name, std::string_view row, uint64_t ns, uint64_t id) {
    begin<'b', Dialect::kName, Dialect::kRow>(category, name, row, ns);
    append_async_id(id);
  }
  void async_end(std::string_view category, std::string_view name, std::string_view row, uint64_t ns, uint64_t id) {
    begin<'e', Dialect::kName, Dialect::kRow>(category, name, row, ns);
    append_async_id(id);
  }
  // The points of an arrow, each inside a complete event of its row. They belong together by `name` and `id`.
  void flow_start(std::string_view name, uint64_t id, std::string_view row, uint64_t ns) {
    flow('s', name, id, row, ns);
  }
  void flow_step(std::string_view name, uint64_t id, std::string_view row, uint64_t ns) {
    flow('t', name, id, row, ns);
  }
  void flow_end(std::string_view name, uint64_t id, std::string_view row, uint64_t ns) {
    flow('f', name, id, row, ns);
    out_.append(Dialect::kFlowEnd);
  }
  // An instant of the whole file, not in a row.
  void global_instant(std::string_view name, uint64_t ns) {
    begin('i');
    out_.append(Dialect::kGlobalName, name, Dialect::kRow, Dialect::kPid, "\"\"", Dialect::kTid, "\"\"",
                Dialect::kTime);
    append_time(ns);
  }

  // The caller closes the object.
  Args args() {
    out_.append(Dialect::kArgs);
    return Args(out_);
  }
  void end_event() {
    out_.append(Dialect::kEnd);
    if (out_.size() >= kFlushAt) flush();
  }

  uint64_t base_ns() const { return base_ns_; }

 private:
  void begin(char phase) {
    if (has_events_) out_.push_back(',');
    has_events_ = true;
    out_.append("\n", Dialect::kBegin, std::string_view(&phase, 1));
  }
  // Up to the time. The keys are template arguments, so that they are literals to the compiler.
  template <char kPhase, const std::string_view& kNameKey, const std::string_view& kRowKey>
  void begin(std::string_view category, std::string_view name, std::string_view row, uint64_t ns) {
    begin(kPhase);
    out_.append(Dialect::kCategory, category, kNameKey, name, kRowKey, row, Dialect::kTimeLine);
    append_time(ns);
  }
  void flow(char phase, std::string_view name, uint64_t id, std::string_view row, uint64_t ns) {
    begin(phase);
    out_.append(Dialect::kFlowId);
    append_integer(out_, id);
    out_.append(Dialect::kRow, row, Dialect::kTime);
    append_time(ns);
    out_.append(Dialect::kFlowCategory, name, Dialect::kName, name);
  }
  Args begin_metadata(std::string_view what, std::string_view row) {
    begin('M');
    out_.append(Dialect::kQuotedName, what, "\"", Dialect::kRow, row, Dialect::kTime);
    append_time(start_ns_);
    return args();
  }
  template <class Value>
  void metadata(std::string_view what, std::string_view row, std::string_view key, const Value& value) {
    Args object = begin_metadata(what, row);
    if constexpr (std::integral<Value>) {
      append_integer(object.key(key), value);
    } else {
      base::append_json_string(object.key(key), value);
    }
    object.close();
    end_event();
  }
  void append_async_id(uint64_t id) {
    out_.append(Dialect::kRow, R"("id2":{"local":"0x)");
    out_.append_number(id, 16);
    out_.append(R"("})");
  }
  void append_time(uint64_t ns) { append_microseconds(out_, ns - std::min(base_ns_, ns)); }

  void flush() {
    sink_.write(out_.view());
    out_.clear();
  }

  ExportStream& sink_;
  const uint64_t start_ns_, base_ns_;
  base::TextBuffer out_;
  bool has_members_ = false, has_events_ = false;
};

using CompactChromeWriter = ChromeWriter<CompactDialect>;
using KinetoChromeWriter = ChromeWriter<KinetoDialect>;

}  // namespace kymo::convert
