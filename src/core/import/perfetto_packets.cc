#include "import/perfetto_packets.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "import/builder/event_tables.h"
#include "kymo/error.h"

namespace kymo::import {
namespace {

constexpr size_t kStep = 256 << 10;
enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
constexpr uint64_t kPacketTag = 1 << 3 | kBytes;

}  // namespace

bool PerfettoPackets::fill(size_t wanted) {
  while (end_ - begin_ < wanted) {
    if (begin_ != 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    // Grows only with what is there: a packet may claim any size.
    if (buffer_.size() < end_ + kStep) buffer_.resize(std::max(buffer_.size() * 3 / 2, end_ + kStep));
    const size_t count = read_(std::span(buffer_).subspan(end_));
    if (count == 0) return false;
    end_ += count;
  }
  return true;
}

bool PerfettoPackets::skip(uint64_t count) {
  while (count > 0) {
    if (end_ == begin_ && !fill(1)) return false;
    const uint64_t here = std::min<uint64_t>(count, end_ - begin_);
    begin_ += here;
    count -= here;
  }
  return true;
}

bool PerfettoPackets::take_varint(uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < kLongestVarint; ++i) {
    if (!fill(1)) return false;
    const auto byte = static_cast<uint8_t>(buffer_[begin_++]);
    value |= uint64_t{byte & 0x7Fu} << (7 * i);
    if (byte < 0x80) return true;
  }
  return false;
}

bool PerfettoPackets::next(std::string_view& packet) {
  while (damage_.empty()) {
    if (!fill(1)) return false;
    uint64_t tag = 0, length = 0;
    bool there = take_varint(tag);
    if (there && tag == kPacketTag) {
      there = take_varint(length);
      if (there && length <= kLargest) {
        if (fill(length)) {
          packet = {buffer_.data() + begin_, static_cast<size_t>(length)};
          begin_ += length;
          return true;
        }
        there = false;
      } else if (there) {
        ++left_out_;
        there = skip(length);
      }
    } else if (there) {
      switch (tag & 7) {
        case kVarint:
          there = take_varint(length);
          break;
        case kFixed64:
          there = skip(8);
          break;
        case kBytes:
          there = take_varint(length) && skip(length);
          break;
        case kFixed32:
          there = skip(4);
          break;
        default:
          damage_ = "it is not a sequence of packets";
          return false;
      }
    }
    if (!there) damage_ = "the last packet is truncated";
  }
  return false;
}

struct Inflated::Stream {
  z_stream zlib{};
  ZSTD_DStream* zstd = nullptr;
  ZSTD_inBuffer input{};
  bool is_whole = false;  // the last frame has ended
};

Inflated::Inflated(std::string_view compressed, Codec codec) : stream_(std::make_unique<Stream>()) {
  if (codec == Codec::Zstd) {
    constexpr int kLargestWindow = 27;
    stream_->zstd = ZSTD_createDStream();
    if (stream_->zstd == nullptr) throw Error("cannot start zstd: there is no memory for it");
    ZSTD_DCtx_setParameter(stream_->zstd, ZSTD_d_windowLogMax, kLargestWindow);
    stream_->input = {compressed.data(), compressed.size(), 0};
    return;
  }
  if (inflateInit(&stream_->zlib) != Z_OK) throw Error("cannot start zlib: there is no memory for it");
  stream_->zlib.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(compressed.data()));
  stream_->zlib.avail_in = static_cast<uInt>(compressed.size());  // at most PerfettoPackets::kLargest
}

Inflated::~Inflated() {
  if (stream_->zstd != nullptr) {
    ZSTD_freeDStream(stream_->zstd);
  } else {
    inflateEnd(&stream_->zlib);
  }
}

size_t Inflated::read(std::span<char> buffer) {
  const size_t count = stream_->zstd != nullptr ? read_zstd(buffer) : read_zlib(buffer);
  left_ -= std::min(left_, count);
  if (left_ == 0) damaged_ = true;  // a few bytes can stand for any number
  return damaged_ ? 0 : count;
}

size_t Inflated::read_zlib(std::span<char> buffer) {
  z_stream& zlib = stream_->zlib;
  const size_t space = std::min<size_t>(buffer.size(), 1u << 30);
  zlib.next_out = reinterpret_cast<unsigned char*>(buffer.data());
  zlib.avail_out = static_cast<uInt>(space);
  const int outcome = inflate(&zlib, Z_NO_FLUSH);
  const size_t count = space - zlib.avail_out;
  if (outcome != Z_OK && outcome != Z_STREAM_END && count == 0) damaged_ = true;
  return count;
}

