// Where something stands in a source, and what is wrong there.
//
// A stage that finds a fault throws Rejected; whoever can go on behind it (a statement, a declaration) catches it,
// reports it and goes on, so that a run finds several. Not thread-safe: one of each for a translation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::shader {

struct Location {
  uint32_t file = 0;    // of SourceFiles
  uint32_t line = 0;    // from 1; 0: nowhere
  uint32_t column = 0;  // from 1, in bytes
  bool operator==(const Location&) const = default;
};

// The texts of a translation: the user's, and the headers it includes.
class SourceFiles {
 public:
  uint32_t add(std::string name, std::string_view text);  // the text is copied
  const std::string& name(uint32_t file) const { return files_[file].name; }
  std::string_view text(uint32_t file) const { return files_[file].text; }
  std::string_view line(const Location& at) const;  // without its end; empty where there is none
  size_t size() const { return files_.size(); }

 private:
  struct File {
    std::string name, text;
    std::vector<uint32_t> starts;  // of lines
  };
  std::vector<File> files_;
};

enum class Severity : uint8_t { Error, Warning, Note };

struct Diagnostic {
  Severity severity = Severity::Error;
  Location at;
  std::string text;  // one line, without a period: what is wrong, what was expected
};

struct Rejected {
  Location at;
  std::string text;
  std::vector<Diagnostic> notes = {};  // that belong to it: candidates, what was being instantiated
};

class Diagnostics {
 public:
  explicit Diagnostics(const SourceFiles& files) : files_(files) {}

  void error(const Location& at, std::string text);
  void warning(const Location& at, std::string text);
  void note(const Location& at, std::string text);  // belongs to what was reported last
  void report(const Rejected& rejected) {
    error(rejected.at, rejected.text);
    for (const Diagnostic& each : rejected.notes) note(each.at, each.text);
  }

  bool has_errors() const { return errors_ != 0; }
  bool is_full() const { return errors_ >= kMostErrors; }  // enough: a stage stops looking for more
  const std::vector<Diagnostic>& list() const { return list_; }

  // As compilers print it, for each:
  //   shader:3:9: error: there is no name "foo" here
  //     out[i] = foo;
  //              ^
  std::string render() const;
  std::string render(const Diagnostic& diagnostic) const;

 private:
  static constexpr size_t kMostErrors = 20;
  static constexpr size_t kMostInAll = 100;  // behind as many, warnings and notes are dropped
  void add(Severity severity, const Location& at, std::string text, bool keep);

  const SourceFiles& files_;
  std::vector<Diagnostic> list_;
  size_t errors_ = 0;
  bool last_was_kept_ = false;
};

}  // namespace kymo::shader
