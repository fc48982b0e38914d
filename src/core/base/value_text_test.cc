// The text of arguments in names: name_places.h, value_text.h.
#include "base/value_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kymo::base {
namespace {

struct TestArgument {
  std::string name;
  ShownValue value;
};

TestArgument number(int64_t value, std::string name = "") {
  return {std::move(name), {ShownValue::Kind::Int, static_cast<uint64_t>(value)}};
}
TestArgument real(double value, std::string name = "") {
  return {std::move(name), {ShownValue::Kind::Double, 0, value}};
}
TestArgument text(std::string_view value, std::string name = "") {
  return {std::move(name), {ShownValue::Kind::Text, 0, 0, value}};
}
TestArgument other(ShownValue::Kind kind, uint64_t bits) { return {"", {kind, bits}}; }

std::string show(std::string_view name, const std::vector<TestArgument>& arguments) {
  struct {
    std::string text;
    void put(const char* bytes, size_t size) { text.append(bytes, size); }
  } out;
  put_name(
      name, arguments.size(), [&](size_t i) { return std::string_view(arguments[i].name); },
      [&](size_t i) { return arguments[i].value; }, out);
  return out.text;
}

TEST(NamePlacesTest, PlacesTakeTheNextTheNumberedOrTheNamedArgument) {
  EXPECT_EQ(show("{} of {}", {number(1), number(2)}), "1 of 2");
  EXPECT_EQ(show("{1} before {0}", {number(1), number(2)}), "2 before 1");
  EXPECT_EQ(show("{0}{0}", {text("ab")}), "abab");
  EXPECT_EQ(show("{rows} x {columns}", {number(3, "columns"), number(2, "rows")}), "2 x 3");
  EXPECT_EQ(show("{} {rows} {}", {number(1), number(9, "rows"), number(2)}), "1 9 2");
  EXPECT_EQ(show("{1} {}", {number(1), number(9, "rows"), number(2)}), "2 1") << "only those without a name count";
}

TEST(NamePlacesTest, DoubledBracesAreBraces) {
  EXPECT_EQ(show("{{{}}}", {number(1)}), "{1}");
  EXPECT_EQ(show("{{}} {{x}} }}", {number(1)}), "{} {x} }");
  EXPECT_EQ(show("{{}} {0}", {}), "{{}} {0}") << "without arguments a name is shown as it is";
}

TEST(NamePlacesTest, WhatNoArgumentFillsStaysAsItIsWritten) {
  EXPECT_EQ(show("{} {}", {number(1)}), "1 {}");
  EXPECT_EQ(show("{7} {99999} {rows}", {number(1)}), "{7} {99999} {rows}");
  EXPECT_EQ(show("f()::{lambda(int)#1} {", {number(1, "n")}), "f()::{lambda(int)#1} {");
  EXPECT_EQ(show("a } b { {}", {number(1)}), "a } b { 1");
  EXPECT_EQ(show("{:q} {:.3s} {!r}", {number(1), number(2), number(3)}), "{:q} {:.3s} {!r}");
}

TEST(ValueTextTest, FormatsOfDoubles) {
  EXPECT_EQ(show("{:.3f}", {real(3.14159)}), "3.142");
  EXPECT_EQ(show("{0:.1f}|{0:8.2f}|{0:<8.2f}|{0:+.0f}", {real(2.5)}), "2.5|    2.50|2.50    |+2");
  EXPECT_EQ(show("{:.2e} {:g} {:.2%}", {real(12345), real(0.1), real(0.256)}), "1.23e+04 0.1 25.60%");
  EXPECT_EQ(show("{:08.3f}", {real(-3.14159)}), "-003.142");
  EXPECT_EQ(show("{:,.2f}", {real(1234567.891)}), "1,234,567.89");
  EXPECT_EQ(show("{:.3f} {:E}", {real(-1.0 / 0.0), real(1e300)}), "-inf 1.000000E+300");
  EXPECT_EQ(show("{:.100f}", {real(1e308)}).size(), 410u);
  EXPECT_EQ(show("{:.3f}", {number(2)}), "2.000") << "as in Python";
}

TEST(ValueTextTest, FormatsOfIntegers) {
  EXPECT_EQ(show("{:5}|{:<5}|{:^5}|{:05}", {number(42), number(42), number(42), number(-42)}),
            "   42|42   | 42  |-0042");
  EXPECT_EQ(show("{:x} {:#X} {:#o} {:b}", {number(255), number(255), number(8), number(5)}), "ff 0XFF 0o10 101");
  EXPECT_EQ(show("{:#06x}", {number(255)}), "0x00ff");
  EXPECT_EQ(show("{:,} {:_x}", {number(-1234567), number(0x12345)}), "-1,234,567 1_2345");
  EXPECT_EQ(show("{:+d} {: d}", {number(7), number(7)}), "+7  7");
  EXPECT_EQ(show("{}", {number(INT64_MIN)}), "-9223372036854775808");
}

TEST(ValueTextTest, FormatsOfTheOtherTypes) {
  using Kind = ShownValue::Kind;
  EXPECT_EQ(show("{:>6}|{:*^6}|{:.2}", {text("ab"), text("ab"), text("äöü")}), "    ab|**ab**|äö");
  EXPECT_EQ(show("{:·<4}", {text("ä")}), "ä···");
  EXPECT_EQ(show("{} {:6}| {:d}", {other(Kind::Bool, 1), other(Kind::Bool, 0), other(Kind::Bool, 1)}),
            "true false | 1");
  EXPECT_EQ(
      show("{} {:d} {:,}", {other(Kind::ByteCount, 4096), other(Kind::ByteCount, 4096), other(Kind::ByteCount, 4096)}),
      "4.1 kB 4096 4,096");
  EXPECT_EQ(show("{} {:x}", {other(Kind::Pointer, 0xbeef), other(Kind::Pointer, 0xbeef)}), "0xbeef beef");
}

TEST(ValueTextTest, UnreasonableFormatsAreNotUsed) {
  for (const char* name : {"{:501}", "{:.101f}", "{:99999999999}", "{:.f}", "{:d5}", "{:=5s}", "{:#f}"})
    EXPECT_EQ(show(name, {real(1)}), name);
  EXPECT_EQ(show("{:500}", {real(1)}).size(), 500u);
}

}  // namespace
}  // namespace kymo::base
