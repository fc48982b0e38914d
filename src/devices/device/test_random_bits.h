// Random structs with bit-fields, and programs that read and write them, in the common subset of Metal and C++. The
// host's compiler gives the expected layout and results (metal_random_test.cc).
//
// Each struct ends with a ulong, because compilers differ in whether a bit-field without a name aligns the struct.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace kymo::device::tests {

class RandomBits {
 public:
  explicit RandomBits(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 3) {}

  // A kernel `name`(device uint* out, device const uint* in, uint i): out[i] is the result.
  std::string text(const std::string& name);

 private:
  struct Field {
    std::string name;
    bool is_promoted;  // to int, with room for a small difference
  };
  uint32_t below(uint32_t limit);
  bool chance(uint32_t percent) { return below(100) < percent; }
  const Field& any() { return fields_[below(static_cast<uint32_t>(fields_.size()))]; }
  std::string value() { return base::format("(u ^ {}u)", below(1u << 30)); }
  std::string members();
  std::string statement();

  uint64_t state_;
  std::vector<Field> fields_;
};

inline uint32_t RandomBits::below(uint32_t limit) {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return static_cast<uint32_t>((state_ >> 32) % limit);
}

inline std::string RandomBits::members() {
  static constexpr std::pair<std::string_view, uint32_t> kTypes[] = {
      {"bool", 1},  {"char", 8}, {"uchar", 8}, {"short", 16}, {"ushort", 16}, {"int", 32},
      {"uint", 32}, {"int", 32}, {"uint", 32}, {"long", 64},  {"ulong", 64},
  };
  std::string text;
  const uint32_t count = 3 + below(8);
  for (uint32_t i = 0; i < count; ++i) {
    const auto& [type, most] = kTypes[below(std::size(kTypes))];
    const std::string name = base::format("m{}", i);
    if (chance(15)) {                                                              // between bit-fields
      base::format_to(text, "  {} {};\n", type == "bool" ? "uchar" : type, name);  // any byte is valid
      fields_.push_back({name, false});
      continue;
    }
    if (chance(15)) {
      base::format_to(text, "  {} : {};\n", type, chance(40) ? 0 : 1 + below(most));
      continue;
    }
    const uint32_t width = chance(20) ? most : 1 + below(most);
    base::format_to(text, "  {} {} : {};\n", type, name, width);
    fields_.push_back({name, width <= 30});
  }
  fields_.push_back({"last", false});
  return text + "  ulong last;\n";
}

inline std::string RandomBits::statement() {
  const Field &field = any(), &other = any();
  switch (below(6)) {
    case 0:
      return base::format("b.{} = {};", field.name, value());
    case 1:
      return base::format("b.{} = b.{};", field.name, other.name);
    case 2:
      return base::format("b.{} ^= {};", field.name, value());
    case 3:
      return field.is_promoted
                 ? base::format("if (b.{} - {} < 0) {{ b.{} = {}; }}", field.name, below(200), other.name, value())
                 : base::format("if (b.{}) {{ u += 3u; }}", field.name);
    case 4:
      return base::format("u = (u << 5) ^ uint(b.{} = {}) ^ (u >> 3);", field.name, value());
    default:
      return field.is_promoted
                 ? base::format("u += uint((b.{} | 1) >> {}) + uint(~b.{});", field.name, below(9), field.name)
                 : base::format("u += uint(b.{});", field.name);
  }
}

inline std::string RandomBits::text(const std::string& name) {
  std::string text = base::format("struct Of{} {{\n{}}};\n", name, members());
  base::format_to(text,
                  "kernel void {0}(device uint* out, device const uint* in, uint i [[thread_position_in_grid]]) {{\n"
                  "  uint u = in[i];\n"
                  "  device const Of{0}* stored = (device const Of{0}*)in;\n"
                  "  Of{0} b = stored[i % (64u * 4u / uint(sizeof(Of{0})))];\n"
                  "  uint result = uint(sizeof(Of{0}));\n",
                  name);
  const auto mix = [&](std::string_view object) {
    for (const Field& field : fields_)
      base::format_to(text, "  stir(result, uint(ulong({0}.{1}) >> 32)); stir(result, uint({0}.{1}));\n", object,
                      field.name);
  };
  mix("b");
  for (uint32_t i = 0; i < 12; ++i) text += "  " + statement() + "\n";
  mix("b");
  base::format_to(text, "  Of{} c = {{", name);
  for (size_t i = 0; i < fields_.size(); ++i)
    base::format_to(text, "{}decltype(Of{}::{})({})", i == 0 ? "" : ", ", name, fields_[i].name, value());
  text += "};\n";
  mix("c");
  return text + "  out[i] = result ^ u;\n}\n";
}

}  // namespace kymo::device::tests
