#include "wire/message.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "wire/field_codec.h"

namespace kymo::wire {

// ---- Rules for whole messages, beyond the check of each field: an id is not 0, only one kind of time window

namespace {

using base::Check;
using base::first_refusal;
using base::Refusal;

Check check_id(uint64_t id) {
  if (id != 0) return {};
  return Refusal{"a request's id is not 0"};
}

Check check_progress(uint32_t progress) {
  if (progress <= kWholeProgress) return {};
  return Refusal{base::format("a progress of {} is more than {} thousandths", progress, kWholeProgress)};
}

Check check_path(const std::string& path) {
  if (path.starts_with('/')) return {};
  return Refusal{base::format("the output is an absolute path, not \"{}\"", path)};
}

Check check_span(std::string_view what, uint64_t ns) {
  if (ns <= kLongestTraceNs) return {};
  return Refusal{base::format("{} of {} ns is more than {}, seven days", what, ns, kLongestTraceNs)};
}

// Only the receiver knows which kinds it supports.
Check check_kind(RequestKind kind, const TraceOptions& options) {
  if (kind != RequestKind::Memory || options.duration_ns != 0) return {};
  return Refusal{"a timeline of memory has a duration; give one"};
}

Check check_final(RequestState state) {
  if (is_final(state)) return {};
  return Refusal{base::format("a request does not end as {} ({})", name_of(state), static_cast<uint32_t>(state))};
}

}  // namespace

Check check_options(const TraceOptions& options) {
  const int windows = (options.duration_ns != 0) + (options.iterations != 0) + (options.last_ns != 0);
  if (windows != 1) return Refusal{base::format("{} of duration, iterations and last are given; give one", windows)};
  if (options.iteration_roundup != 0 && options.iterations == 0)
    return Refusal{"a roundup is for iterations; give their number"};
  if (options.last_ns != 0 && options.start_at_ns != 0)
    return Refusal{"what is past has no time to start at; leave it out"};
  return first_refusal({check_span("a duration", options.duration_ns), check_span("a past", options.last_ns),
                        check_path(options.output)});
}

namespace {

// All other messages need no further check.
template <class M>
Check check_message(const M&) {
  return {};
}

Check check_message(const Hello& message) {
  if (message.oldest_version > message.version) return Refusal{"its oldest version is newer than its newest"};
  if (message.pid <= 0) return Refusal{base::format("{} is no process", message.pid)};
  return {};
}

Check check_message(const Start& message) {
  return first_refusal(
      {check_id(message.id), check_kind(message.kind, message.options), check_options(message.options)});
}

Check check_message(const Cancel& message) { return check_id(message.id); }

Check check_message(const Status& message) {
  return first_refusal({check_id(message.id), check_progress(message.progress)});
}

Check check_message(const Done& message) { return first_refusal({check_id(message.id), check_final(message.state)}); }

Check check_message(const Trigger& message) {
  return first_refusal({check_kind(message.kind, message.options), check_options(message.options)});
}

Check check_message(const TriggerUpdate& message) {
  return first_refusal({check_id(message.trigger_id), check_progress(message.progress)});
}

// ---- Packets

// Offsets in the header.
constexpr size_t kTypeAt = 4, kLayoutAt = 6, kLengthAt = 8, kSerialAt = 12;

// Reads the message of that type: the first alternative with this kType.
template <size_t Index = 0>
bool read_typed(MessageType type, base::Bytes fields, Packet& packet) {
  if constexpr (Index == std::variant_size_v<Message>) {
    return false;
  } else {
    using M = std::variant_alternative_t<Index, Message>;
    if (M::kType != type) return read_typed<Index + 1>(type, fields, packet);
    M& message = packet.message.emplace<M>();
    base::Check check = read_fields(fields, message);
    if (check) check = check_message(message);
    packet.reason = check.reason();
    return true;
  }
}

// In the order of Message.
constexpr std::array<std::string_view, std::variant_size_v<Message>> kMessageNames{
    "Hello",     "Welcome", "Refused",      "Start",         "Cancel",        "Status",  "Done",        "List",
    "ListReply", "Trigger", "TriggerReply", "TriggerUpdate", "CancelTrigger", "History", "HistoryReply"};

template <size_t... kIndex>
constexpr std::array<MessageType, sizeof...(kIndex)> types_of(std::index_sequence<kIndex...>) {
  return {std::variant_alternative_t<kIndex, Message>::kType...};
}
constexpr std::array kMessageTypes = types_of(std::make_index_sequence<std::variant_size_v<Message>>());

base::Check check_header(base::Bytes untrusted) {
  using base::Refusal;
  if (untrusted.size() < kMessageHeaderBytes) {
    return Refusal{
        base::format("a packet of {} bytes is too short for a header of {}", untrusted.size(), kMessageHeaderBytes)};
  }
  if (untrusted.size() > kLargestMessage)
    return Refusal{base::format("a packet of {} bytes is longer than {}", untrusted.size(), kLargestMessage)};
  if (base::load<uint32_t>(untrusted.data()) != kMessageMagic)
    return Refusal{"a packet is not Kymo's: it begins otherwise"};
  const auto layout = base::load<uint16_t>(untrusted.data() + kLayoutAt);
  if (layout != kMessageLayout) {
    return Refusal{
        base::format("a packet has layout {}, and {} is known here: one side is newer", layout, kMessageLayout)};
  }
  const auto length = base::load<uint32_t>(untrusted.data() + kLengthAt);
  const size_t follow = untrusted.size() - kMessageHeaderBytes;
  if (length != follow) return Refusal{base::format("a packet announces {} bytes, and {} follow", length, follow)};
  return {};
}

}  // namespace

Packet read_message(base::Bytes untrusted) {
  Packet packet;
  if (const base::Check header = check_header(untrusted); !header) {
    packet.reason = header.reason();
    return packet;
  }
  packet.type = base::load<uint16_t>(untrusted.data() + kTypeAt);
  packet.serial = base::load<uint32_t>(untrusted.data() + kSerialAt);
  const auto type = static_cast<MessageType>(packet.type);
  if (!read_typed(type, untrusted.subspan(kMessageHeaderBytes), packet)) {
    packet.kind = PacketKind::Unknown;
    packet.reason = base::format("a message of type {} is not known here; one side is newer", packet.type);
  } else if (!packet.reason.empty()) {
    packet.kind = PacketKind::Malformed;
    packet.reason = base::format("{}: {}", name_of(type), packet.reason);
    packet.message = Message();
  } else {
    packet.kind = PacketKind::Good;
  }
  return packet;
}

base::Result<std::vector<std::byte>> message_packet(const Message& message, uint32_t serial) {
  base::ByteWriter out;
  const auto type = std::visit([](const auto& m) { return m.kType; }, message);
  out.fixed(kMessageMagic);
  out.fixed(static_cast<uint16_t>(type));
  out.fixed(kMessageLayout);
  out.fixed(uint32_t{0});  // the length, below
  out.fixed(serial);
  FieldWriter fields(out);
  base::Check check = std::visit(
      [&](const auto& m) {
        each_field(m, fields);
        return fields.result() ? check_message(m) : fields.result();
      },
      message);
  if (check && out.size() > kLargestMessage)
    check = base::Refusal{base::format("{} bytes are more than {}; send less at once", out.size(), kLargestMessage)};
  if (!check) return base::Refusal{base::format("{}: {}", name_of(type), check.reason())};
  base::store(out.data() + kLengthAt, static_cast<uint32_t>(out.size() - kMessageHeaderBytes));
  return std::vector<std::byte>(out.bytes().begin(), out.bytes().end());
}

Refused refusal_of(const Packet& packet) {
  const auto code = packet.kind == PacketKind::Unknown ? RefusedCode::Unknown : RefusedCode::Malformed;
  return Refused{code, packet.type, packet.reason.substr(0, kLongestText)};
}

std::string_view name_of(MessageType type) {
  const auto* found = std::ranges::find(kMessageTypes, type);
  return found == kMessageTypes.end() ? "?" : kMessageNames[static_cast<size_t>(found - kMessageTypes.begin())];
}

std::string_view name_of(RequestState state) {
  constexpr std::string_view kNames[] = {"?",       "queued",   "waiting", "?",         "recording",
                                         "writing", "finished", "failed",  "cancelled", "busy"};
  const auto index = static_cast<size_t>(state);
  return index < std::size(kNames) ? kNames[index] : kNames[0];
}

bool is_known(RequestKind kind) { return kind == RequestKind::Trace || kind == RequestKind::Memory; }

bool is_final(RequestState state) {
  return state == RequestState::Finished || state == RequestState::Failed || state == RequestState::Cancelled ||
         state == RequestState::Busy;
}

uint32_t common_version(const Hello& hello, uint32_t oldest, uint32_t newest) {
  const uint32_t version = std::min(hello.version, newest);
  return version >= std::max(hello.oldest_version, oldest) ? version : 0;
}

std::string versions_differ(std::string_view one, uint32_t its_version, std::string_view other,
                            uint32_t other_version) {
  return base::format("{} has version {} of Kymo's protocol, but {} has version {}; update {}", one, its_version, other,
                      other_version, its_version < other_version ? one : other);
}

}  // namespace kymo::wire
