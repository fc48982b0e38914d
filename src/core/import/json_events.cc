#include "import/json_events.h"

#include <simdjson.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <new>

#include "base/printable.h"

namespace kymo::import {

namespace {

// The characters of a JSON text with escapes.

// `escaped` is without its quotes. Half of a surrogate pair becomes U+FFFD; an unknown escape is the character itself.
std::string unescaped_json(std::string_view escaped);

constexpr size_t kDigits = 4;  // of \uXXXX

void append_utf8(std::string& to, uint32_t point) {
  const auto part = [&](unsigned shift) { to += static_cast<char>(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    to += static_cast<char>(point);
  } else if (point < 0x800) {
    to += static_cast<char>(0xC0 | point >> 6);
    part(0);
  } else if (point < 0x10000) {
    to += static_cast<char>(0xE0 | point >> 12);
    part(6), part(0);
  } else {
    to += static_cast<char>(0xF0 | point >> 18);
    part(12), part(6), part(0);
  }
}

// Four digits at `at`; false: there are none.
bool take_unit(std::string_view text, size_t at, uint32_t& unit) {
  if (text.size() < at + kDigits) return false;
  const char* const begin = text.data() + at;
  const auto [end, error] = std::from_chars(begin, begin + kDigits, unit, 16);
  return error == std::errc() && end == begin + kDigits;
}

bool is_high(uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

std::string unescaped_json(std::string_view escaped) {
  std::string text;
  text.reserve(escaped.size());
  for (size_t at = 0; at < escaped.size(); ++at) {
    if (escaped[at] != '\\' || at + 1 == escaped.size()) {
      text += escaped[at];
      continue;
    }
    uint32_t unit = 0, low = 0;
    switch (const char c = escaped[++at]) {
      case 'b':
        text += '\b';
        break;
      case 'f':
        text += '\f';
        break;
      case 'n':
        text += '\n';
        break;
      case 'r':
        text += '\r';
        break;
      case 't':
        text += '\t';
        break;
      case 'u':
        if (!take_unit(escaped, at + 1, unit)) {
          text += c;
          break;
        }
        at += kDigits;
        if (is_high(unit) && escaped.substr(at + 1, 2) == "\\u" && take_unit(escaped, at + 3, low) && is_low(low)) {
          append_utf8(text, 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
          at += 2 + kDigits;
        } else if (is_high(unit) || is_low(unit)) {
          text += base::kReplacementCharacter;
        } else {
          append_utf8(text, unit);
        }
        break;
      default:
        text += c;
    }
  }
  return text;
}

// Walks over the tokens of a JSON text: brackets, colons, commas, and the first characters of strings and other values.
// simdjson finds them. Nothing is built from them: what a reader does not need costs it only the step over the tokens.
class JsonTokens {
 public:
  struct Invalid {};  // thrown by all functions: the text is not valid JSON

  // The text must have SIMDJSON_PADDING bytes after it, which become zero.
  void start(char* text, size_t size) {
    // The next size is larger than the text, so that pieces of similar sizes need no new memory.
    if (tokens_ == nullptr || tokens_->capacity() < size) {
      constexpr size_t kDepth = 1;  // only simdjson's own second stage needs more
      if (simdjson::get_active_implementation()->create_dom_parser_implementation(size + size / 8, kDepth, tokens_) !=
          simdjson::SUCCESS)
        throw std::bad_alloc();
    }
    std::memset(text + size, 0, simdjson::SIMDJSON_PADDING);
    if (tokens_->stage1(reinterpret_cast<const uint8_t*>(text), size, simdjson::stage1_mode::regular) !=
        simdjson::SUCCESS)
      throw Invalid();
    text_ = text;
    uint32_t* const end = tokens_->structural_indexes.get() + tokens_->n_structural_indexes;
    end[0] = end[1] = static_cast<uint32_t>(size);  // as simdjson leaves them; a zero follows the text
    at_ = tokens_->structural_indexes.get();
    end_ = end;
    has_escapes_ = std::memchr(text, '\\', size) != nullptr;
  }

  // A place among the tokens, to return to.
  using Place = const uint32_t*;
  Place place() const { return at_; }
  void go_to(Place place) { at_ = place; }
  bool is_at_end() const { return at_ == end_; }

  char token() const { return text_[*at_]; }  // 0 at the end
  void expect(char c) {
    if (token() != c) throw Invalid();
    ++at_;
  }
  // True: a comma follows. False: the end of the object or list.
  bool goes_on(char closing) {
    const char c = token();
    if (c != ',' && c != closing) throw Invalid();
    ++at_;
    return c == ',';
  }

  // From the first character of the token to the last one that is not blank.
  [[gnu::always_inline]] std::string_view take_raw() {
    const char* const begin = text_ + at_[0];
    const char* end = text_ + at_[1];
    while (end != begin && end[-1] <= ' ' && is_blank(end[-1])) --end;
    ++at_;
    return {begin, static_cast<size_t>(end - begin)};
  }

  [[gnu::always_inline]] std::string_view take_text() {
    const std::string_view raw = take_raw();
    if (raw.size() < 2 || raw.back() != '"') throw Invalid();
    const std::string_view text(raw.data() + 1, raw.size() - 2);
    return has_escapes_ ? without_escapes(text) : text;
  }

  void next() { ++at_; }
  bool is_number() const { return is_digit(token()) || token() == '-'; }

  // Steps over a value of any type.
  void skip() {
    if (is_number() || token() == '"') {
      ++at_;
      return;
    }
    skip_long();
  }

  // "true", "false" or "null".
  void check_word() {
    if (at_ == end_) throw Invalid();
    const std::string_view word = take_raw();
    if (word != "true" && word != "false" && word != "null") throw Invalid();
    --at_;
  }

  // Strings may be numbers: some writers quote their times and ids.
  std::string_view take_number_text() {
    if (is_number()) return take_raw();
    if (token() == '"') return take_text();
    skip();
    return {};
  }

  // Calls read(key) for each member, which takes the value.
  template <typename Read>
  void read_members(Read&& read) {
    if (token() != '{') return skip();
    ++at_;
    if (token() == '}') {
      ++at_;
      return;
    }
    do {
      if (token() != '"') throw Invalid();
      const std::string_view key = take_text();
      expect(':');
      read(key);
    } while (goes_on('}'));
  }

  // The token with the blanks after it. take_raw() is without them.
  std::string_view token_text() const { return {text_ + at_[0], at_[1] - at_[0]}; }
  // From `begin` to the last token that was taken, which is a bracket.
  std::string_view text_since(Place begin) const { return {text_ + *begin, at_[-1] + 1 - *begin}; }
  // Ends the life of texts that had escapes.
  void forget_texts() { texts_.clear(); }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

  [[gnu::noinline]] std::string_view without_escapes(std::string_view text) {
    return text.find('\\') == text.npos ? text : texts_.emplace_back(unescaped_json(text));
  }

  void skip_long() {
    uint32_t depth = 0;
    do {
      switch (token()) {
        case '{':
        case '[':
          ++depth;
          break;
        case '}':
        case ']':
          if (depth == 0) throw Invalid();
          --depth;
          break;
        case ',':
        case ':':
          if (depth == 0) throw Invalid();
          break;
        case '"':
          break;
        default:
          if (!is_number()) check_word();
      }
      ++at_;
    } while (depth != 0);
  }

  std::unique_ptr<simdjson::internal::dom_parser_implementation> tokens_;
  char* text_ = nullptr;
  Place at_ = nullptr, end_ = nullptr;
  bool has_escapes_ = false;
  std::deque<std::string> texts_;  // those with escapes
};

constexpr double kFarthest = 9.2e18;  // nanoseconds

}  // namespace

void read_number(std::string_view text, JsonArgument& argument) {
  const char *const begin = text.data(), *const end = begin + text.size();
  const auto is_all = [end](std::from_chars_result result) { return result.ptr == end && result.ec == std::errc(); };
  int64_t number = 0;
  if (take_short_number(text, number) || is_all(std::from_chars(begin, end, number))) {
    argument.type = JsonArgument::Type::Int;
    argument.bits = static_cast<uint64_t>(number);
  } else if (uint64_t large = 0; is_all(std::from_chars(begin, end, large))) {
    argument.type = JsonArgument::Type::UInt;
    argument.bits = large;
  } else {
    argument.type = JsonArgument::Type::Double;
    argument.real = 0;
    std::from_chars(begin, end, argument.real);
  }
}

std::optional<int64_t> nanoseconds(std::string_view text) {
  constexpr uint64_t kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / 1000 - 1;
  const bool negative = text.starts_with('-');
  size_t at = negative || text.starts_with('+') ? 1 : 0;
  uint64_t whole = 0;
  const size_t first = at;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    whole = whole * 10 + static_cast<uint64_t>(text[at] - '0');
    if (whole > kMost) return std::nullopt;
  }
  const bool has_digits = at > first;
  uint64_t ns = 0;
  bool plain = has_digits;
  if (plain && at < text.size() && text[at] == '.') {
    uint64_t unit = 100;
    bool round_up = false;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      if (unit > 0) {
        ns += static_cast<uint64_t>(text[at] - '0') * unit;
        unit /= 10;
        if (unit == 0) round_up = at + 1 < text.size() && text[at + 1] >= '5' && text[at + 1] <= '9';
      }
    }
    ns += round_up ? 1 : 0;
  }
  if (!plain || at != text.size()) {  // an exponent, or not a number
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    const double scaled = value * 1000;
    if (!(std::abs(scaled) < kFarthest)) return std::nullopt;
    return static_cast<int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  }
  const auto total = static_cast<int64_t>(whole * 1000 + ns);
  return negative ? -total : total;
}

std::optional<int64_t> time_nanoseconds(std::string_view text) {
  if (const auto ns = nanoseconds(text)) return ns;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error != std::errc() || !(std::abs(value * 1000) >= kFarthest))
    return std::nullopt;
  return static_cast<int64_t>(std::copysign(kFarthest, value));
}

static_assert(JsonEvents::kPadding >= simdjson::SIMDJSON_PADDING);

class JsonEvents::Parser : private JsonTokens {
 public:
  using JsonTokens::start;

