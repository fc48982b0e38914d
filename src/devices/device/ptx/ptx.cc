#include "device/ptx/ptx.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::device {
namespace {

constexpr uint32_t kMaxParameterBytes = 1u << 20;  // far above what any device takes

// What one function uses, including other functions and `extern __shared__` arrays.
struct Function {
  std::set<std::string_view> uses;
  bool visited = false;
};

enum class Target : uint8_t { Cuda, OpenCl };

bool is_name(std::string_view word) {
  const char first = word.empty() ? '.' : word.front();
  return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_' || first == '$' ||
         first == '%';
}

class PtxReader {
 public:
  PtxReader(std::string_view text, Target target) : target_(target), text_(text), tokens_(split_ptx(text)) {}

  PtxProgram read() {
    while (at_ < tokens_.size()) {
      const std::string_view word = tokens_[at_].text;
      if (word == ".entry") {
        ++at_;
        read_entry();
      } else if (word == ".func") {
        ++at_;
        read_function();
      } else if (word == ".extern") {
        ++at_;
        read_extern();
      } else if (word == ".version") {
        ++at_;
        read_version();
      } else if (word == ".target") {
        ++at_;
        read_target();
      } else if (word == ".metadata_section" && target_ == Target::OpenCl) {
        remove_metadata();
      } else {
        ++at_;
      }
    }
    copy_until(text_.size());
    for (PtxEntry& entry : program_.entries) entry.dynamic_shared = uses_dynamic_shared(entry.name);
    return std::move(program_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    const size_t offset = at_ < tokens_.size() ? tokens_[at_].offset : text_.size();
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
    throw Error(base::format("PTX, line {}: {}", line, what));
  }

  std::string_view peek() const { return at_ < tokens_.size() ? tokens_[at_].text : std::string_view(); }
  std::string_view next(std::string_view what) {
    if (at_ >= tokens_.size()) fail(base::format("expected {}, found the end of the text", what));
    return tokens_[at_++].text;
  }
  bool take(std::string_view word) {
    if (peek() != word) return false;
    ++at_;
    return true;
  }

  uint32_t number(std::string_view what) {
    const std::string_view word = next(what);
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end == word.data()) {
      --at_;
      fail(base::format("'{}' is not {}", word.substr(0, 40), what));
    }
    return value;
  }

  // Starts after the opening bracket and ends after the closing one. The words between them go into `uses`.
  void skip_bracket(std::string_view open, std::string_view close, std::set<std::string_view>* uses) {
    for (size_t depth = 1; depth > 0;) {
      const std::string_view word = next(base::format("'{}'", close));
      if (word == open) ++depth;
      if (word == close) --depth;
      if (uses != nullptr) uses->insert(word);
    }
  }

  void copy_until(size_t offset) {
    program_.text.append(text_.substr(copied_, offset - copied_));
    copied_ = offset;
  }

  static uint32_t size_of_type(std::string_view type) {
    size_t digits = 0;
    while (digits < type.size() && (type[digits] < '0' || type[digits] > '9')) ++digits;
    uint32_t bits = 0;
    std::from_chars(type.data() + digits, type.data() + type.size(), bits);
    return bits <= 1024 ? bits / 8 : 0;  // .texref, .samplerref and .surfref have no digits
  }

  PtxParameter read_parameter() {
    if (!take(".param")) fail(base::format("found '{}' where .param was expected", peek().substr(0, 40)));
    PtxParameter parameter;
    while (!peek().empty() && peek().front() == '.') {
      const std::string_view word = next("a type");
      if (word == ".align")
        number("an alignment");
      else if (word == ".ptr")
        parameter.pointer = true;
      else if (parameter.type.empty())
        parameter.type = word.substr(1);  // what follows .ptr is a state space
    }
    next("a parameter's name");
    uint64_t bytes = std::max<uint32_t>(size_of_type(parameter.type), 1);
    while (take("[")) {
      bytes *= number("an array's length");
      if (!take("]")) fail("']' is missing");
      if (bytes > kMaxParameterBytes) fail("a parameter is too large for any device");
      parameter.array = true;
    }
    parameter.bytes = static_cast<uint32_t>(bytes);
    program_.marks_pointers |= parameter.pointer;
    return parameter;
  }

  // .version 8.0, which is one word
  void read_version() {
    const std::string_view word = next("a version");
    const auto [dot, error] = std::from_chars(word.data(), word.data() + word.size(), version_[0]);
    if (error == std::errc() && dot != word.data() + word.size() && *dot == '.')
      std::from_chars(dot + 1, word.data() + word.size(), version_[1]);
  }

