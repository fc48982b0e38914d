// Random programs in the common subset of Metal and C++. So the host's compiler can compute the expected results.
//
// They have no undefined behaviour. Signed sums are computed as unsigned, and divisors and shifts are kept in range.
// Floats are kept away from infinities and from too small numbers. A float is converted to an integer only within
// limits. test_random_texts.h has the helpers that they use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"

namespace kymo::device::tests {

class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  // A kernel `name`(device uint* out, device const uint* in, uint i) and the functions that it calls; out[i] is the
  // result.
  std::string text(const std::string& name);

 private:
  enum Type { Int, Uint, Long, Ulong, Short, Ushort, Char, Uchar, Float, Bool, kTypes };
  static std::string_view name_of(Type type);

  uint32_t below(uint32_t limit);
  bool chance(uint32_t percent) { return below(100) < percent; }
  Type any_type() { return static_cast<Type>(below(kTypes)); }
  Type whole_type() { return static_cast<Type>(below(Float)); }

  std::string literal(Type type);
  std::string value(Type type, int depth);  // an expression of that type, without side effects
  std::string whole(Type type, int depth);
  std::string real(int depth);
  std::string lanes(int depth);  // a uint4
  std::string truth(int depth);
  void statements(int count, int depth);
  void statement(int depth);
  void vector_statement();  // or one with halfs
  void search(int depth);   // a loop with a break in its middle
  void function();
  void line(const std::string& text) { body_ += std::string(2 * static_cast<size_t>(indent_), ' ') + text + "\n"; }

  uint64_t state_;
  std::string body_;
  int indent_ = 0, functions_ = 0, loops_ = 0, names_ = 0;
  bool is_in_kernel_ = false;  // a kernel has more variables than functions have
};

inline std::string_view RandomProgram::name_of(Type type) {
  static constexpr std::string_view kNames[] = {"int",    "uint", "long",  "ulong", "short",
                                                "ushort", "char", "uchar", "float", "bool"};
  return kNames[type];
}

inline uint32_t RandomProgram::below(uint32_t limit) {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return static_cast<uint32_t>((state_ >> 32) % limit);
}

inline std::string RandomProgram::literal(Type type) {
  static constexpr const char* kEdges[] = {"0", "1", "2", "127", "128", "255", "32767", "65535"};
  const std::string small = chance(50) ? kEdges[below(8)] : std::to_string(below(1000));
  switch (type) {
    case Int:
      return chance(20)   ? base::format("int({}u)", (below(1u << 16) << 16) + below(1u << 16))
             : chance(30) ? "(-" + small + ")"
                          : small;
    case Uint:
      return chance(40) ? base::format("0x{:x}u", (below(1u << 16) << 16) + below(1u << 16)) : small + "u";
    case Long:
      return base::format("({}{}l)", chance(50) ? "-" : "", uint64_t{below(1u << 30)} << below(33));
    case Ulong:
      return base::format("{}ul", uint64_t{below(1u << 31)} << below(34));
    case Float:
      return base::format("{}.{}f", below(200), below(1000));
    case Bool:
      return chance(50) ? "true" : "false";
    default:
      return base::format("{}({})", name_of(type), small);
  }
}

inline std::string RandomProgram::truth(int depth) {
  static constexpr const char* kComparisons[] = {"<", "<=", ">", ">=", "==", "!="};
  if (depth <= 0) return chance(70) ? "b0" : literal(Bool);
  switch (below(is_in_kernel_ ? 6 : 5)) {
    case 5:
      return chance(50) ? base::format("{}({} < {})", chance(50) ? "any" : "all", lanes(depth - 1), lanes(depth - 1))
                        : base::format("(h0 < {})", chance(50) ? "h1" : base::format("mild({})", real(depth - 1)));
    case 0:
      return base::format("({} {} {})", truth(depth - 1), chance(50) ? "&&" : "||", truth(depth - 1));
    case 1:
      return "!" + truth(depth - 1);
    case 2:
      return base::format("bool({})", value(whole_type(), depth - 1));
    default:  // also of different types: the conversions are tested too
      return base::format("({} {} {})", value(any_type(), depth - 1), kComparisons[below(6)],
                          value(any_type(), depth - 1));
  }
}

inline std::string RandomProgram::real(int depth) {
  if (depth <= 0) return chance(70) ? "f0" : literal(Float);
  switch (below(is_in_kernel_ ? 6 : 5)) {
    case 5:
      return chance(50) ? base::format("q4[{} % 4u]", value(Uint, depth - 1)) : "tame(float(h0))";
    case 0:
      return base::format("tame(float({}))", value(whole_type(), depth - 1));
    case 1:
      return base::format("({} ? {} : {})", truth(depth - 1), real(depth - 1), chance(50) ? real(depth - 1) : "3");
    case 2:
      return base::format("tame({} * {})", real(depth - 1), real(depth - 1));
    case 3:
      return base::format("tame({} {} {} * {})", real(depth - 1), chance(50) ? "+" : "-", real(depth - 1),
                          real(depth - 1));
    default:
      return base::format("tame({} / ({} + 0.5f))", real(depth - 1), real(depth - 1));
  }
}

