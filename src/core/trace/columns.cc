#include "trace/columns.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <new>
#include <type_traits>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::trace {

namespace {

// Level 1 codes literals by their frequency, which a plane of noise needs. The faster negative levels do not.
constexpr int kLevel = 1;
// In noise with few symbols, short matches occur by chance and cost more than the literals they replace.
constexpr int kShortestMatch = 7;
constexpr int kMatchTableLog = 12;
constexpr size_t kSmallestWorthCompressing = 48;

}  // namespace

void PlaneWriter::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void PlaneReader::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

PlaneWriter::PlaneWriter() : context_(ZSTD_createCCtx()) {
  if (!context_) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_minMatch, kShortestMatch);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_hashLog, kMatchTableLog);
}

PlaneReader::PlaneReader() : context_(ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
}

PlaneStorage PlaneWriter::write(base::Bytes plane, base::ByteWriter& out) {
  if (plane.size() >= kSmallestWorthCompressing) {
    const size_t before = out.size();
    const size_t bound = ZSTD_compressBound(plane.size());
    std::byte* room = out.extend(bound);
    const size_t stored = ZSTD_compress2(context_.get(), room, bound, plane.data(), plane.size());
    if (!ZSTD_isError(stored) && stored < plane.size()) {
      out.truncate(before + stored);
      return PlaneStorage::Zstd;
    }
    out.truncate(before);
  }
  out.append(plane);
  return PlaneStorage::Raw;
}

base::Bytes PlaneReader::read(PlaneStorage storage, base::Bytes stored, size_t size, std::vector<std::byte>& scratch) {
  switch (storage) {
    case PlaneStorage::Raw:
      if (stored.size() != size) break;
      return stored;
    case PlaneStorage::Fill:
      if (stored.size() != 1) break;
      scratch.assign(size, stored[0]);
      return scratch;
    case PlaneStorage::Zstd: {
      scratch.resize(size);
      const size_t got =
          ZSTD_decompressDCtx(context_.get(), scratch.data(), scratch.size(), stored.data(), stored.size());
      if (ZSTD_isError(got) || got != size) break;
      return scratch;
    }
  }
  throw Error(base::format("a plane of {} bytes, stored in {} bytes as kind {}, cannot be unpacked", size,
                           stored.size(), static_cast<unsigned>(storage)));
}

namespace {

template <typename T>
constexpr T zigzag(T value) {
  const T sign = static_cast<T>(static_cast<std::make_signed_t<T>>(value) >> (8 * sizeof(T) - 1));
  return static_cast<T>(static_cast<T>(value << 1) ^ sign);
}

template <typename T>
constexpr T unzigzag(T value) {
  return static_cast<T>((value >> 1) ^ static_cast<T>(T{0} - (value & 1)));
}

constexpr bool is_delta(Encoding encoding) { return encoding == Encoding::Delta || encoding == Encoding::DeltaZigzag; }
constexpr bool is_zigzag(Encoding encoding) {
  return encoding == Encoding::Zigzag || encoding == Encoding::DeltaZigzag;
}

template <Encoding kEncoding, typename T>
constexpr T encoded(T value, T previous) {
  if constexpr (is_delta(kEncoding)) value = static_cast<T>(value - previous);
  if constexpr (is_zigzag(kEncoding)) value = zigzag(value);
  return value;
}

// The base makes the first difference equal to the second. The differences of evenly spaced values are then constant.
template <typename T>
T delta_base(std::span<const T> values) {
  return values.size() < 2 ? values[0] : static_cast<T>(2 * values[0] - values[1]);
}

// Finds how the planes of a column would look: which bits are set in any value, and which bits differ from the first
// value.
template <typename T>
struct Shape {
  T ored = 0, varied = 0;
  unsigned varied_planes() const {
    unsigned count = 0;
    for (unsigned k = 0; k < sizeof(T); ++k) count += ((varied >> (8 * k)) & 0xff) != 0;
    return count;
  }
};

template <Encoding kEncoding, typename T>
Shape<T> shape_of(std::span<const T> values) {
  const T first = encoded<kEncoding>(values[0], delta_base(values));
  Shape<T> shape{first, 0};
  for (size_t i = 1; i < values.size(); ++i) {
    const T value = encoded<kEncoding>(values[i], values[i - 1]);
    shape.ored = static_cast<T>(shape.ored | value);
    shape.varied = static_cast<T>(shape.varied | (value ^ first));
  }
  return shape;
}

template <typename T>
unsigned planes_of(T ored) {
  return (static_cast<unsigned>(std::bit_width(ored)) + 7) / 8;
}

}  // namespace