  // .target sm_90a, texmode_independent. Only the first one counts, if it is before all kernels: all or none can stamp.
  void read_target() {
    const std::string_view word = next("a target");
    if (std::exchange(target_is_known_, true)) return;
    uint32_t architecture = 0;
    if (word.starts_with("sm_")) std::from_chars(word.data() + 3, word.data() + word.size(), architecture);
    program_.stamps = can_stamp(version_[0], version_[1], architecture);
  }

  std::string added_parameters(std::string_view name) const {
    std::string added;
    if (target_ == Target::Cuda) added = base::format(" .param .align 4 .b8 {}_kymo_edge[{}]", name, sizeof(Edge));
    if (program_.stamps) added += (added.empty() ? "" : ",") + stamp_parameter(name);
    return added;
  }

  // .metadata_section { ... }, which lists the parameters of each kernel. Its lines stay, empty.
  void remove_metadata() {
    const size_t begin = tokens_[at_++].offset;
    copy_until(begin);
    if (!take("{")) fail("'{' is missing after .metadata_section");
    skip_bracket("{", "}", nullptr);
    copied_ = tokens_[at_ - 1].end();
    const std::string_view removed = text_.substr(begin, copied_ - begin);
    program_.text += " ";
    program_.text.append(static_cast<size_t>(std::count(removed.begin(), removed.end(), '\n')), '\n');
  }

  // .entry NAME ( parameters ) directives { body }. A declaration has ; instead of the body.
  void read_entry() {
    PtxEntry entry;
    target_is_known_ = true;
    if (!is_name(peek())) fail("a kernel's name is missing");
    const std::string_view name = next("a kernel's name");
    entry.name = name;
    const std::string added = added_parameters(name);
    if (take("(")) {
      if (peek() != ")") {
        do entry.parameters.push_back(read_parameter());
        while (take(","));
      }
      if (peek() != ")") fail("')' is missing after a kernel's parameters");
      copy_until(tokens_[at_ - 1].end());
      program_.text += entry.parameters.empty() || added.empty() ? added : "," + added;
      ++at_;
    } else if (!added.empty()) {
      copy_until(tokens_[at_ - 1].end());
      program_.text += "(" + added + ")";
    }
    read_directives(entry);
    if (take(";")) return;
    if (!take("{")) fail("'{' is missing before a kernel's body");
    copy_until(tokens_[at_ - 1].end());
    if (target_ == Target::Cuda) append_prologue(name);
    if (program_.stamps) program_.text += stamp_start(name);
    read_body(name, functions_[name].uses);
    program_.entries.push_back(std::move(entry));
  }

  // Starts after the opening brace of a kernel and ends after the closing one.
  void read_body(std::string_view name, std::set<std::string_view>& uses) {
    size_t exits = 0;
    for (size_t depth = 1; depth > 0;) {
      const std::string_view word = next("'}'");
      if (word == "{") ++depth;
      if (word == "}") --depth;
      uses.insert(word);
      if (program_.stamps && leaves_kernel()) stamp_exit(name, exits++);
    }
  }

  // True if the last word is an instruction with which threads exit, and not a label of that name.
  bool leaves_kernel() const {
    const std::string_view word = tokens_[at_ - 1].text, before = tokens_[at_ - 2].text;
    return (word == "ret" || word == "ret.uni" || word == "exit") && peek() == ";" && !before.starts_with("bra");
  }

  // After the word with which threads exit. Threads that exit under a condition stamp under the same condition.
  void stamp_exit(std::string_view name, size_t number) {
    size_t first = at_ - 1;
    const bool has_guard = is_name(tokens_[first - 1].text);
    if (has_guard && tokens_[first - 2].text == "@") {
      first -= 2;
      copy_until(tokens_[first].offset);
      program_.text += base::format("@!{} bra $kymo_stay_{};", tokens_[first + 1].text, number);
    } else if (has_guard && tokens_[first - 3].text == "@" && tokens_[first - 2].text == "!") {
      first -= 3;
      copy_until(tokens_[first].offset);
      program_.text += base::format("@{} bra $kymo_stay_{};", tokens_[first + 2].text, number);
    } else {
      copy_until(tokens_[first].offset);
    }
    program_.text += stamp_end(name, number) + " ";
    if (tokens_[first].text != "@") return;
    copy_until(tokens_[at_].end());
    program_.text += base::format(" $kymo_stay_{}:", number);
  }

  void read_directives(PtxEntry& entry) {
    while (!peek().empty() && peek() != "{" && peek() != ";") {
      const std::string_view word = next("'{'");
      if (word == ".pragma") {
        while (next("';'") != ";") continue;
      } else if (word == ".reqntid") {
        entry.required_group = {number("a group's size"), 1, 1};
        for (size_t i = 1; i < 3 && take(","); ++i) entry.required_group[i] = number("a group's size");
      }
    }
  }

