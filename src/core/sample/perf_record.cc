#include "sample/perf_record.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <bit>

#include "kymo/error.h"
#include "sample/preload/packets.h"

namespace kymo::sample {
namespace {

// Constants that older headers lack.
constexpr uint16_t kMiscOut = 1 << 13, kMiscPreempted = 1 << 14, kMiscExec = 1 << 13, kMiscData = 1 << 13;
constexpr uint16_t kMiscBuildId = 1 << 14;
constexpr uint32_t kProtectionExecute = 4;

constexpr uint64_t kTrailerFields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                                    PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
constexpr uint64_t kKnownFields = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
                                  PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                                  PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
                                  PERF_SAMPLE_IDENTIFIER;

// The end of every record that is not a sample: whom and when it is about.
size_t trailer_bytes(uint64_t sample_type) {
  return static_cast<size_t>(std::popcount(sample_type & kTrailerFields)) * sizeof(uint64_t);
}

void read_trailer(base::Bytes bytes, uint64_t sample_type, Record& into) {
  base::ByteReader reader(bytes);
  if ((sample_type & PERF_SAMPLE_TID) != 0) {
    into.pid = reader.fixed<uint32_t>();
    into.tid = reader.fixed<uint32_t>();
  }
  if ((sample_type & PERF_SAMPLE_TIME) != 0) into.time = reader.fixed<uint64_t>();
}

// Text with zeros after it.
std::string_view text_of(base::Bytes bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

void read_map(base::ByteReader& reader, uint16_t misc, Record& into) {
  into.kind = RecordKind::Map;
  into.pid = reader.fixed<uint32_t>();
  into.tid = reader.fixed<uint32_t>();
  into.begin = reader.fixed<uint64_t>();
  into.length = reader.fixed<uint64_t>();
  into.file_offset = reader.fixed<uint64_t>();
  constexpr size_t kFileBytes = 24, kBuildIdAt = 4;
  const base::Bytes file = reader.take(kFileBytes);
  if ((misc & kMiscBuildId) != 0) {
    const auto size = static_cast<size_t>(file[0]);
    into.build_id = file.subspan(kBuildIdAt, std::min(size, kFileBytes - kBuildIdAt));
  } else {
    into.inode = base::load<uint64_t>(file.data() + 8);
  }
  const auto protection = reader.fixed<uint32_t>();
  reader.fixed<uint32_t>();  // flags
  into.is_code = (protection & kProtectionExecute) != 0 && (misc & kMiscData) == 0;
  into.text = text_of(reader.take(reader.left()));
}

void read_command(base::ByteReader& reader, Record& into) {
  into.kind = RecordKind::Command;
  into.pid = reader.fixed<uint32_t>();
  into.tid = reader.fixed<uint32_t>();
  const auto length = reader.fixed<uint64_t>();
  if (length > reader.left()) throw Error("a command line is longer than its record");
  const base::Bytes words = reader.take(length);
  into.text = {reinterpret_cast<const char*>(words.data()), words.size()};
}

Cause cause_of(uint64_t event, const RecordLayout& layout) {
  const auto known = std::ranges::lower_bound(layout.events, event, {}, &std::pair<uint64_t, Cause>::first);
  return known != layout.events.end() && known->first == event ? known->second : Cause::Clock;
}

void read_sample(base::ByteReader& reader, const RecordLayout& layout, Record& into) {
  const uint64_t type = layout.sample_type;
  const auto has = [type, &into](uint64_t field) {
    if (into.cause == Cause::WakeUp) return (type & field & kTrailerFields) != 0;
    return (type & field) != 0;
  };
  into.kind = RecordKind::Sample;
  if (has(PERF_SAMPLE_IDENTIFIER)) into.cause = cause_of(reader.fixed<uint64_t>(), layout);
  if (has(PERF_SAMPLE_IP)) into.instruction = reader.fixed<uint64_t>();
  if (has(PERF_SAMPLE_TID)) {
    into.pid = reader.fixed<uint32_t>();
    into.tid = reader.fixed<uint32_t>();
  }
  if (has(PERF_SAMPLE_TIME)) into.time = reader.fixed<uint64_t>();
  for (const uint64_t field : {PERF_SAMPLE_ADDR, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU})
    if (has(field)) reader.fixed<uint64_t>();
  if (has(PERF_SAMPLE_PERIOD)) into.period = reader.fixed<uint64_t>();
  if (into.cause == Cause::WakeUp) {
    const Woken woken = woken_thread(reader.take(reader.fixed<uint32_t>()), layout.wake_up);
    into.woken = woken.tid;
    if (woken.is_by_interrupt) into.pid = into.tid = 0;
  }
  if (has(PERF_SAMPLE_CALLCHAIN)) {
    const auto count = reader.fixed<uint64_t>();
    if (count > reader.left() / sizeof(uint64_t)) throw Error("a call chain is longer than its record");
    into.chain = Words(reader.take(count * sizeof(uint64_t)));
  }
  if (has(PERF_SAMPLE_REGS_USER)) {
    const auto abi = reader.fixed<uint64_t>();
    if (abi == PERF_SAMPLE_REGS_ABI_64)
      into.registers = Words(reader.take(layout.registers * sizeof(uint64_t)));
    else if (abi != PERF_SAMPLE_REGS_ABI_NONE)
      reader.take(layout.registers * sizeof(uint64_t));
  }
  if (has(PERF_SAMPLE_STACK_USER)) {
    const auto size = reader.fixed<uint64_t>();
    if (size > reader.left()) throw Error("a stack is longer than its record");
    const base::Bytes stack = reader.take(size);
    if (size == 0) return;
    const auto filled = reader.fixed<uint64_t>();
    into.stack = stack.first(std::min<uint64_t>(filled, size));
    into.is_cut = filled >= size;
  }
}

Record decode(base::Bytes bytes, const RecordLayout& layout) {
  base::ByteReader reader(bytes);
  const auto type = reader.fixed<uint32_t>();
  const auto misc = reader.fixed<uint16_t>();
  reader.fixed<uint16_t>();  // its size, which the caller knows
  Record record;
  if (type == PERF_RECORD_SAMPLE) {
    read_sample(reader, layout, record);
    record.is_of_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    return record;
  }
  const size_t trailer = trailer_bytes(layout.sample_type);
  if (trailer > reader.left()) throw Error("a record is shorter than its end");
  const base::Bytes body = reader.take(reader.left() - trailer);
  read_trailer(reader.take(reader.left()), layout.sample_type, record);
  base::ByteReader fields(body);
  switch (type) {
    case PERF_RECORD_MMAP2:
      read_map(fields, misc, record);
      break;
    case PERF_RECORD_COMM:
      record.kind = RecordKind::Name;
      record.is_exec = (misc & kMiscExec) != 0;
      record.pid = fields.fixed<uint32_t>();
      record.tid = fields.fixed<uint32_t>();
      record.text = text_of(fields.take(fields.left()));
      break;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      record.kind = type == PERF_RECORD_FORK ? RecordKind::Fork : RecordKind::Exit;
      record.pid = fields.fixed<uint32_t>();
      record.parent_pid = fields.fixed<uint32_t>();
      record.tid = fields.fixed<uint32_t>();
      record.parent_tid = fields.fixed<uint32_t>();
      record.time = fields.fixed<uint64_t>();
      if (fields.left() >= sizeof record.cpu_ns) record.cpu_ns = fields.fixed<uint64_t>();
      break;
    case KYMO_RECORD_COMMAND:
      read_command(fields, record);
      break;
    case KYMO_RECORD_PYTHON:
    case KYMO_RECORD_PYTHON_CODE:
      record.kind = type == KYMO_RECORD_PYTHON ? RecordKind::Python : RecordKind::PythonCode;
      record.python = fields.take(fields.left());
      break;
    case KYMO_RECORD_PYTHON_UNKNOWN:
      record.kind = RecordKind::PythonUnknown;
      record.text = text_of(fields.take(fields.left()));
      break;
    case KYMO_RECORD_UNLOAD:
      record.kind = RecordKind::Unload;
      break;
    case PERF_RECORD_SWITCH:
      record.kind = (misc & kMiscOut) != 0 ? RecordKind::SwitchOut : RecordKind::SwitchIn;
      record.is_preempted = (misc & kMiscOut) != 0 && (misc & kMiscPreempted) != 0;
      break;
    case PERF_RECORD_LOST:
      record.kind = RecordKind::Lost;
      fields.fixed<uint64_t>();  // of which event
      record.lost = fields.fixed<uint64_t>();
      break;
    case PERF_RECORD_LOST_SAMPLES:
      record.kind = RecordKind::Lost;
      record.lost = fields.fixed<uint64_t>();
      break;
    case PERF_RECORD_THROTTLE:
      record.kind = RecordKind::Throttle;
      break;
    case PERF_RECORD_UNTHROTTLE:
      record.kind = RecordKind::Unthrottle;
      break;
    default:
      break;
  }
  return record;
}

}  // namespace

std::optional<Record> decode_record(base::Bytes bytes, const RecordLayout& layout) {
  if ((layout.sample_type & ~kKnownFields) != 0) return std::nullopt;
  try {
    return decode(bytes, layout);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace kymo::sample
