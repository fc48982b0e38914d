// The binary form of tiles: docs/view.md.

#include <bit>
#include <cstring>

#include "serve/tiles.h"

namespace kymo::serve {

namespace {

static_assert(std::endian::native == std::endian::little, "the answer has the bytes of the arrays as they are");

class Bytes {
 public:
  template <typename T>
  void put(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  // One array: a member of each element.
  template <typename T, typename Elements, typename Member>
  void column(const Elements& elements, Member&& member) {
    const size_t at = out_.size();
    out_.resize(at + elements.size() * sizeof(T));
    char* into = out_.data() + at;
    for (const auto& element : elements) {
      const T value = static_cast<T>(member(element));
      std::memcpy(into, &value, sizeof value);
      into += sizeof value;
    }
  }
  void align() { out_.resize((out_.size() + 7) / 8 * 8); }
  void text(std::string_view text) { out_.append(text); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

float busy_share(const Item& item) {
  if (item.count == 1 || item.end <= item.start) return 1;
  const double share = static_cast<double>(item.total) / static_cast<double>(item.end - item.start);
  return static_cast<float>(std::min(share, 1.0));
}

void put_tile(Bytes& out, const Tile& tile) {
  out.put(tile.track);
  out.put(static_cast<uint32_t>(tile.items.size()));
  out.put(static_cast<uint32_t>(tile.instants.size()));
  out.put(static_cast<uint32_t>(tile.counters.size()));
  out.put(static_cast<double>(tile.number));
  out.put(tile.flags);
  out.put(uint32_t{0});
  out.column<double>(tile.items, [](const Item& item) { return item.start; });
  out.column<double>(tile.items, [](const Item& item) { return item.end; });
  out.column<uint32_t>(tile.items, [](const Item& item) { return item.name; });
  out.column<uint32_t>(tile.items, [](const Item& item) { return item.count; });
  out.column<float>(tile.items, busy_share);
  out.column<uint32_t>(tile.items, [](const Item& item) { return item.chunk; });
  out.column<uint32_t>(tile.items, [](const Item& item) { return item.index; });
  out.column<uint16_t>(tile.items, [](const Item& item) { return item.depth; });
  out.column<uint16_t>(tile.items, [](const Item& item) { return item.lane; });
  out.align();
  out.column<double>(tile.instants, [](const InstantBin& bin) { return bin.time; });
  out.column<uint32_t>(tile.instants, [](const InstantBin& bin) { return bin.name; });
  out.column<uint32_t>(tile.instants, [](const InstantBin& bin) { return bin.count; });
  out.column<uint32_t>(tile.instants, [](const InstantBin& bin) { return bin.kind; });
  out.column<uint32_t>(tile.instants, [](const InstantBin& bin) { return bin.chunk; });
  out.column<uint32_t>(tile.instants, [](const InstantBin& bin) { return bin.index; });
  out.align();
  out.column<double>(tile.counters, [](const CounterBin& bin) { return bin.time; });
  out.column<double>(tile.counters, [](const CounterBin& bin) { return bin.min; });
  out.column<double>(tile.counters, [](const CounterBin& bin) { return bin.max; });
  out.column<double>(tile.counters, [](const CounterBin& bin) { return bin.last; });
}

}  // namespace

std::string encode_tiles(const std::vector<Tile>& tiles, uint32_t names_version) {
  Bytes out;
  out.text("KYT1");
  out.put(static_cast<uint32_t>(tiles.size()));
  out.put(names_version);
  out.put(uint32_t{0});
  for (const Tile& tile : tiles) put_tile(out, tile);
  return out.take();
}

}  // namespace kymo::serve