void ColumnsWriter::clear() {
  columns_ = 0;
  directory_.clear();
  planes_.clear();
}

void ColumnsWriter::write_directory(base::ByteWriter& out) const {
  out.varint(columns_);
  out.append(directory_.bytes());
}

template <typename T>
void ColumnsWriter::add(Column id, std::span<const T> values, Try effort, uint64_t base) {
  if (values.empty()) return;
  const auto plain = shape_of<Encoding::Plain>(values);
  unsigned fewest = plain.varied_planes();
  const auto better = [&](const Shape<T>& shape) {
    if (shape.varied_planes() >= fewest) return false;
    fewest = shape.varied_planes();
    return true;
  };
  Encoding best = Encoding::Plain;
  Shape<T> sign, delta, delta_sign;
  if (effort != Try::Plain && fewest > 0 && better(sign = shape_of<Encoding::Zigzag>(values))) best = Encoding::Zigzag;
  if (effort == Try::Everything && fewest > 0) {
    if (better(delta = shape_of<Encoding::Delta>(values))) best = Encoding::Delta;
    if (better(delta_sign = shape_of<Encoding::DeltaZigzag>(values))) best = Encoding::DeltaZigzag;
  }

  ++columns_;
  const uint64_t start = delta_base(values);
  switch (best) {
    case Encoding::Plain:
      return add_encoded<Encoding::Plain>(id, values, plain.ored, plain.varied, base);
    case Encoding::Zigzag:
      return add_encoded<Encoding::Zigzag>(id, values, sign.ored, sign.varied, base);
    case Encoding::Delta:
      return add_encoded<Encoding::Delta>(id, values, delta.ored, delta.varied, start);
    case Encoding::DeltaZigzag:
      return add_encoded<Encoding::DeltaZigzag>(id, values, delta_sign.ored, delta_sign.varied, start);
  }
}

template <Encoding kEncoding, typename T>
void ColumnsWriter::add_encoded(Column id, std::span<const T> values, T ored, T varied, uint64_t base) {
  const unsigned planes = planes_of(ored);
  directory_.byte(static_cast<uint8_t>(id));
  directory_.byte(static_cast<uint8_t>(kEncoding));
  directory_.byte(static_cast<uint8_t>(planes));
  directory_.varint(values.size());
  directory_.varint(base);

  const T first = encoded<kEncoding>(values[0], delta_base(values));
  plane_.resize(values.size());
  for (unsigned k = 0; k < planes; ++k) {
    const unsigned shift = 8 * k;
    PlaneStorage storage = PlaneStorage::Fill;
    const size_t before = planes_.size();
    if (((varied >> shift) & 0xff) == 0) {
      planes_.byte(static_cast<uint8_t>(first >> shift));
    } else {
      std::byte* out = plane_.data();
      const T* in = values.data();
      out[0] = static_cast<std::byte>(first >> shift);
      for (size_t i = 1; i < values.size(); ++i) {
        out[i] = static_cast<std::byte>(encoded<kEncoding>(in[i], in[i - 1]) >> shift);
      }
      storage = plane_writer_.write(plane_, planes_);
    }
    directory_.byte(static_cast<uint8_t>(storage));
    directory_.varint(planes_.size() - before);
  }
}

