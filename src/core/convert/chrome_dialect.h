// The two dialects of Chrome's JSON, as policies of ChromeWriter.
//
//   CompactDialect   one line per event, no blanks: small files. For exports of traces.
//   KinetoDialect    Kineto's form: several lines per event and one line per argument, below the name of the event.
//                    PyTorch's tests read such files line by line.
//
// Both have the same keys in the same order, which is Kineto's. A dialect is the text between the values, and the unit
// in which viewers show times.
#pragma once

#include <string_view>

#include "base/json_text.h"

namespace kymo::convert {

struct CompactDialect {
  using Args = base::JsonObject;
  static constexpr std::string_view kTimeUnit = "ns";
  static constexpr std::string_view kIndent = "";           // of the members of the file
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

}  // namespace kymo::convert
