// Cuts the text of a Chrome trace into pieces that can be parsed one by one, so that a file of any size needs little
// memory and several threads can parse it.
//
//   JsonPieces pieces(source);
//   for (JsonPiece piece; pieces.next(piece, true) == JsonPieces::Next::Piece;)
//     if (!parse(piece)) pieces.put_back(…);             // comes again, cut more carefully
//   pieces.members()                                     // the rest of the file: "baseTimeNanoseconds", …
//
// A piece is a JSON list of events: "[{…},{…}]". Finding the ends of events exactly means a look at every byte, which
// takes as long as parsing. So pieces are cut where an event seems to begin: at a `{` after a comma, whose first key is
// that of the first event of the file. That text cannot be inside a JSON string. It can be inside the arguments of an
// event; then the piece ends inside a value. Such a piece and all pieces after it are put back, and the text is cut
// byte by byte.
//
// Not thread-safe. Memory: one piece. An event that is longer than kLongestEvent is left out and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/byte_source.h"

namespace kymo::import {

// Finds the ends of JSON values, byte by byte. Slower than a parser, but it needs no whole text, and does not stop at
// what is not valid.

inline bool is_json_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

struct JsonScan {
  size_t at = 0;
  uint32_t depth = 0;
  bool in_text = false, escaped = false, started = false;

  // Moves `at` to the end of the value that begins where the scan began. False: the text ends first; call it again with
  // a longer text.
  bool find_end(std::string_view text);
};

// Splits a list of values into lists of about `bytes`, or into single values if it is 0. Calls take(begin, size) for
// each. Returns false if the text does not end with a whole value.
template <typename Take>
bool split_json_values(std::string_view text, size_t bytes, Take&& take) {
  const auto skip = [&](size_t at) {
    while (at < text.size() && (is_json_blank(text[at]) || text[at] == ',')) ++at;
    return at;
  };
  for (size_t begin = skip(0); begin < text.size();) {
    size_t end = begin, next = begin;
    do {
      JsonScan scan;
      if (!scan.find_end(text.substr(next))) {
        const bool is_whole = scan.started && scan.depth == 0 && !scan.in_text;  // a number at the end
        if (!is_whole) return false;
      }
      if (scan.at == 0) scan.at = 1;  // a stray character
      end = next + scan.at;
      next = skip(end);
    } while (next < text.size() && end - begin < bytes);
    take(begin, end - begin);
    begin = next;
  }
  return true;
}

struct JsonPiece {
  std::string buffer;  // larger than the text, so that its memory is used again without being cleared
  size_t size = 0;
  bool is_guessed = false;  // its end may be inside an event
  std::string before;       // commas and blanks between the piece before it and this one

  char* text() { return buffer.data(); }  // with its brackets
  std::string_view inside() const { return std::string_view(buffer).substr(1, size - 2); }
};

class JsonPieces {
 public:
  static constexpr size_t kPieceBytes = 256 << 10;  // with its tokens it fits into a cache of a core
  static constexpr size_t kLongestEvent = 32 << 20;
  static constexpr size_t kLongestMember = 16 << 20;

  // `piece_bytes` is for tests.
  explicit JsonPieces(ByteSource& source, size_t piece_bytes = kPieceBytes)
      : source_(source), piece_bytes_(piece_bytes) {}

  enum class Next : uint8_t { Piece, End, Uncertain };
  // The next piece, or the end of the file. `is_certain`: all guessed pieces before it have ended at the end of an
  // event. If not, the result may be Uncertain: ask again when they have been parsed. Throws kymo::Error if the text is
  // neither a list nor an object with a list "traceEvents".
  Next next(JsonPiece& piece, bool is_certain);

  // These pieces come again: the last ones of next(), in order. The first one is guessed and ends inside an event.
  void put_back(const std::vector<const JsonPiece*>& pieces);

  // Members of the outermost object other than the events: name and JSON text.
  const std::vector<std::pair<std::string, std::string>>& members() const { return members_; }
  bool is_truncated() const { return truncated_; }  // the file ends inside the list of events
  bool had_list() const { return events_seen_; }    // a list of events was found
  uint64_t left_out() const { return left_out_; }   // events longer than kLongestEvent

 private:
  enum class State : uint8_t { Start, Members, Events, Done };

  std::string_view rest() const { return std::string_view(buffer_).substr(begin_); }
  bool fill();  // reads more; false at the end
  void use(size_t count);
  char skip_blanks();
  void skip_commas();
  void start();
  void read_members();
  bool read_value(std::string* into, size_t longest);
  bool read_text(std::string& into);
  void learn_first_key();
  size_t last_event(std::string_view text) const;
  bool guessed_piece(JsonPiece& piece);
  bool scanned_piece(JsonPiece& piece);
  bool skip_long_event(JsonScan& scan);

  ByteSource& source_;
  const size_t piece_bytes_;
  std::string buffer_;
  size_t begin_ = 0;     // of what is not used yet in buffer_
  std::string skipped_;  // commas and blanks after the last piece
  bool at_end_ = false, truncated_ = false, in_object_ = false, events_seen_ = false;
  State state_ = State::Start;
  uint64_t left_out_ = 0;
  std::string first_key_;  // of an event, with its quotes; empty: not known
  unsigned wrong_guesses_ = 0;
  size_t careful_left_ = 0;  // bytes that are cut byte by byte
  std::vector<std::pair<std::string, std::string>> members_;
};

// Makes valid JSON of what some writers produce: NaN and Infinity, bytes that are not UTF-8, control characters inside
// texts, and commas before a closing bracket. Texts that are valid stay as they are.
std::string repaired_json(std::string_view text);

}  // namespace kymo::import