inline std::string RandomProgram::whole(Type type, int depth) {
  const std::string_view name = name_of(type);
  const bool is_wide = type == Long || type == Ulong;
  const std::string_view unsigned_name = is_wide ? "ulong" : "uint";
  if (depth <= 0) {
    static constexpr const char* kVariables[] = {"i0", "u0", "l0", "m0", "s0", "w0", "d0", "c0"};
    return chance(65) ? kVariables[type] : literal(type);
  }
  const auto part = [&] { return value(type, depth - 1); };
  switch (below(is_in_kernel_ ? 14 : 13)) {
    case 13:
      return chance(50) ? base::format("{}(v4[{} % 4u])", name, value(Uint, depth - 1))
                        : base::format("{}({}4.{})", name, chance(50) ? "r" : "b", chance(50) ? "x" : "w");
    case 0:
    case 1: {
      static constexpr const char* kOperators[] = {"+", "-", "*", "&", "|", "^"};
      return base::format("{0}({1}({2}) {3} {1}({4}))", name, unsigned_name, part(), kOperators[below(6)], part());
    }
    case 2:
      return base::format("{}<{}>({}, {})", chance(50) ? "over" : "rest", name, part(), part());
    case 3:
      return base::format("{}({}({}) << ({} & {}u))", name, unsigned_name, part(), value(Uint, depth - 1),
                          is_wide ? 63 : 31);
    case 4:
      return base::format("{}({} >> ({} & {}u))", name, part(), value(Uint, depth - 1),
                          is_wide        ? 63
                          : type <= Uint ? 31
                                         : 7);
    case 5: {  // small integers are always promoted to int
      const Type a = static_cast<Type>(Short + below(4)), b = static_cast<Type>(Short + below(4));
      return base::format("{}({} {} {})", name, value(a, depth - 1), chance(50) ? "+" : "-", value(b, depth - 1));
    }
    case 6:
      return base::format("{}({} ? {} : {})", name, truth(depth - 1), value(whole_type(), depth - 1),
                          value(whole_type(), depth - 1));
    case 7:
      return base::format("{}({})", name, value(whole_type(), depth - 1));
    case 8:
      return base::format("{}(int(near({})))", name, real(depth - 1));
    case 9:
      return chance(50)
                 ? base::format("{}(values[{} % 8u])", name, value(Uint, depth - 1))
                 : base::format("{}(kGrid[{} % 2u][{} % 3u])", name, value(Uint, depth - 1), value(Uint, depth - 1));
    case 10:
      return base::format("{}({})", name,
                          chance(50) ? "pair.a" : base::format("pair.c[{} % 3u]", value(Uint, depth - 1)));
    case 11:
      if (functions_ > 0 && loops_ < 2)
        return base::format("{}(function{}({}, {}))", name, below(static_cast<uint32_t>(functions_)),
                            value(Uint, depth - 1), value(Int, depth - 1));
      return base::format("{}(kTable[{} % 5u])", name, value(Uint, depth - 1));
    default:
      return chance(50) ? base::format("pick<{}>({}, {}, {})", name, value(Uint, depth - 1), part(), part())
                        : base::format("{}({}turn<{}>({}))", name, chance(50) ? "~" : "", 1 + below(31),
                                       value(Uint, depth - 1));
  }
}

inline std::string RandomProgram::value(Type type, int depth) {
  return type == Float ? real(depth) : type == Bool ? truth(depth) : whole(type, depth);
}

inline void RandomProgram::statements(int count, int depth) {
  ++indent_;
  for (int k = 0; k < count; ++k) statement(depth);
  --indent_;
}

