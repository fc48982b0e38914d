// A position in a source, and the errors at it.
//
// A stage that finds an error throws Rejected. Code that can continue after it (for a statement, a declaration) catches
// it, reports it and continues, so that one run finds several errors. Not thread-safe: each translation has its own
// objects.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/translate.h"

namespace kymo::shader {

struct Location {
  uint32_t file = 0;    // of SourceFiles
  uint32_t line = 0;    // from 1; 0: no position
  uint32_t column = 0;  // from 1, in bytes
  bool operator==(const Location&) const = default;
};

// The texts of a translation: the user's source, and the headers it includes.
class SourceFiles {
 public:
  SourceFiles() = default;
  // Begins with the files of `before`, which must exist as long as this and get no more files.
  explicit SourceFiles(const SourceFiles* before) : before_(before), first_(static_cast<uint32_t>(before->size())) {}

  uint32_t add(std::string name, std::string_view text);  // the text is copied
  const std::string& name(uint32_t file) const { return at(file).name; }
  std::string_view text(uint32_t file) const { return at(file).text; }
  std::string_view line(const Location& at) const;  // without the line end; empty if there is no such line
  size_t size() const { return first_ + files_.size(); }

  // #line: the lines after `after` are shown as those of `name`, from `line` on. An empty name: it stays.
  void renumber(uint32_t file, uint32_t after, uint32_t line, std::string_view name);
  struct Shown {
    std::string_view name;
    uint32_t line = 0;
  };
  Shown shown(const Location& at) const;  // the file must exist

 private:
  struct Renumbered {
    uint32_t after = 0, line = 0;
    std::string name;
  };
  struct File {
    std::string name, text;
    std::vector<uint32_t> starts;  // offsets of the lines
    std::vector<Renumbered> renumbered;
  };
  const File& at(uint32_t file) const { return file < first_ ? before_->at(file) : files_[file - first_]; }

  const SourceFiles* before_ = nullptr;
  uint32_t first_ = 0;      // the number of files in `before_`
  std::deque<File> files_;  // a text stays where it is: tokens point into it
};

struct Report {
  Severity severity = Severity::Error;
  Location at;
  std::string text;  // one line, without a period: what is wrong, what was expected
};

struct Rejected {
  Location at;
  std::string text;
  std::vector<Report> notes = {};  // that belong to it: candidates, the current instantiation
};

class Diagnostics {
 public:
  explicit Diagnostics(const SourceFiles& files) : files_(files) {}

  void error(const Location& at, std::string text);
  void warning(const Location& at, std::string text);
  void note(const Location& at, std::string text);  // belongs to the last report
  void report(const Rejected& rejected) {
    error(rejected.at, rejected.text);
    for (const Report& each : rejected.notes) note(each.at, each.text);
  }

  bool has_errors() const { return errors_ != 0; }
  bool is_full() const { return errors_ >= kMaxErrors; }  // a stage stops looking for more errors
  const std::vector<Report>& list() const { return list_; }

  // In the form that compilers use, for each:
  //   shader:3:9: error: there is no name "foo" here
  //     out[i] = foo;
  //              ^
  std::string render() const;
  std::string render(const Report& report) const;

 private:
  static constexpr size_t kMaxErrors = 20;
  static constexpr size_t kMaxEntries = 100;  // after this number, warnings and notes are dropped
  void add(Severity severity, const Location& at, std::string text, bool keep);

  const SourceFiles& files_;
  std::vector<Report> list_;
  size_t errors_ = 0;
  bool last_was_kept_ = false;
};

}  // namespace kymo::shader