  void skip_range_values() { skips_values_ = true; }

  void events(const std::function<void(const JsonEvent&)>& visit) {
    expect('[');
    if (token() == ']') {
      next();
    } else {
      for (;;) {
        event_.clear();
        forget_texts();
        is_wanted_ = true;
        if (token() == '{') {
          read_event();
        } else {
          skip();
        }
        if (is_wanted_) visit(event_);
        if (!goes_on(']')) break;
      }
    }
    // Nothing may follow: a piece that was cut at the wrong place may have the end of the list in it.
    if (!is_at_end()) throw Invalid();
  }

  std::optional<JsonArgument> only_value() {
    forget_texts();
    expect('[');
    JsonArgument argument;
    if (!read_argument(argument)) return std::nullopt;
    expect(']');
    return argument;
  }

 private:
  JsonId take_id() {
    JsonId id;
    const bool is_text = token() == '"';
    if (!is_text && !is_number()) {
      skip();
      return id;
    }
    const std::string_view text = take_number_text();
    if (take_short_number(text, id.number) && (!is_text || std::to_string(id.number) == text)) return id;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id.number);
    const bool is_whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
    if (is_whole && (!is_text || std::to_string(id.number) == text)) return id;
    return {true, 0, text};
  }

  // A pid or tid. Most events have one of a few.
  JsonId take_row_id() {
    const std::string_view token = token_text();
    if (token.size() > sizeof(uint64_t)) return take_id();
    uint64_t text = 0;
    std::memcpy(&text, token.data(), sizeof text);  // the next token, or the bytes after the text, follow
    if (token.size() < sizeof text) text &= (uint64_t{1} << (8 * token.size())) - 1;
    RecentId& recent = recent_ids_[(text ^ text >> 8 ^ text >> 16) % recent_ids_.size()];
    if (recent.text == text) {
      next();
      return recent.id;
    }
    const JsonId id = take_id();
    if (!id.is_text) recent = {text, id};
    return id;
  }

