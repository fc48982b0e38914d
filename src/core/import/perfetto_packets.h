// The packets of a Perfetto trace, one at a time. A packet of compressed packets is replaced by its content.
//
// Uses memory for one packet. Packets larger than kLargest are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "import/byte_source.h"

namespace kymo::import {

class PerfettoPackets {
 public:
  static constexpr size_t kLargest = 64 << 20;

  using Read = std::function<size_t(std::span<char>)>;  // like ByteSource::read
  explicit PerfettoPackets(Read read) : read_(std::move(read)) {}

  // False at the end. `packet` is valid until the next call.
  bool next(std::string_view& packet);

  uint64_t left_out() const { return left_out_; }
  const std::string& damage() const { return damage_; }  // why it ended, if not at the end of a packet

 private:
  bool fill(size_t wanted);  // false if there is less
  bool skip(uint64_t count);
  bool take_varint(uint64_t& value);

  Read read_;
  std::string buffer_, damage_;
  size_t begin_ = 0, end_ = 0;  // of what is in the buffer and not used yet
  uint64_t left_out_ = 0;
};

// The bytes of a compressed packet.
class Inflated {
 public:
  enum class Codec : uint8_t { Zlib, Zstd };
  static constexpr size_t kMost = size_t{2} << 30;
  // `compressed` must stay valid. What is larger than kMost, or needs a window of more than 128 MiB, is damaged.
  explicit Inflated(std::string_view compressed, Codec codec = Codec::Zlib);
  ~Inflated();
  Inflated(const Inflated&) = delete;
  Inflated& operator=(const Inflated&) = delete;
  size_t read(std::span<char> buffer);
  bool is_damaged() const { return damaged_; }

 private:
  struct Stream;
  size_t read_zlib(std::span<char> buffer);
  size_t read_zstd(std::span<char> buffer);
  std::unique_ptr<Stream> stream_;
  size_t left_ = kMost;
  bool damaged_ = false;
};

// True if these are the first bytes of a Perfetto trace: kHeadBytes, or all if there are less.
inline constexpr size_t kHeadBytes = 4096;
bool looks_like_perfetto(std::string_view head);

}  // namespace kymo::import