inline void RandomProgram::statement(int depth) {
  static constexpr const char* kAll[] = {"i0", "u0", "l0", "m0", "s0", "w0", "d0", "c0", "f0", "b0"};
  if (is_in_kernel_ && chance(20)) return vector_statement();
  if (is_in_kernel_ && depth > 0 && chance(8)) return search(depth);
  const std::string id = std::to_string(names_++);
  switch (below(depth > 0 ? 13 : 7)) {
    case 0:
      return line(base::format("values[{} % 8u] {}= {};", value(Uint, 1), chance(50) ? "^" : "+", value(Uint, 2)));
    case 1:
      return line(base::format("{} {}= {};", chance(50) ? "u0" : "w0", chance(50) ? "^" : "|", value(Ushort, 2)));
    case 2:
      if (chance(40))
        return line(chance(50) ? base::format("shake(pair, {});", value(Uint, 2))
                               : base::format("pair = made(pair.a, {});", value(Uint, 2)));
      return line(chance(50) ? base::format("stir({}, {});", chance(50) ? "u0" : "values[u0 % 8u]", value(Uint, 2))
                             : base::format("pair = mixed(pair, {});", value(Uint, 2)));
    case 3:
      line(base::format("thread uint* p{} = &values[{} % 7u];", id, value(Uint, 1)));
      return line(base::format("p{0}[1] += *p{0} ^ {1};", id, value(Uint, 1)));
    case 4:
      line(base::format("const auto g{} = [&](uint x) {{ return x * {} + uint({}); }};", id, literal(Uint),
                        chance(50) ? "s0" : "i0"));
      return line(base::format("u0 ^= g{}({});", id, value(Uint, 1)));
    case 7:
    case 8:
      line(base::format("if ({}) {{", truth(2)));
      statements(1 + static_cast<int>(below(2)), depth - 1);
      if (chance(50)) {
        line("} else {");
        statements(1 + static_cast<int>(below(2)), depth - 1);
      }
      return line("}");
    case 9:
    case 10: {
      const bool is_for = chance(60);
      if (is_for) {
        line(base::format("for (int k{0} = 0; k{0} < {1}; ++k{0}) {{", id, 2 + below(4)));
      } else {
        line(base::format("int k{} = {};", id, 2 + below(4)));
        line(base::format("{} {{", chance(50) ? base::format("while (k{}-- > 0)", id)
                                              : base::format("for (; k{0} > 0; --k{0})", id)));
      }
      ++loops_;
      statements(1, depth - 1);
      ++indent_;
      line(base::format("u0 += uint(k{}) * {};", id, literal(Uint)));
      if (chance(50)) line(base::format("if ({}) {};", truth(1), chance(50) ? "break" : "continue"));
      --indent_;
      statements(1, depth - 1);
      --loops_;
      return line("}");
    }
    case 11:
      line(base::format("switch ({} % 5u) {{", value(Uint, 2)));
      for (int k = 0; k < 4; ++k) {
        line(k == 3 ? "default:" : base::format("case {}: {{", k));
        statements(1, depth - 1);
        if (k != 3) line(chance(60) ? "} break;" : "}");
      }
      return line("}");
    case 12:
      line(base::format("int k{} = 0;", id));
      line("do {");
      ++loops_;
      statements(1, depth - 1);
      --loops_;
      line("  u0 = u0 * 5u + 1u;");
      return line(base::format("}} while (++k{} < 4 && u0 % {}u != 0u);", id, 2 + below(2)));
    default: {
      const Type type = any_type();
      return line(base::format("{} = {};", kAll[type], value(type, 3)));
    }
  }
}

inline std::string RandomProgram::lanes(int depth) {
  if (depth <= 0) return chance(60) ? "v4" : base::format("uint4({})", literal(Uint));
  switch (below(4)) {
    case 0:
      return base::format("SWIZZLE(v4, {})", chance(50) ? "wzyx" : "yxxw");
    case 1:
      return base::format("uint4({}, {}, u0, 7u)", value(Uint, depth - 1), value(Uint, depth - 1));
    case 2:
      return base::format("uint4({}4)", chance(50) ? "r" : "b");
    default: {
      static constexpr const char* kOperators[] = {"+", "-", "*", "&", "|", "^"};
      return base::format("({} {} {})", lanes(depth - 1), kOperators[below(6)], lanes(depth - 1));
    }
  }
}

inline void RandomProgram::vector_statement() {
  const char* small = chance(50) ? "r4" : "b4";
  const char* small_type = small[0] == 'r' ? "short4" : "uchar4";
  switch (below(8)) {
    case 0:
      return line(base::format("v4 = {};", lanes(3)));
    case 1:
      return line(base::format("v4[{} % 4u] {}= {};", value(Uint, 1), chance(50) ? "+" : "^", value(Uint, 2)));
    case 2:
      return line(base::format("{} = {} {} {}({});", small, small, chance(50) ? "*" : "+", small_type, lanes(2)));
    case 3:
      return line(base::format("SET_SWIZZLE({0}, {1}, SWIZZLE({0}, {2}));", chance(50) ? "v4" : small,
                               chance(50) ? "xz" : "wx", chance(50) ? "yw" : "zy"));
    case 4:
      return line(base::format("q4 = tame(q4 {} {} float4({}));", chance(50) ? "*" : "-",
                               chance(50) ? "q4 *" : "SWIZZLE(q4, wzyx) *", real(2)));
    case 5:
      return line(base::format("q4 = tame(q4 / (q4 * q4 + float4({}, 2.5f, 1.0f, 0.5f)));", "0.75f"));
    case 6:
      return line(base::format("h0 = mild(float(h0 {} h1 {} mild({})));", chance(50) ? "*" : "-",
                               chance(50) ? "+" : "-", real(2)));
    default:
      return line(base::format("h1 = mild(float(mild({}) / (h0 * h0 + mild(0.5f))));", real(1)));
  }
}