  // False: the value is null.
  bool read_argument(JsonArgument& argument) {
    switch (token()) {
      case '"':
        argument.type = JsonArgument::Type::String;
        argument.text = take_text();
        return true;
      case '{':
      case '[': {
        argument.type = JsonArgument::Type::Json;
        const Place begin = place();
        skip();
        argument.text = text_since(begin);
        return true;
      }
      default:
        break;
    }
    if (is_number()) {
      read_number(take_raw(), argument);
      return true;
    }
    const char first = token();
    check_word();
    next();
    argument.type = JsonArgument::Type::Bool;
    argument.bits = first == 't' ? 1 : 0;
    return first != 'n';
  }

  // The numbers are read when everything else is known: a third of the events of a PyTorch trace are arrows that are
  // not imported.
  void read_event() {
    pid_ = tid_ = time_ = duration_ = id_ = nullptr;
    read_members([this](std::string_view key) { read_member(key); });
    const Place end = place();
    is_wanted_ = !(event_.category == "ac2g" && (event_.phase == 's' || event_.phase == 'f') && time_ != nullptr);
    if (!is_wanted_) return;
    const auto at = [this](Place place) { return go_to(place), place != nullptr; };
    if (at(pid_)) event_.pid = take_row_id();
    if (at(tid_)) event_.tid = take_row_id();
    if (at(id_)) event_.id = take_id();
    if (at(time_)) event_.time_ns = time_nanoseconds(take_number_text());
    if (at(duration_)) {
      event_.duration_ns = nanoseconds(take_number_text());
      event_.has_bad_duration = !event_.duration_ns;
    }
    go_to(end);
  }

