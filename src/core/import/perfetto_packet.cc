#include "import/perfetto_packet.h"

#include "import/perfetto_message.h"

namespace kymo::import {

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