ColumnsReader::ColumnsReader(base::Bytes directory, base::Bytes planes, ColumnScratch& scratch) : scratch_(scratch) {
  constexpr size_t kSmallestEntry = 5;
  base::ByteReader entries(directory), stored(planes);
  const size_t columns = entries.count(kSmallestEntry);
  entries_.reserve(columns);
  for (size_t i = 0; i < columns; ++i) {
    Entry& entry = entries_.emplace_back();
    entry.id = static_cast<Column>(entries.byte());
    entry.encoding = static_cast<Encoding>(entries.byte());
    entry.plane_count = entries.byte();
    entry.count = entries.varint_as<uint32_t>("the number of values of a column");
    entry.base = entries.varint();
    for (unsigned k = 0; k < entry.plane_count; ++k) {
      const auto storage = static_cast<PlaneStorage>(entries.byte());
      const base::Bytes bytes = stored.take(entries.varint());
      if (k < kMaxPlanes) entry.planes[k] = {storage, bytes};  // only a newer version of Kymo writes more planes
    }
  }
}

const ColumnsReader::Entry* ColumnsReader::find(Column id) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.id == id; });
  return found == entries_.end() ? nullptr : &*found;
}

uint32_t ColumnsReader::count(Column id) const {
  const Entry* entry = find(id);
  return entry ? entry->count : 0;
}

uint64_t ColumnsReader::base(Column id) const {
  const Entry* entry = find(id);
  return entry ? entry->base : 0;
}

template <typename T>
void ColumnsReader::read(Column id, std::span<T> into) const {
  const Entry* entry = find(id);
  const auto refuse = [&](const char* why) {
    throw Error(base::format("column {} {}", static_cast<unsigned>(id), why));
  };
  if (!entry) return refuse("is missing");
  if (entry->count != into.size()) return refuse("has the wrong number of values");
  if (entry->plane_count > sizeof(T)) return refuse("has too many planes");
  if (entry->encoding > Encoding::DeltaZigzag) return refuse("has an unknown encoding");

  // Bytes that are equal in all values are merged while the first plane with different bytes is read.
  T constant = 0;
  for (unsigned k = 0; k < entry->plane_count; ++k) {
    const Plane& plane = entry->planes[k];
    if (plane.storage == PlaneStorage::Fill && plane.stored.size() == 1) {
      constant = static_cast<T>(constant | static_cast<T>(std::to_integer<T>(plane.stored[0]) << (8 * k)));
    }
  }
  bool filled = false;
  for (unsigned k = 0; k < entry->plane_count; ++k) {
    const Plane& plane = entry->planes[k];
    if (plane.storage == PlaneStorage::Fill && plane.stored.size() == 1) continue;
    const base::Bytes bytes = scratch_.plane_reader.read(plane.storage, plane.stored, into.size(), scratch_.plane);
    const std::byte* in = bytes.data();
    T* out = into.data();
    const unsigned shift = 8 * k;
    if (filled) {
      for (size_t i = 0; i < into.size(); ++i) out[i] = static_cast<T>(out[i] | (std::to_integer<T>(in[i]) << shift));
    } else {
      for (size_t i = 0; i < into.size(); ++i) out[i] = static_cast<T>(constant | (std::to_integer<T>(in[i]) << shift));
      filled = true;
    }
  }
  if (!filled) std::fill(into.begin(), into.end(), constant);

  if (is_zigzag(entry->encoding)) {
    for (T& value : into) value = unzigzag(value);
  }
  if (is_delta(entry->encoding)) {
    T running = static_cast<T>(entry->base);
    for (T& value : into) value = running = static_cast<T>(running + value);
  }
}

template void ColumnsWriter::add<uint8_t>(Column, std::span<const uint8_t>, Try, uint64_t);
template void ColumnsWriter::add<uint16_t>(Column, std::span<const uint16_t>, Try, uint64_t);
template void ColumnsWriter::add<uint32_t>(Column, std::span<const uint32_t>, Try, uint64_t);
template void ColumnsWriter::add<uint64_t>(Column, std::span<const uint64_t>, Try, uint64_t);
template void ColumnsReader::read<uint8_t>(Column, std::span<uint8_t>) const;
template void ColumnsReader::read<uint16_t>(Column, std::span<uint16_t>) const;
template void ColumnsReader::read<uint32_t>(Column, std::span<uint32_t>) const;
template void ColumnsReader::read<uint64_t>(Column, std::span<uint64_t>) const;

}  // namespace kymo::trace
