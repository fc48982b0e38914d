// The messages between `kymo` here and `kymo remote` on another host, over the standard streams of ssh.
//
//   length of the body (4 bytes, little-endian), type (1 byte), body
//
// The far end begins with the line kGreeting. A shell's start-up files may print something before it, which is skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"

namespace kymo::hosts {

enum class FrameType : uint8_t {
  Hello = 1,   // far end: Kymo's version, boot id, host, as strings
  Clock = 2,   // here: what time is it there?
  Time = 3,    // far end: CLOCK_REALTIME in ns
  Run = 4,     // here: the arguments of a kymo command, as strings
  Output = 5,  // far end: what the command printed
  Errors = 6,  // … to its standard error
  Ended = 7,   // far end: the exit code of the command
  Stop = 8,    // here: Ctrl-C for the command that runs
  Read = 9,    // here: a file: path, then the offset to begin at
  Part = 10,   // far end: bytes of the file
  Whole = 11,  // far end: the file is complete: its size and its hash (FileHash)
  Failed = 12  // far end: the file cannot be read: the reason
};

struct Frame {
  FrameType type{};
  std::string body;
};

inline constexpr size_t kMaxBody = size_t{1} << 20;
inline constexpr std::string_view kGreeting = "\nkymo-remote 1\n";
inline constexpr size_t kMaxNoise = size_t{1} << 16;  // before the greeting

std::string encoded(FrameType type, std::string_view body);
std::string encoded(FrameType type, const base::ByteWriter& fields);

// Takes bytes in pieces of any length and returns the messages in them.
class FrameReader {
 public:
  enum class Expect { Greeting, Frames };
  explicit FrameReader(Expect expect) : greeted_(expect == Expect::Frames) {}

  void add(std::string_view bytes) { pending_ += bytes; }
  // Nothing: more bytes are needed. Throws kymo::Error if the bytes are not messages.
  std::optional<Frame> next();

 private:
  bool greeted_;
  std::string pending_;
  size_t at_ = 0;
};

inline constexpr size_t kPartBytes = size_t{1} << 19;  // all parts of a file but the last have this size

// The hash of a file that is sent in parts: XXH3 of the hashes of its parts, so that neither side needs all of it in
// memory.
class FileHash {
 public:
  void add_part(base::Bytes part) { parts_.push_back(base::hash(part)); }
  uint64_t value() const { return base::hash(std::as_bytes(std::span(parts_))); }

 private:
  std::vector<uint64_t> parts_;
};

}  // namespace kymo::hosts
