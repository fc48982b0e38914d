#include "trace/records.h"

#include "base/field_codec.h"

namespace kymo::base {

static void fields(auto& io, MaybeConst<ClockPair> auto& pair) {
  io(pair.ticks, pair.monotonic_ns, pair.realtime_ns, pair.error_ns);
}

}  // namespace kymo::base

namespace kymo::trace {

using base::MaybeConst;

static void fields(auto& io, MaybeConst<Origin> auto& origin) {
  io(origin.session, origin.pid, origin.parent_pid, origin.host, origin.boot_id, origin.executable);
  io(origin.command_line, origin.start_realtime_ns, origin.policy, origin.kymo_version, origin.metadata);
  io.later(origin.announces_ending);
}
static void fields(auto& io, MaybeConst<Field> auto& field) { io(field.name, field.type); }
static void fields(auto& io, MaybeConst<EventClass> auto& event_class) {
  io(event_class.id, event_class.name, event_class.category, event_class.colour, event_class.fields);
}
static void fields(auto& io, MaybeConst<Track> auto& track) {
  io(track.id, track.kind, track.clock, track.tid, track.name, track.device_uuid, track.context, track.queue);
  io.later(track.device_name);
}
static void fields(auto& io, MaybeConst<ClockDomain> auto& clock) {
  io(clock.id, clock.kind, clock.boot_id, clock.period_numerator, clock.period_denominator, clock.wrap_bits);
  io(clock.pairs);
  io.later(clock.pairs, &ClockPair::suspended_ns);
}
static void fields(auto& io, MaybeConst<Module> auto& module) {
  io(module.id, module.path, module.build_id, module.base, module.size);
}
static void fields(auto& io, MaybeConst<Frame> auto& frame) {
  io(frame.id, frame.module, frame.offset, frame.function, frame.file, frame.line);
}
static void fields(auto& io, MaybeConst<Stack> auto& stack) { io(stack.id, stack.frames); }
static void fields(auto& io, MaybeConst<Loss> auto& loss) {
  io(loss.cause, loss.track, loss.count, loss.first, loss.last, loss.detail);
}
static void fields(auto& io, MaybeConst<Cost> auto& cost) {
  io(cost.track, cost.events, cost.picoseconds_per_event, cost.blocked_ns, cost.collector_cpu_ns);
}
static void fields(auto& io, MaybeConst<Ending> auto& ending) { io(ending.alive_until); }
static void fields(auto& io, MaybeConst<Window> auto& window) { io(window.from_ns, window.to_ns); }

template <typename T>
void write_records(base::ByteWriter& out, std::span<const T> records) {
  out.varint(records.size());
  base::ByteWriter record;
  base::FieldWriter writer(record);
  for (const T& value : records) {
    record.clear();
    fields(writer, value);
    out.varint(record.size());
    out.append(record.bytes());
  }
}

template <typename T>
std::vector<T> read_records(base::ByteReader& in) {
  const size_t count = in.count();
  std::vector<T> records;  // grows only as records are read, because the count may be forged
  for (size_t i = 0; i < count; ++i) {
    base::ByteReader record = in.sub(in.varint());
    base::FieldReader reader(record);
    fields(reader, records.emplace_back());
  }
  return records;
}

#define KYMO_INSTANTIATE(T)                                              \
  template void write_records<T>(base::ByteWriter&, std::span<const T>); \
  template std::vector<T> read_records<T>(base::ByteReader&)
KYMO_INSTANTIATE(Origin);
KYMO_INSTANTIATE(EventClass);
KYMO_INSTANTIATE(Track);
KYMO_INSTANTIATE(ClockDomain);
KYMO_INSTANTIATE(Module);
KYMO_INSTANTIATE(Frame);
KYMO_INSTANTIATE(Stack);
KYMO_INSTANTIATE(Loss);
KYMO_INSTANTIATE(Cost);
KYMO_INSTANTIATE(Ending);
KYMO_INSTANTIATE(Window);
#undef KYMO_INSTANTIATE

}  // namespace kymo::trace
