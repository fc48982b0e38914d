// The packets of a Perfetto trace, one at a time. A packet of compressed packets is replaced by its content.
//
// Uses memory for one packet. Packets larger than kLargest are left out.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <span>
#include <string>
#include <string_view>

#include "convert/perfetto_fields.h"
#include "import/byte_source.h"

namespace kymo::import::perfetto {

// Reads the fields of Perfetto's messages, and checks their types.

using namespace convert::perfetto;

// One field of a message: a number, or bytes.
struct Field {
  uint32_t tag = 0;
  protozero::pbf_wire_type type = protozero::pbf_wire_type::unknown;
  uint64_t number = 0;
  std::string_view bytes;

  bool is_bytes() const { return type == protozero::pbf_wire_type::length_delimited; }
  bool is_number() const { return !is_bytes(); }
  double real() const { return std::bit_cast<double>(number); }  // of a fixed64 field
};

// The fields of a message. next() throws protozero::exception if the message is not valid.
class Fields {
 public:
  explicit Fields(std::string_view message) : reader_(message.data(), message.size()) {}

  bool next(Field& field) {
    if (!reader_.next()) return false;
    field.tag = reader_.tag();
    field.type = reader_.wire_type();
    field.number = 0;
    field.bytes = {};
    switch (field.type) {
      case protozero::pbf_wire_type::varint:
        field.number = reader_.get_uint64();
        break;
      case protozero::pbf_wire_type::fixed64:
        field.number = reader_.get_fixed64();
        break;
      case protozero::pbf_wire_type::fixed32:
        field.number = reader_.get_fixed32();
        break;
      case protozero::pbf_wire_type::length_delimited: {
        const protozero::data_view view = reader_.get_view();
        field.bytes = {view.data(), view.size()};
        break;
      }
      default:
        reader_.skip();  // throws
    }
    return true;
  }

 private:
  protozero::pbf_reader reader_;
};

// Calls take(number) for a repeated number, which is one field each or a list in one field.
template <typename Take>
void for_each_number(const Field& field, bool is_fixed64, Take&& take) {
  if (field.is_number()) return take(field.number);
  const char* at = field.bytes.data();
  const char* const end = at + field.bytes.size();
  while (at != end) {
    if (!is_fixed64) {
      take(protozero::decode_varint(&at, end));
      continue;
    }
    if (end - at < 8) throw protozero::end_of_buffer_exception{};
    uint64_t number = 0;
    for (int i = 7; i >= 0; --i) number = number << 8 | static_cast<uint8_t>(at[i]);
    at += 8;
    take(number);
  }
}

}  // namespace kymo::import::perfetto

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

// One packet of a Perfetto trace: what Kymo reads of it.
struct PerfettoPacket {
  std::optional<uint64_t> time;
  uint32_t sequence = 0, clock = 0;
  uint64_t flags = 0;
  bool previous_dropped = false;
  std::string_view event, sample, interned, defaults, snapshot, descriptor, compressed;
  Inflated::Codec codec = Inflated::Codec::Zlib;
  bool has_event = false;  // of a track, or a CPU sample
  uint32_t other = 0;      // the field of content that is not imported
};

// It has views into `bytes`. Throws protozero::exception.
PerfettoPacket read_packet(std::string_view bytes);

}  // namespace kymo::import