  // In its own scope, and on the line of the brace before it.
  void append_prologue(std::string_view name) {
    std::string text = " { .reg .pred %kymo_p<3>; .reg .b32 %kymo_r<3>;";
    const auto load = [&](int to, size_t index) {
      text += base::format(" ld.param.u32 %kymo_r{}, [{}_kymo_edge+{}];", to, name, index * 4);
    };
    constexpr std::array<char, 3> kDimensions{'x', 'y', 'z'};
    load(0, 0);
    text += " setp.eq.u32 %kymo_p0, %kymo_r0, 0; @%kymo_p0 bra $kymo_inside;";
    for (size_t i = 0; i < 3; ++i) {
      load(0, 1 + i);
      text += base::format(" mov.u32 %kymo_r1, %ctaid.{};", kDimensions[i]);
      text += i == 0 ? " setp.eq.u32 %kymo_p0, %kymo_r1, %kymo_r0;"
                     : " setp.eq.or.u32 %kymo_p0, %kymo_r1, %kymo_r0, %kymo_p0;";
    }
    text += " @!%kymo_p0 bra $kymo_inside;";
    for (size_t i = 0; i < 3; ++i) {
      load(0, 1 + i);
      text += base::format(" mov.u32 %kymo_r1, %ctaid.{}; setp.eq.u32 %kymo_p1, %kymo_r1, %kymo_r0;", kDimensions[i]);
      load(0, 4 + i);
      text += base::format(
          " mov.u32 %kymo_r1, %tid.{}; setp.ge.and.u32 %kymo_p2, %kymo_r1, %kymo_r0, %kymo_p1; @%kymo_p2 exit;",
          kDimensions[i]);
    }
    program_.text += text + " $kymo_inside: }";
  }

  // .func (result) NAME (parameters) { body }
  void read_function() {
    if (take("(")) skip_bracket("(", ")", nullptr);
    const std::string_view name = next("a function's name");
    while (!peek().empty() && peek() != "{" && peek() != ";") {
      const std::string_view word = next("'{'");
      if (word == "(") skip_bracket("(", ")", nullptr);
    }
    if (take("{")) skip_bracket("{", "}", &functions_[name].uses);
  }

  // .extern .shared .align 16 .b8 NAME[]; the size of such an array is given at launch
  void read_extern() {
    if (peek() != ".shared") return;
    std::string_view last;
    while (!peek().empty() && peek() != ";") {
      const std::string_view word = next("';'");
      if (word == "[") dynamic_.insert(last);
      last = word;
    }
  }

  bool uses_dynamic_shared(std::string_view entry) {
    for (auto& [name, function] : functions_) function.visited = false;
    std::vector<std::string_view> open{entry};
    while (!open.empty()) {
      const auto found = functions_.find(open.back());
      open.pop_back();
      if (found == functions_.end() || found->second.visited) continue;
      found->second.visited = true;
      for (const std::string_view word : found->second.uses) {
        if (dynamic_.contains(word)) return true;
        if (functions_.contains(word)) open.push_back(word);
      }
    }
    return false;
  }

  const Target target_;
  std::string_view text_;
  std::vector<PtxToken> tokens_;
  size_t at_ = 0;      // the next token
  size_t copied_ = 0;  // the part of the text that is copied so far
  PtxProgram program_;
  std::map<std::string_view, Function> functions_;
  std::set<std::string_view> dynamic_;
  std::array<uint32_t, 2> version_{};
  bool target_is_known_ = false;
};

}  // namespace

bool looks_like_ptx(std::string_view text) {
  // Reads only the first words, so that a long C++ source is not split into tokens.
  size_t at = 0;
  while (at < text.size()) {
    const size_t line_end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, line_end - at);
    const size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line.substr(first, 2) != "//") return line.substr(first, 8) == ".version";
    at = line_end + 1;
  }
  return false;
}

PtxProgram prepare_ptx(std::string_view text) { return PtxReader(text, Target::Cuda).read(); }

PtxProgram stamp_ptx(std::string_view text) { return PtxReader(text, Target::OpenCl).read(); }

Edge edge_of(const std::array<uint64_t, 3>& threads, const std::array<uint64_t, 3>& group) {
  Edge edge;
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t rest = threads[i] % group[i];
    if (rest == 0) continue;
    edge.partial = 1;
    edge.last[i] = static_cast<uint32_t>(threads[i] / group[i]);
    edge.threads[i] = static_cast<uint32_t>(rest);
  }
  return edge;
}