  void remember(Place& place) {
    place = this->place();
    skip();
  }

  void read_member(std::string_view key) {
    // By their lengths: an event has up to ten of them.
    switch (key.size()) {
      case 2:
        if (key == "ph") {
          const std::string_view phase = token() == '"' ? take_text() : (skip(), std::string_view());
          event_.phase = phase.empty() ? '\0' : phase[0];
          return;
        }
        if (key == "ts") return remember(time_);
        if (key == "id") return remember(id_);
        break;
      case 3:
        if (key == "cat") return void(event_.category = take_number_text());
        if (key == "pid") return remember(pid_);
        if (key == "tid") return remember(tid_);
        if (key == "dur") return remember(duration_);
        if (key == "id2") return read_long_id();
        break;
      case 4:
        if (key == "name") return void(event_.name = take_number_text());
        if (key == "args") return read_arguments();
        break;
      case 5:
        if (key == "scope" && token() == '"') return void(event_.scope = take_text());
        break;
      default:
        break;
    }
    skip();
  }

  // {"local": "0x1"} or {"global": …}.
  void read_long_id() {
    read_members([this](std::string_view scope) {
      event_.id_is_local = scope == "local";
      event_.id = take_id();
    });
  }

  void read_arguments() {
    if (skips_values_ && event_.phase == 'X' && token() == '{') return read_needed_arguments();
    read_members([&](std::string_view name) { read_argument_of(name); });
  }

  void read_argument_of(std::string_view name) {
    JsonArgument& argument = event_.arguments.emplace_back();
    argument.key = name;
    if (!read_argument(argument)) event_.arguments.pop_back();
  }

  // Only those of is_needed(). Most are not, and most of these begin with another letter.
  void read_needed_arguments() {
    next();
    if (token() == '}') return void(next());
    do {
      if (token() != '"') throw Invalid();
      const char first = token_text()[1];
      std::string_view name;
      if (first == 'c' || first == 'd' || first == 's' || first == 'f' || first == 'o') {
        name = take_text();
      } else {
        next();
      }
      expect(':');
      if (is_needed(name)) {
        read_argument_of(name);
      } else {
        skip();
      }
    } while (goes_on('}'));
  }

  // The arguments that say more about a range than a value.
  static bool is_needed(std::string_view name) {
    switch (name.size()) {
      case 6:
        return name == "device" || name == "stream" || name == "colour";
      case 7:
        return name == "context";
      case 8:
        return name == "finished";
      case 11:
        return name == "correlation";
      default:
        return false;
    }
  }

  Place pid_ = nullptr, tid_ = nullptr, time_ = nullptr, duration_ = nullptr, id_ = nullptr;  // of the event
  bool is_wanted_ = true;
  struct RecentId {
    uint64_t text = 0;  // no token is 0
    JsonId id;
  };
  std::array<RecentId, 16> recent_ids_;
  bool skips_values_ = false;
  JsonEvent event_;
};

JsonEvents::JsonEvents() : parser_(std::make_unique<Parser>()) {}
JsonEvents::~JsonEvents() = default;

void JsonEvents::skip_range_values() { parser_->skip_range_values(); }

bool JsonEvents::parse(char* text, size_t size, const std::function<void(const JsonEvent&)>& visit) {
  try {
    parser_->start(text, size);
    parser_->events(visit);
    return true;
  } catch (const JsonTokens::Invalid&) {
    return false;
  }
}

bool JsonEvents::parse(std::string& text, const std::function<void(const JsonEvent&)>& visit) {
  const size_t size = text.size();
  text.resize(size + kPadding);
  const bool is_valid = parse(text.data(), size, visit);
  text.resize(size);
  return is_valid;
}

std::optional<JsonArgument> JsonEvents::value(std::string& text) {
  text.insert(text.begin(), '[');
  text += ']';
  const size_t size = text.size();
  text.resize(size + kPadding);
  try {
    parser_->start(text.data(), size);
    return parser_->only_value();
  } catch (const JsonTokens::Invalid&) {
    return std::nullopt;
  }
}

}  // namespace kymo::import
