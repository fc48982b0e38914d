#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "kymo/annotate.h"
#include "record/sinks.h"

namespace kymo::record {
namespace {

template <class... Args>
std::string text_of(std::string_view name, const Args&... args) {
  char text[kLabelTextBytes];
  const size_t length = kymo::detail::with_args(
      [&](const kymo_arg* list, uint32_t count) { return label_text(Label(name), list, count, text); }, args...);
  EXPECT_EQ(text[length], '\0');
  return {text, length};
}

TEST(LabelTextTest, UnnamedArgumentsFillThePlaceholders) {
  EXPECT_EQ(text_of("plain"), "plain");
  EXPECT_EQ(text_of("step {}", 7), "step 7");
  EXPECT_EQ(text_of("{}{}{}", -1, 2u, "three"), "-12three");
  EXPECT_EQ(text_of("{} of {}", 1), "1 of {}");
  EXPECT_EQ(text_of("plain", 1), "plain");
  EXPECT_EQ(text_of("rows {}", arg("rows", 3), 4), "rows 4");
  EXPECT_EQ(text_of("{}", arg("", 3)), "3");
  EXPECT_EQ(text_of("{", 1), "{");
  EXPECT_EQ(text_of("", 1), "");
}

TEST(LabelTextTest, PlacesMayHaveNumbersNamesAndFormats) {
  EXPECT_EQ(text_of("{1} of {0}", 4, 3), "3 of 4");
  EXPECT_EQ(text_of("loss {:.3f}, {rows} rows", 0.12345, arg("rows", 3)), "loss 0.123, 3 rows");
  EXPECT_EQ(text_of("{{{}}}", 1), "{1}");
  EXPECT_EQ(text_of("{:500}{:500}", 1, 2).size(), 511u);
}

TEST(LabelTextTest, EveryTypeIsFormattedAsInATrace) {
  EXPECT_EQ(text_of("{}", std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(text_of("{}", ~uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(text_of("{} {}", true, false), "true false");
  EXPECT_EQ(text_of("{}", reinterpret_cast<void*>(0xbeef)), "0xbeef");
  EXPECT_EQ(text_of("{}", std::string("a\0b", 3)), "a b");
  EXPECT_EQ(text_of("{}", bytes(nullptr, 12)), "12 B");
  EXPECT_EQ(text_of("{}", bytes(nullptr, 4096)), "4.1 kB");
  EXPECT_EQ(text_of("{}", bytes(nullptr, 1536 << 10)), "1.6 MB");
  EXPECT_EQ(text_of("{}", bytes(nullptr, ~uint64_t{0})), "18.4 EB");
}

TEST(LabelTextTest, NumbersHaveTheFewestDigits) {
  EXPECT_EQ(text_of("{}", 0.1), "0.1");
  EXPECT_EQ(text_of("{}", 1.0), "1");
  EXPECT_EQ(text_of("{}", 0.0), "0");
  EXPECT_EQ(text_of("{}", -0.0), "-0");
  EXPECT_EQ(text_of("{}", 100000.0), "100000");
  EXPECT_EQ(text_of("{}", 1e15), "1000000000000000");
  EXPECT_EQ(text_of("{}", 1e16), "1e+16");
  EXPECT_EQ(text_of("{}", 0.0001), "0.0001");
  EXPECT_EQ(text_of("{}", 0.00001), "1e-05");
  EXPECT_EQ(text_of("{}", std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(text_of("{}", std::nan("")), "nan");
}

TEST(LabelTextTest, LongTextIsTruncatedBetweenCharacters) {
  EXPECT_EQ(text_of(std::string(511, 'a')), std::string(511, 'a'));
  EXPECT_EQ(text_of(std::string(512, 'a')), std::string(511, 'a'));
  EXPECT_EQ(text_of("{}", std::string(9000, 'b')), std::string(511, 'b'));
  EXPECT_EQ(text_of(std::string(510, 'a') + "é"), std::string(510, 'a'));
  EXPECT_EQ(text_of(std::string(510, 'a') + "{}x", "é"), std::string(510, 'a')) << "nothing follows what was cut";
}

TEST(LabelTextTest, ALabelWithoutANameIsEmpty) {
  char text[kLabelTextBytes];
  const kymo_label label = {nullptr, nullptr, 0, 0, 0};
  EXPECT_EQ(label_text(label, nullptr, 0, text), 0u);
  EXPECT_STREQ(text, "");
}

TEST(CounterValueTest, IsTheArgumentNamedValueOrTheFirstOne) {
  const auto value_of = [](auto... args) {
    const kymo_arg list[] = {args...};
    return counter_value(list, sizeof...(args));
  };
  EXPECT_EQ(value_of(arg("value", 3)), 3);
  EXPECT_EQ(value_of(arg("value", -0.5)), -0.5);
  EXPECT_EQ(value_of(arg("other", 1u), arg("value", 2u)), 2);
  EXPECT_EQ(value_of(arg("other", true)), 1);
  EXPECT_EQ(value_of(arg("value", "text")), 0);
  EXPECT_EQ(counter_value(nullptr, 0), 0);
}

}  // namespace
}  // namespace kymo::record