std::string stamp_parameter(std::string_view name) {
  return base::format(" .param .align 8 .b8 {}_kymo_stamp[{}]", name, sizeof(Stamp));
}

// For most groups the first compare is enough: a launch may have millions of groups.
std::string stamp_start(std::string_view name) {
  return base::format(
      " {{ .reg .pred %kymo_p; .reg .b32 %kymo_r<2>; .reg .b64 %kymo_d<2>;"
      " ld.param.u64 %kymo_d0, [{}_kymo_stamp+{}];"
      " setp.eq.u64 %kymo_p, %kymo_d0, 0; @%kymo_p bra $kymo_start;"
      " mov.u32 %kymo_r0, %ctaid.x; setp.ne.u32 %kymo_p, %kymo_r0, 0; @%kymo_p bra $kymo_start;"
      " mov.u32 %kymo_r0, %ctaid.y; mov.u32 %kymo_r1, %ctaid.z; or.b32 %kymo_r0, %kymo_r0, %kymo_r1;"
      " mov.u32 %kymo_r1, %tid.x; or.b32 %kymo_r0, %kymo_r0, %kymo_r1;"
      " mov.u32 %kymo_r1, %tid.y; or.b32 %kymo_r0, %kymo_r0, %kymo_r1;"
      " mov.u32 %kymo_r1, %tid.z; or.b32 %kymo_r0, %kymo_r0, %kymo_r1;"
      " setp.ne.u32 %kymo_p, %kymo_r0, 0; @%kymo_p bra $kymo_start;"
      " mov.u64 %kymo_d1, %globaltimer; st.global.u64 [%kymo_d0], %kymo_d1; $kymo_start: }}",
      name, offsetof(Stamp, start));
}

// Of the threads that exit together, the one with the lowest lane stamps.
std::string stamp_end(std::string_view name, size_t number) {
  return base::format(
      " {{ .reg .pred %kymo_p; .reg .b32 %kymo_r<2>; .reg .b64 %kymo_d<2>;"
      " ld.param.u64 %kymo_d0, [{0}_kymo_stamp+{1}];"
      " setp.eq.u64 %kymo_p, %kymo_d0, 0; @%kymo_p bra $kymo_left_{3};"
      " activemask.b32 %kymo_r0; mov.u32 %kymo_r1, %lanemask_lt; and.b32 %kymo_r0, %kymo_r0, %kymo_r1;"
      " setp.ne.u32 %kymo_p, %kymo_r0, 0; @%kymo_p bra $kymo_left_{3};"
      " ld.param.u32 %kymo_r0, [{0}_kymo_stamp+{2}]; mov.u32 %kymo_r1, %smid; and.b32 %kymo_r0, %kymo_r0, %kymo_r1;"
      " mul.wide.u32 %kymo_d1, %kymo_r0, {4}; add.u64 %kymo_d0, %kymo_d0, %kymo_d1;"
      " mov.u64 %kymo_d1, %globaltimer; red.global.max.u64 [%kymo_d0], %kymo_d1; $kymo_left_{3}: }}",
      name, offsetof(Stamp, ends), offsetof(Stamp, mask), number, kStampLine);
}

bool can_stamp(uint32_t version_major, uint32_t version_minor, uint32_t architecture) {
  return (version_major > 6 || (version_major == 6 && version_minor >= 2)) && architecture >= 70;
}

namespace {

bool is_ptx_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

using base::is_space;

// The end of the comment that begins at `at`, or `at` if there is none.
size_t skip_comment(std::string_view text, size_t at) {
  if (text.substr(at, 2) == "//") {
    const size_t end = text.find('\n', at);
    return end == std::string_view::npos ? text.size() : end;
  }
  if (text.substr(at, 2) == "/*") {
    const size_t end = text.find("*/", at + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  return at;
}

size_t word_end(std::string_view text, size_t at) {
  size_t end = at;
  if (text[at] == '"') {
    end = text.find('"', at + 1);
    return end == std::string_view::npos ? text.size() : end + 1;
  }
  while (end < text.size() && is_ptx_word(text[end])) ++end;
  return end == at ? at + 1 : end;
}

}  // namespace

std::vector<PtxToken> split_ptx(std::string_view text) {
  std::vector<PtxToken> tokens;
  for (size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      ++at;
    } else if (const size_t after = skip_comment(text, at); after != at) {
      at = after;
    } else {
      const size_t end = word_end(text, at);
      tokens.push_back({text.substr(at, end - at), at});
      at = end;
    }
  }
  return tokens;
}

}  // namespace kymo::device