size_t Inflated::read_zstd(std::span<char> buffer) {
  ZSTD_outBuffer output{buffer.data(), buffer.size(), 0};
  ZSTD_inBuffer& input = stream_->input;
  while (output.pos < output.size && !damaged_) {
    const size_t before = output.pos;
    if (input.pos == input.size && stream_->is_whole) break;
    const size_t left = ZSTD_decompressStream(stream_->zstd, &output, &input);
    stream_->is_whole = left == 0;
    // Without more input, what is inside comes out until nothing does.
    if (ZSTD_isError(left) || (left != 0 && input.pos == input.size && output.pos == before)) damaged_ = true;
  }
  return output.pos;
}

bool looks_like_perfetto(std::string_view head) {
  constexpr uint32_t kLastField = 2000;  // no field of a packet has a larger number
  // Fields that one of the first packets has: its sequence, clocks, the configuration, …
  constexpr std::array<uint32_t, 15> kCommon = {
      3 << 3 | kVarint, 6 << 3 | kBytes,   8 << 3 | kVarint,  10 << 3 | kVarint, 11 << 3 | kBytes,
      12 << 3 | kBytes, 13 << 3 | kVarint, 33 << 3 | kBytes,  50 << 3 | kBytes,  58 << 3 | kVarint,
      59 << 3 | kBytes, 60 << 3 | kBytes,  79 << 3 | kVarint, 89 << 3 | kBytes,  133 << 3 | kBytes};
  const char *at = head.data(), *const end = at + head.size();
  bool has_common = false, is_first = true;
  bool is_cut = true;  // the head ends inside of what is read
  try {
    while (at != end) {
      is_cut = true;
      if (protozero::decode_varint(&at, end) != kPacketTag) return false;
      const uint64_t length = protozero::decode_varint(&at, end);
      const size_t here = std::min<uint64_t>(length, static_cast<size_t>(end - at));
      is_cut = here < length;
      if (length > PerfettoPackets::kLargest || (is_first && is_cut && head.size() < kHeadBytes)) return false;
      is_first = false;
      for (protozero::pbf_reader fields(at, here); fields.next(); fields.skip()) {
        if (fields.tag() > kLastField) return false;
        has_common |= std::find(kCommon.begin(), kCommon.end(), fields.tag_and_type()) != kCommon.end();
      }
      at += here;
    }
  } catch (const protozero::end_of_buffer_exception&) {
    return has_common && is_cut;
  } catch (const protozero::exception&) {
    return false;
  }
  return has_common;
}

using namespace perfetto;

PerfettoPacket read_packet(std::string_view bytes) {
  PerfettoPacket read;
  Fields fields(bytes);
  for (Field field; fields.next(field);) {
    switch (field.tag) {
      case packet::kTimestamp:
        read.time = field.number;
        break;
      case packet::kSequenceId:
        read.sequence = static_cast<uint32_t>(field.number);
        break;
      case packet::kSequenceFlags:
        read.flags = field.number;
        break;
      case packet::kPreviousDropped:
        read.previous_dropped = field.number != 0;
        break;
      case packet::kTimestampClockId:
        read.clock = static_cast<uint32_t>(field.number);
        break;
      case packet::kTrackEvent:
        read.event = field.bytes;
        read.has_event = true;
        break;
      case packet::kPerfSample:
        read.sample = field.bytes;
        read.has_event = true;
        break;
      case packet::kInternedData:
        read.interned = field.bytes;
        break;
      case packet::kDefaults:
        read.defaults = field.bytes;
        break;
      case packet::kClockSnapshot:
        read.snapshot = field.bytes;
        break;
      case packet::kTrackDescriptor:
        read.descriptor = field.bytes;
        break;
      case packet::kCompressedPackets:
        read.compressed = field.bytes;
        break;
      case packet::kZstdCompressedPackets:
        read.compressed = field.bytes;
        read.codec = Inflated::Codec::Zstd;
        break;
      default:
        if (field.is_bytes()) read.other = field.tag;
    }
  }
  return read;
}

}  // namespace kymo::import
