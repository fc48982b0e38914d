// Tests ValueCursor, full_name and to_text of reader.h.
#include <gtest/gtest.h>

#include "trace/reader.h"

namespace kymo::trace {
namespace {

EventClass event_class(std::string name, std::vector<Field> fields) { return {1, std::move(name), "", 0, fields}; }

TEST(ValuesTest, PlaceholdersAreFilledFromUnnamedFields) {
  const EventClass step =
      event_class("step {} of {}", {{"", FieldType::Int}, {"lr", FieldType::Double}, {"", FieldType::UInt}});
  const Values values{{static_cast<uint64_t>(-7), 10}, {0.5}, ""};
  ValueCursor cursor(values);
  const auto& row = cursor.next(&step);
  EXPECT_EQ(full_name(&step, row), "step -7 of 10");
  EXPECT_EQ(row[1].real, 0.5);
}

TEST(ValuesTest, PlaceholdersMayHaveNumbersNamesAndFormats) {
  const EventClass step =
      event_class("{1} {{{0:04}}} {lr:.3f}", {{"", FieldType::Int}, {"lr", FieldType::Double}, {"", FieldType::UInt}});
  const Values values{{7, 10}, {0.5}, ""};
  ValueCursor cursor(values);
  EXPECT_EQ(full_name(&step, cursor.next(&step)), "10 {0007} 0.500");
}

TEST(ValuesTest, TheNameOfAClassHasItsPlacesAndOtherwiseItsText) {
  const std::vector<Field> fields = {{"", FieldType::Int}, {"n", FieldType::Int}};
  EXPECT_EQ(shown_name(event_class("step {}", fields)), "step {}");
  EXPECT_EQ(shown_name(event_class("{n} of {{x}}", fields)), "{n} of {{x}}");
  EXPECT_EQ(shown_name(event_class("a {{n}} {other}", fields)), "a {n} {other}");
  EXPECT_EQ(shown_name(event_class("a {{n}}", {})), "a {{n}}");  // nothing fills it, so nothing is replaced
}

TEST(ValuesTest, CursorWalksEventsOfDifferentClasses) {
  const EventClass a = event_class("a {}", {{"", FieldType::String}}), b = event_class("b", {});
  const Values values{{2, 3, 4}, {}, "xyabcname"};
  ValueCursor cursor(values);
  EXPECT_EQ(full_name(&a, cursor.next(&a)), "a xy");
  EXPECT_EQ(full_name(&b, cursor.next(&b)), "b");
  EXPECT_EQ(full_name(&a, cursor.next(&a)), "a abc");
  EXPECT_EQ(full_name(nullptr, cursor.next(nullptr)), "name");
}

TEST(ValuesTest, TooShortStreamsGiveZerosAndEmptyStrings) {
  const EventClass many =
      event_class("{} {} {}", {{"", FieldType::Int}, {"", FieldType::String}, {"", FieldType::Double}});
  const Values values{{5, ~uint64_t{0}}, {}, "rest"};
  ValueCursor cursor(values);
  EXPECT_EQ(full_name(&many, cursor.next(&many)), "5 rest 0");
  EXPECT_EQ(full_name(&many, cursor.next(&many)), "0  0");
}

TEST(ValuesTest, UndefinedClassHasNoName) {
  const Values none;
  ValueCursor cursor(none);
  EXPECT_EQ(full_name(nullptr, cursor.next(nullptr)), "?");
  EXPECT_EQ(full_name(nullptr, {}), "?");
}

TEST(ValuesTest, PlaceholdersAndFieldsNeedNotMatch) {
  const EventClass more_places = event_class("{} {}", {{"", FieldType::Int}});
  const EventClass more_fields = event_class("plain", {{"", FieldType::Int}});
  const Values values{{1, 2}, {}, ""};
  ValueCursor cursor(values);
  EXPECT_EQ(full_name(&more_places, cursor.next(&more_places)), "1 {}");
  EXPECT_EQ(full_name(&more_fields, cursor.next(&more_fields)), "plain");
}

TEST(ValuesTest, EachTypeHasItsText) {
  const auto text = [](FieldType type, uint64_t bits, double real = 0) { return to_text({type, bits, real, ""}); };
  EXPECT_EQ(text(FieldType::Int, ~uint64_t{0}), "-1");
  EXPECT_EQ(text(FieldType::UInt, ~uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(text(FieldType::Double, 0, 0.1), "0.1");
  EXPECT_EQ(text(FieldType::Pointer, 0xdead), "0xdead");
  EXPECT_EQ(text(FieldType::Bool, 1), "true");
  EXPECT_EQ(text(FieldType::ByteCount, 999), "999 B");
  EXPECT_EQ(text(FieldType::ByteCount, 1500), "1.5 kB");
  EXPECT_EQ(text(FieldType::ByteCount, 64 << 20), "67.1 MB");
  EXPECT_EQ(text(static_cast<FieldType>(99), 4), "4");
}

}  // namespace
}  // namespace kymo::trace
