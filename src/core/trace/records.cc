#include "trace/records.h"

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

namespace kymo::trace {

namespace {

template <typename T, typename Of>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Of>;

void fields(auto& io, MaybeConst<Origin> auto& origin) {
  io(origin.session, origin.pid, origin.parent_pid, origin.host, origin.boot_id, origin.executable);
  io(origin.command_line, origin.start_realtime_ns, origin.policy, origin.kymo_version, origin.metadata);
  io.later(origin.announces_ending);
}
void fields(auto& io, MaybeConst<Field> auto& field) { io(field.name, field.type); }
void fields(auto& io, MaybeConst<EventClass> auto& event_class) {
  io(event_class.id, event_class.name, event_class.category, event_class.colour, event_class.fields);
}
void fields(auto& io, MaybeConst<Track> auto& track) {
  io(track.id, track.kind, track.clock, track.tid, track.name, track.device_uuid, track.context, track.queue);
  io.later(track.device_name);
}
void fields(auto& io, MaybeConst<ClockPair> auto& pair) {
  io(pair.ticks, pair.monotonic_ns, pair.realtime_ns, pair.error_ns);
}
void fields(auto& io, MaybeConst<ClockDomain> auto& clock) {
  io(clock.id, clock.kind, clock.boot_id, clock.period_numerator, clock.period_denominator, clock.wrap_bits);
  io(clock.pairs);
  io.later(clock.pairs, &ClockPair::suspended_ns);
}
void fields(auto& io, MaybeConst<Module> auto& module) {
  io(module.id, module.path, module.build_id, module.base, module.size);
}
void fields(auto& io, MaybeConst<Frame> auto& frame) {
  io(frame.id, frame.module, frame.offset, frame.function, frame.file, frame.line);
}
void fields(auto& io, MaybeConst<Stack> auto& stack) { io(stack.id, stack.frames); }
void fields(auto& io, MaybeConst<Loss> auto& loss) {
  io(loss.cause, loss.track, loss.count, loss.first, loss.last, loss.detail);
}
void fields(auto& io, MaybeConst<Cost> auto& cost) {
  io(cost.track, cost.events, cost.picoseconds_per_event, cost.blocked_ns, cost.collector_cpu_ns);
}
void fields(auto& io, MaybeConst<Ending> auto& ending) { io(ending.alive_until); }
void fields(auto& io, MaybeConst<Window> auto& window) { io(window.from_ns, window.to_ns); }
void fields(auto& io, MaybeConst<std::pair<std::string, std::string>> auto& pair) { io(pair.first, pair.second); }

class FieldWriter {
 public:
  explicit FieldWriter(base::ByteWriter& out) : out_(out) {}
  void operator()(const auto&... values) { (put(values), ...); }
  void later(const auto& value) { put(value); }
  template <typename T>
  void later(const std::vector<T>& items, uint64_t T::*field) {
    out_.varint(items.size());
    for (const T& item : items) put(item.*field);
  }

 private:
  template <std::unsigned_integral T>
  void put(const T& value) {
    out_.varint(value);
  }
  void put(const std::string& text) { out_.string(text); }
  template <typename T>
  void put(const std::vector<T>& items) {
    out_.varint(items.size());
    for (const T& item : items) put(item);
  }
  template <typename T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      put(static_cast<std::underlying_type_t<T>>(value));
    } else {
      fields(*this, value);
    }
  }

  base::ByteWriter& out_;
};

class FieldReader {
 public:
  explicit FieldReader(base::ByteReader in) : in_(in) {}
  void operator()(auto&... values) { (get(values), ...); }
  // A field that is missing in records of older versions.
  void later(auto& value) {
    if (in_.left() != 0) get(value);
  }
  // A field of list items that is missing in records of older versions. The items have no length of their own, so the
  // field is a list after all others.
  template <typename T>
  void later(std::vector<T>& items, uint64_t T::*field) {
    const size_t count = in_.left() != 0 ? in_.count() : 0;
    for (size_t i = 0; i < count; ++i) {
      uint64_t value = 0;
      get(value);
      if (i < items.size()) items[i].*field = value;
    }
  }

 private:
  template <std::unsigned_integral T>
  void get(T& value) {
    value = in_.varint_as<T>("a field");
  }
  void get(std::string& text) { text = in_.string(); }
  template <typename T>
  void get(std::vector<T>& items) {
    const size_t count = in_.count();
    for (size_t i = 0; i < count; ++i) get(items.emplace_back());
  }
  template <typename T>
  void get(T& value) {
    if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      get(number);
      value = static_cast<T>(number);
    } else {
      fields(*this, value);
    }
  }

  base::ByteReader in_;
};

}  // namespace

template <typename T>
void write_records(base::ByteWriter& out, std::span<const T> records) {
  out.varint(records.size());
  base::ByteWriter record;
  FieldWriter writer(record);
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
    FieldReader reader(in.sub(in.varint()));
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