// The result of the loop is used after it, and threads leave the loop in different iterations.
inline void RandomProgram::search(int depth) {
  const std::string id = std::to_string(names_++);
  line(base::format("uint t{0} = 0u; int n{0} = 0;", id));
  line(chance(50) ? base::format("for (uint k{0} = {1};; ++k{0}) {{", id, value(Uint, 1))
                  : base::format("uint k{0} = {1}; while (true) {{ ++k{0};", id, value(Uint, 1)));
  ++indent_;
  ++loops_;
  line(base::format("t{0} = in[k{0} % 64u] {1} u0;", id, chance(50) ? "^" : "+"));
  if (chance(50)) statement(depth - 1);
  line(base::format("if (t{0} % {1}u == 0u || ++n{0} > 6) break;", id, 2 + below(4)));
  line(base::format("u0 = u0 * 5u + {};", literal(Uint)));
  --loops_;
  --indent_;
  line("}");
  line(base::format("u0 = (u0 + {}) ^ t{};", literal(Uint), id));
}

inline void RandomProgram::function() {
  line(base::format("inline uint function{}(uint u0, int i0) {{", functions_));
  line(
      "  uint values[8] = {u0, 1u, uint(i0), 3u}; Pair pair = {i0, 7, {u0}}; long l0 = i0; ulong m0 = u0; short s0 = "
      "short(i0);");
  line(
      "  ushort w0 = ushort(u0); char d0 = char(i0); uchar c0 = uchar(u0); float f0 = near(float(i0)); bool b0 = u0 > "
      "5u;");
  statements(3, 1);
  line(base::format("  if ({}) return {};", truth(2), value(Uint, 2)));
  line(
      "  return u0 ^ uint(i0) ^ values[1] ^ uint(ulong(l0) + ulong(s0)) ^ uint(m0) ^ uint(w0) ^ uint(d0) ^ uint(c0) ^ "
      "uint(b0) ^ uint(pair.a) ^ as_type<uint>(f0);");
  line("}");
  ++functions_;
}

inline std::string RandomProgram::text(const std::string& name) {
  for (int k = 0; k < 3; ++k) function();
  is_in_kernel_ = true;
  line(base::format("kernel void {}(device uint* out, device const uint* in, uint i [[thread_position_in_grid]]) {{",
                    name));
  line(
      "  uint u0 = in[i]; int i0 = int(u0 * 7u); long l0 = long(i0) * 65537l; ulong m0 = ulong(u0) << 29; short s0 = "
      "short(u0);");
  line(
      "  ushort w0 = ushort(u0 >> 3); char d0 = char(u0); uchar c0 = uchar(u0 >> 8); float f0 = near(float(i0 >> 8)); "
      "bool b0 = u0 % 2u == 0u;");
  line("  uint values[8] = {u0, u0 >> 1, 5u, i, 0u, u0 * u0, 1u}; Pair pair = {i0, c0, {u0, 2u, i}};");
  line("  uint4 v4 = uint4(u0, u0 >> 7, i, 3u); short4 r4 = short4(v4); uchar4 b4 = uchar4(v4); half h0 = mild(f0);");
  line("  half h1 = mild(float(s0)); float4 q4 = float4(f0, 0.5f, float(s0), tame(f0 * 0.1f));");
  statements(8, 3);
  line("  uint result = u0 ^ uint(i0) ^ as_type<uint>(f0) ^ uint(b0);");
  line(
      "  stir(result, uint(l0)); stir(result, uint(m0 >> 32)); stir(result, uint(m0)); stir(result, uint(ulong(l0) >> "
      "32)); stir(result, uint(s0)); stir(result, uint(w0));");
  line("  stir(result, uint(d0)); stir(result, uint(c0)); stir(result, uint(pair.a)); stir(result, uint(pair.b));");
  line("  for (int k = 0; k < 8; ++k) stir(result, values[k]);");
  line("  for (int k = 0; k < 3; ++k) stir(result, pair.c[k]);");
  line("  for (uint k = 0u; k < 4u; ++k) { stir(result, v4[k]); stir(result, as_type<uint>(q4[k])); }");
  line("  for (uint k = 0u; k < 4u; ++k) { stir(result, uint(r4[k])); stir(result, uint(b4[k])); }");
  line("  stir(result, uint(as_type<ushort>(h0))); stir(result, uint(as_type<ushort>(h1)));");
  line("  out[i] = result;");
  line("}");
  return body_;
}

}  // namespace kymo::device::tests
