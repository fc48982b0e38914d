#include "import/json_events.h"

#include <simdjson.h>

#include <array>
#include <charconv>
#include <cstring>
#include <deque>

#include "import/json_numbers.h"
#include "import/json_unescape.h"

namespace kymo::import {
namespace {

static_assert(JsonEvents::kPadding >= simdjson::SIMDJSON_PADDING);

struct Invalid {};  // thrown: the text is not valid JSON

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

// Walks over the tokens of a text: brackets, colons, commas, and the first characters of strings and other values.
class JsonEvents::Parser {
 public:
  // Throws Invalid.
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

  void skip_range_values() { skips_values_ = true; }

  void events(const std::function<void(const JsonEvent&)>& visit) {
    expect('[');
    if (token() == ']') {
      ++at_;
    } else {
      for (;;) {
        event_.clear();
        texts_.clear();
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
    if (at_ != end_) throw Invalid();
  }

  std::optional<JsonArgument> only_value() {
    texts_.clear();
    expect('[');
    JsonArgument argument;
    if (!read_argument(argument)) return std::nullopt;
    expect(']');
    return argument;
  }

 private:
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
  [[gnu::noinline]] std::string_view without_escapes(std::string_view text) {
    return text.find('\\') == text.npos ? text : texts_.emplace_back(unescaped_json(text));
  }

  bool is_number() const { return is_digit(token()) || token() == '-'; }

  // A value of any type.
  void skip() {
    if (is_number() || token() == '"') {
      ++at_;
      return;
    }
    skip_long();
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
    const uint32_t length = at_[1] - at_[0];
    if (length > sizeof(uint64_t)) return take_id();
    uint64_t text = 0;  // with a comma or a blank of the text around it
    std::memcpy(&text, text_ + *at_, sizeof text);
    if (length < sizeof text) text &= (uint64_t{1} << (8 * length)) - 1;
    RecentId& recent = recent_ids_[(text ^ text >> 8 ^ text >> 16) % recent_ids_.size()];
    if (recent.text == text) {
      ++at_;
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
        const char* const begin = text_ + *at_;
        skip();
        argument.text = {begin, static_cast<size_t>(text_ + at_[-1] + 1 - begin)};
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
    ++at_;
    argument.type = JsonArgument::Type::Bool;
    argument.bits = first == 't' ? 1 : 0;
    return first != 'n';
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

  // The numbers are read when everything else is known: a third of the events of a PyTorch trace are arrows that are
  // not imported.
  void read_event() {
    pid_ = tid_ = time_ = duration_ = id_ = nullptr;
    read_members([this](std::string_view key) { read_member(key); });
    const uint32_t* const end = at_;
    is_wanted_ = !(event_.category == "ac2g" && (event_.phase == 's' || event_.phase == 'f') && time_ != nullptr);
    if (!is_wanted_) return;
    const auto at = [this](const uint32_t* place) { return at_ = place, place != nullptr; };
    if (at(pid_)) event_.pid = take_row_id();
    if (at(tid_)) event_.tid = take_row_id();
    if (at(id_)) event_.id = take_id();
    if (at(time_)) event_.time_ns = nanoseconds(take_number_text());
    if (at(duration_)) {
      event_.duration_ns = nanoseconds(take_number_text());
      event_.has_bad_duration = !event_.duration_ns;
    }
    at_ = end;
  }

  void remember(const uint32_t*& place) {
    place = at_;
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
    bool reads_all = false;
    ++at_;
    if (token() == '}') return void(++at_);
    do {
      if (token() != '"') throw Invalid();
      const char first = text_[*at_ + 1];
      const bool may_be_needed = first == 'c' || first == 'd' || first == 's' || first == 'f' || first == 'k';
      std::string_view name;
      if (may_be_needed || reads_all) {
        name = take_text();
      } else {
        ++at_;
      }
      expect(':');
      if (reads_all || is_needed(name)) {
        reads_all |= name == "kymo";  // what follows belongs to it
        read_argument_of(name);
      } else {
        skip();
      }
    } while (goes_on('}'));
  }

  // The arguments that say more about a range than a value.
  static bool is_needed(std::string_view name) {
    switch (name.size()) {
      case 4:
        return name == "kymo";
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

  std::unique_ptr<simdjson::internal::dom_parser_implementation> tokens_;
  char* text_ = nullptr;
  const uint32_t *at_ = nullptr, *end_ = nullptr;
  const uint32_t *pid_ = nullptr, *tid_ = nullptr, *time_ = nullptr, *duration_ = nullptr, *id_ = nullptr;
  bool is_wanted_ = true;
  struct RecentId {
    uint64_t text = 0;  // no token is 0
    JsonId id;
  };
  std::array<RecentId, 16> recent_ids_;
  bool has_escapes_ = false, skips_values_ = false;
  std::deque<std::string> texts_;  // of an event: those with escapes
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
  } catch (const Invalid&) {
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
  } catch (const Invalid&) {
    return std::nullopt;
  }
}

}  // namespace kymo::import
