#include "import/json_pieces.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/printable.h"
#include "base/text.h"
#include "import/json_events.h"
#include "kymo/error.h"

namespace kymo::import {

bool JsonScan::find_end(std::string_view text) {
  while (at < text.size()) {
    const char c = text[at];
    if (in_text) {
      ++at;
      if (escaped) {
        escaped = false;
      } else if (c == '\\') {
        escaped = true;
      } else if (c == '"') {
        in_text = false;
        if (depth == 0) return true;
      }
      continue;
    }
    switch (c) {
      case '"':
        in_text = started = true;
        break;
      case '{':
      case '[':
        ++depth;
        started = true;
        break;
      case '}':
      case ']':
        if (depth == 0) return true;  // the end of what is around the value
        if (--depth == 0) {
          ++at;
          return true;
        }
        break;
      case ',':
      case ':':
        if (depth == 0) return true;
        break;
      default:
        if (!is_json_blank(c)) started = true;
    }
    ++at;
  }
  return false;
}

namespace {

constexpr size_t kReadBytes = 1 << 20;
constexpr size_t kListBytes = 256 << 10;  // of a piece that was cut byte by byte
constexpr size_t kMostMembers = 4096;
constexpr size_t kLongestKey = 32;         // of a first key
constexpr unsigned kMostWrongGuesses = 4;  // the text does not allow guesses

void set_text(JsonPiece& piece, std::string_view inside) {
  piece.size = inside.size() + 2;
  if (piece.buffer.size() < piece.size + JsonEvents::kPadding) piece.buffer.resize(piece.size + JsonEvents::kPadding);
  piece.buffer[0] = '[';
  std::memcpy(piece.buffer.data() + 1, inside.data(), inside.size());
  piece.buffer[piece.size - 1] = ']';
}

}  // namespace

bool JsonPieces::fill() {
  if (at_end_) return false;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t had = buffer_.size();
  buffer_.resize(had + kReadBytes);
  const size_t count = source_.read({buffer_.data() + had, kReadBytes});
  buffer_.resize(had + count);
  at_end_ = count == 0;
  return !at_end_;
}

void JsonPieces::use(size_t count) {
  begin_ += count;
  careful_left_ -= std::min(careful_left_, count);
}

// The next character that is not blank; 0 at the end.
char JsonPieces::skip_blanks() {
  for (;;) {
    size_t count = 0;
    while (begin_ + count < buffer_.size() && is_json_blank(buffer_[begin_ + count])) ++count;
    use(count);
    if (begin_ < buffer_.size()) return buffer_[begin_];
    if (!fill()) return 0;
  }
}

// Skips what is between two events. It may be put back.
void JsonPieces::skip_commas() {
  constexpr size_t kMostSkipped = 64 << 10;
  do {
    size_t count = 0;
    while (begin_ + count < buffer_.size() &&
           (is_json_blank(buffer_[begin_ + count]) || buffer_[begin_ + count] == ','))
      ++count;
    skipped_.append(buffer_, begin_, count);
    if (skipped_.size() > kMostSkipped) skipped_ = ",";  // this much means nothing
    use(count);
  } while (begin_ == buffer_.size() && fill());
}

void JsonPieces::start() {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  fill();
  if (rest().starts_with(kByteOrderMark)) begin_ += kByteOrderMark.size();
  const char first = skip_blanks();
  if (first == '[') {
    state_ = State::Events;
    events_seen_ = true;
  } else if (first == '{') {
    state_ = State::Members;
    in_object_ = true;
  } else {
    throw Error("the text is neither a list of events nor an object with a list \"traceEvents\"");
  }
  ++begin_;
}

// The value that begins at begin_, as text. False: the file ends first.
bool JsonPieces::read_value(std::string* into, size_t longest) {
  JsonScan scan;
  bool whole = true;
  while (!scan.find_end(rest())) {
    if (scan.at > longest) {
      whole = false;
      use(scan.at);
      scan.at = 0;
    }
    if (!fill()) {
      const bool is_value = scan.started && !scan.in_text && scan.depth == 0;
      if (!is_value) return false;
      break;
    }
  }
  if (into != nullptr) *into = whole ? std::string(rest().substr(0, scan.at)) : std::string();
  use(scan.at);
  return true;
}

bool JsonPieces::read_text(std::string& into) {
  if (skip_blanks() != '"') return false;
  if (!read_value(&into, kLongestMember) || into.size() < 2) return false;
  into = into.substr(1, into.size() - 2);
  return true;
}

void JsonPieces::read_members() {
  for (;;) {
    const char c = skip_blanks();
    if (c == ',') {
      use(1);
      continue;
    }
    if (c != '"') {
      state_ = State::Done;
      truncated_ = c == 0;
      return;
    }
    std::string name, value;
    if (!read_text(name) || skip_blanks() != ':') {
      state_ = State::Done;
      truncated_ = true;
      return;
    }
    use(1);
    if (skip_blanks() == '[' && name == "traceEvents") {
      use(1);
      state_ = State::Events;
      events_seen_ = true;
      return;
    }
    if (!read_value(&value, kLongestMember)) {
      state_ = State::Done;
      truncated_ = true;
      return;
    }
    if (members_.size() < kMostMembers) members_.emplace_back(std::move(name), std::move(value));
  }
}

// Most writers begin all events with the same key.
void JsonPieces::learn_first_key() {
  const std::string_view text = rest();
  if (!text.starts_with('{')) return;
  size_t begin = 1;
  while (begin < text.size() && is_json_blank(text[begin])) ++begin;
  if (begin >= text.size() || text[begin] != '"') return;
  const size_t end = text.find_first_of("\"\\", begin + 1);
  if (end == text.npos || text[end] != '"' || end - begin > kLongestKey) return;
  first_key_ = text.substr(begin, end + 1 - begin);
}

// The position of the last comma after which an event seems to begin; 0: there is none.
size_t JsonPieces::last_event(std::string_view text) const {
  const auto seems_to_begin = [&](size_t at) {
    ++at;
    while (at < text.size() && is_json_blank(text[at])) ++at;
    if (text.compare(at, first_key_.size(), first_key_) != 0) return false;
    at += first_key_.size();
    while (at < text.size() && is_json_blank(text[at])) ++at;
    return at < text.size() && text[at] == ':';
  };
  for (size_t at = text.size(); at > 1;) {
    const void* const found = memrchr(text.data(), '{', at);
    if (found == nullptr) return 0;
    at = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    if (!seems_to_begin(at)) continue;
    size_t before = at;
    while (before > 0 && is_json_blank(text[before - 1])) --before;
    if (before > 1 && text[before - 1] == ',') return before - 1;
  }
  return 0;
}

// Reads into the piece itself, and keeps only the rest after the cut.
bool JsonPieces::guessed_piece(JsonPiece& piece) {
  if (first_key_.empty() || wrong_guesses_ >= kMostWrongGuesses) return false;
  const std::string_view have = rest();
  if (have.size() < piece_bytes_ && at_end_) return false;
  const size_t wanted = piece_bytes_ + 2 + JsonEvents::kPadding;
  if (piece.buffer.size() < wanted) piece.buffer.resize(wanted);
  char* const text = piece.buffer.data() + 1;
  size_t size = std::min(have.size(), piece_bytes_);
  std::memcpy(text, have.data(), size);
  if (size < piece_bytes_) {
    size += source_.read({text + size, piece_bytes_ - size});
    at_end_ = size < piece_bytes_;
    buffer_.clear();
    begin_ = 0;
  } else {
    begin_ += size;
  }
  const std::string_view whole(text, size);
  const size_t length = size < piece_bytes_ ? 0 : last_event(whole);
  // What is not in this piece comes before the rest of the buffer.
  if (begin_ >= size - length) {
    begin_ -= size - length;
  } else {
    buffer_.replace(0, begin_, whole.substr(length));
    begin_ = 0;
  }
  if (length == 0) return false;
  piece.is_guessed = true;
  piece.size = length + 2;
  piece.buffer[0] = '[';
  text[length] = ']';
  return true;
}

// Leaves out the event whose first bytes were scanned.
bool JsonPieces::skip_long_event(JsonScan& scan) {
  ++left_out_;
  do {
    use(scan.at);
    scan.at = 0;
    if (!fill()) return false;
  } while (!scan.find_end(rest()));
  use(scan.at);
  return true;
}

// Some events. False: the list of events ends here.
bool JsonPieces::scanned_piece(JsonPiece& piece) {
  for (;;) {
    const char first = skip_blanks();
    if (first == ',') {
      use(1);
      continue;
    }
    if (first == ']') {
      use(1);
      state_ = in_object_ ? State::Members : State::Done;
      return false;
    }
    if (first == 0) {
      state_ = State::Done;
      truncated_ = in_object_;  // a plain list may end without its bracket
      return false;
    }
    size_t length = 0;
    JsonScan scan;
    for (bool more = true; more;) {
      if (!scan.find_end(rest())) {
        if (length > 0) break;
        if (scan.at > kLongestEvent) {
          if (!skip_long_event(scan)) truncated_ = true;
          break;
        }
        if (fill()) continue;
        truncated_ = true;  // inside an event
        state_ = State::Done;
        begin_ = buffer_.size();
        return false;
      }
      if (scan.at == 0) {  // a stray character
        use(1);
        break;
      }
      length = scan.at;
      // More events, up to the end of a piece.
      while (scan.at < rest().size() && (is_json_blank(rest()[scan.at]) || rest()[scan.at] == ',')) ++scan.at;
      more = length < kListBytes && scan.at < rest().size() && rest()[scan.at] == '{';
      scan = {scan.at, 0, false, false, false};
    }
    if (length == 0) continue;
    piece.is_guessed = false;
    set_text(piece, rest().substr(0, length));
    use(length);
    return true;
  }
}

JsonPieces::Next JsonPieces::next(JsonPiece& piece, bool is_certain) {
  if (state_ == State::Start) start();
  for (;;) {
    if (state_ == State::Members) read_members();
    if (state_ == State::Done) return Next::End;
    if (state_ != State::Events) continue;
    skip_commas();
    if (first_key_.empty()) learn_first_key();
    const bool is_guessed = careful_left_ == 0 && guessed_piece(piece);
    // What follows depends on where the pieces before it end.
    if (!is_guessed && !is_certain) return Next::Uncertain;
    if (!is_guessed && !scanned_piece(piece)) continue;
    piece.before = std::exchange(skipped_, {});
    return Next::Piece;
  }
}

void JsonPieces::put_back(const std::vector<const JsonPiece*>& pieces) {
  std::string text;
  for (const JsonPiece* const piece : pieces) {
    if (!text.empty()) text += piece->before;
    text += piece->inside();
  }
  text += std::exchange(skipped_, {});
  buffer_.replace(0, begin_, text);
  begin_ = 0;
  careful_left_ = pieces.front()->inside().size() + 1;
  ++wrong_guesses_;
}

namespace {

// Not JSON, but written by programs that print floating-point numbers as they are.
constexpr std::array<std::string_view, 9> kNotNumbers = {"-Infinity", "+Infinity", "Infinity", "-NaN", "NaN",
                                                         "-nan",      "nan",       "-inf",     "inf"};

size_t not_a_number(std::string_view text) {
  for (const std::string_view name : kNotNumbers)
    if (text.starts_with(name)) return name.size();
  return 0;
}

}  // namespace

std::string repaired_json(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  bool in_text = false;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (in_text) {
      const size_t length = base::utf8_length(text.substr(at));
      if (length == 0) {
        out += base::kReplacementCharacter;
        ++at;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        out += base::format("\\u{:04x}", static_cast<unsigned char>(c));
        ++at;
      } else if (c == '\\' && at + 1 < text.size()) {
        out.append(text, at, 2);
        at += 2;
      } else {
        in_text = c != '"';
        out.append(text, at, length);
        at += length;
      }
      continue;
    }
    if (const size_t length = not_a_number(text.substr(at)); length != 0) {
      out += "null";
      at += length;
      continue;
    }
    if (c == ',') {  // not before a closing bracket
      size_t next = at + 1;
      while (next < text.size() && (is_json_blank(text[next]) || text[next] == ',')) ++next;
      if (next < text.size() && (text[next] == ']' || text[next] == '}')) {
        at = next;
        continue;
      }
    }
    in_text = c == '"';
    if (static_cast<unsigned char>(c) < 0x80) out += c;
    ++at;
  }
  return out;
}

}  // namespace kymo::import
