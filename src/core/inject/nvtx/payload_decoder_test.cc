#include "inject/nvtx/payload_decoder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/text.h"

namespace kymo::inject::nvtx {
namespace {

class PayloadDecoderTest : public ::testing::Test {
 protected:
  // A domain of its own for each test, so that ids do not collide.
  PayloadDecoderTest() : domain_(*create_domain(::testing::UnitTest::GetInstance()->current_test_info()->name())) {}

  uint64_t schema(const std::vector<SchemaEntryAttributes>& entries, uint64_t type = kStaticSchema, size_t size = 0,
                  size_t packed = 0) {
    SchemaAttributes made{};
    made.fields = kSchemaType | kSchemaEntries | kSchemaEntryCount | kSchemaName;
    made.name = "schema";
    made.type = type;
    made.entries = entries.data();
    made.entry_count = entries.size();
    if (size != 0) made.fields |= kSchemaStaticSize;
    made.static_size = size;
    if (packed != 0) made.fields |= kSchemaAlignment;
    made.pack_alignment = packed;
    return register_schema(domain_, &made);
  }
  static SchemaEntryAttributes entry(uint64_t type, const char* name, uint64_t flags = 0, uint64_t detail = 0,
                                     uint64_t offset = 0) {
    return {flags, type, name, nullptr, detail, offset, nullptr, nullptr};
  }

  // "name=value name=value", of one payload of exactly these bytes.
  std::string decode(uint64_t id, std::vector<uint8_t> bytes) {
    const PayloadData payload{id, bytes.size(), bytes.data()};
    return text_of(DecodedPayload(domain_, {&payload, 1}));
  }
  template <class T>
  std::string decode_object(uint64_t id, const T& object) {
    std::vector<uint8_t> bytes(sizeof object);
    std::memcpy(bytes.data(), &object, sizeof object);
    return decode(id, bytes);
  }
  static std::string text_of(const DecodedPayload& decoded) {
    std::string text(decoded.message());
    if (!text.empty()) text += ": ";
    for (const kymo_arg& arg : decoded.args()) {
      if (arg.type == KYMO_STRING)
        text += base::format("{}='{}' ", arg.name, std::string_view(arg.value.as_text, arg.length));
      else if (arg.type == KYMO_DOUBLE)
        text += base::format("{}={} ", arg.name, arg.value.as_double);
      else if (arg.type == KYMO_INT)
        text += base::format("{}={} ", arg.name, arg.value.as_int);
      else
        text += base::format("{}={} ", arg.name, arg.value.as_uint);
    }
    return text;
  }

  Domain& domain_;
};

TEST_F(PayloadDecoderTest, FieldsFollowEachOtherWithTheAlignmentOfC) {
  struct {
    int8_t a = -1;
    double b = 2.5;
    uint16_t c = 65535;
    int64_t d = -4;
  } object;
  const uint64_t id =
      schema({entry(kTypeInt8, "a"), entry(kTypeDouble, "b"), entry(kTypeUint16, "c"), entry(kTypeInt64, "d")});
  EXPECT_EQ(decode_object(id, object), "a=-1 b=2.5 c=65535 d=-4 ");
}

TEST_F(PayloadDecoderTest, PackedFieldsFollowWithoutGaps) {
  const uint64_t id = schema({entry(kTypeUint8, "a"), entry(kTypeUint32, "b")}, kStaticSchema, 5, 1);
  EXPECT_EQ(decode(id, {7, 1, 0, 0, 0}), "a=7 b=1 ");
}

TEST_F(PayloadDecoderTest, AShortPayloadGivesTheFieldsThatItHas) {
  const uint64_t id = schema({entry(kTypeUint32, "a"), entry(kTypeUint64, "b")});
  EXPECT_EQ(decode(id, {1, 0, 0, 0, 0, 0}), "a=1 ");
  EXPECT_EQ(decode(id, {1, 0}), "");
  EXPECT_EQ(decode(id, {}), "");
}

TEST_F(PayloadDecoderTest, ArraysAndTexts) {
  const uint64_t id = schema({entry(kTypeUint8, "n"), entry(kTypeUint8, "list", kCountedArray, 0),
                              entry(kTypeString, "text", kTerminatedArray), entry(kTypeChar, "fixed", kFixedArray, 4)},
                             kDynamicSchema);
  EXPECT_EQ(decode(id, {3, 5, 6, 7, 'h', 'i', 0, 'a', 'b', 0, 0}), "n=3 list='[5, 6, 7]' text='hi' fixed='ab' ");
  EXPECT_EQ(decode(id, {200, 5, 6}), "n=200 ") << "a length that the payload does not have";
}

TEST_F(PayloadDecoderTest, LongArraysAreShortened) {
  const uint64_t id = schema({entry(kTypeUint8, "list", kFixedArray, 40)});
  EXPECT_EQ(decode(id, std::vector<uint8_t>(40, 1)), "list='[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, …]' ");
}

TEST_F(PayloadDecoderTest, WideTextsBecomeUtf8) {
  const uint64_t id = schema({entry(kTypeUtf16, "text", 0, 3)});
  EXPECT_EQ(decode(id, {0x3d, 0xd8, 0x00, 0xde, 0xe4, 0x00}), "text='😀ä' ");
}

TEST_F(PayloadDecoderTest, NestedSchemasHavePrefixes) {
  const uint64_t inner = schema({entry(kTypeInt32, "x"), entry(kTypeInt32, "y")});
  const uint64_t outer = schema({entry(inner, "from"), entry(inner, "to", kFixedArray, 2)});
  const int32_t numbers[] = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(decode_object(outer, numbers), "from.x=1 from.y=2 to[0].x=3 to[0].y=4 to[1].x=5 to[1].y=6 ");
}

// A program may register such a thing, and must not crash because of it.
TEST_F(PayloadDecoderTest, ASchemaInsideItselfEnds) {
  SchemaEntryAttributes entries[] = {entry(kFirstStaticId + 1, "self")};
  SchemaAttributes made{};
  made.fields = kSchemaType | kSchemaEntries | kSchemaEntryCount | kSchemaStaticSize | kSchemaId;
  made.type = kStaticSchema;
  made.entries = entries;
  made.entry_count = 1;
  made.static_size = 8;
  made.id = kFirstStaticId + 1;
  ASSERT_EQ(register_schema(domain_, &made), kFirstStaticId + 1);
  EXPECT_EQ(decode(kFirstStaticId + 1, std::vector<uint8_t>(8)), "");
}

TEST_F(PayloadDecoderTest, AUnionIsLeftOut) {
  const uint64_t either = schema({entry(kTypeInt32, "number"), entry(kTypeFloat, "real")}, kUnionSchema, 4);
  const uint64_t id = schema({entry(kTypeUint32, "which"), entry(either, "value", 0, 0), entry(kTypeUint32, "after")});
  EXPECT_EQ(decode(id, {1, 0, 0, 0, 42, 0, 0, 0, 7, 0, 0, 0}), "which=1 after=7 ");
}

TEST_F(PayloadDecoderTest, EnumerationsHaveNames) {
  const EnumEntryAttributes values[] = {{"red", 1, 1}, {"green", 2, 1}, {"plain", 4, 0}};
  EnumAttributes made{};
  made.fields = kEnumEntries | kEnumEntryCount | kEnumSize;
  made.entries = values;
  made.entry_count = 3;
  made.size = 1;
  const uint64_t id = schema({entry(register_enum(domain_, &made), "colour")});
  EXPECT_EQ(decode(id, {4}), "colour='plain' ");
  EXPECT_EQ(decode(id, {3}), "colour='red | green' ");
  EXPECT_EQ(decode(id, {9}), "colour='red | 8' ");
  EXPECT_EQ(decode(id, {0}), "colour='0' ");
}

TEST_F(PayloadDecoderTest, PointersLeadIntoThePayloadsOrToReadableMemory) {
  const uint64_t id = schema({entry(kTypeString, "text", kPointerFlag)});
  const char* const outside = "outside";
  EXPECT_EQ(decode_object(id, outside), "text='outside' ");
  EXPECT_EQ(decode_object(id, reinterpret_cast<const char*>(8)), "") << "no memory is there";
  EXPECT_EQ(decode_object(id, static_cast<const char*>(nullptr)), "");

  const char blob[4] = {'a', 'b', 'c', 'd'};  // not terminated: its size ends it
  const char* const pointer = blob + 1;
  const PayloadData payloads[] = {{kReferencedPayload, sizeof blob, blob}, {id, sizeof pointer, &pointer}};
  EXPECT_EQ(text_of(DecodedPayload(domain_, payloads)), "text='bcd' ");
}

TEST_F(PayloadDecoderTest, StringsOfTheDomainAreChecked) {
  const uint64_t id = schema({entry(kTypeRegistered, "text")});
  EXPECT_EQ(decode_object(id, register_string(domain_, "registered")), "text='registered' ");
  EXPECT_EQ(decode_object(id, uint64_t{0x1238}), "");
  const uint64_t wrong[8] = {};
  EXPECT_EQ(decode_object(id, &wrong), "");
}

TEST_F(PayloadDecoderTest, MessageColourAndCategoryAreNotArguments) {
  const uint64_t id = schema({entry(kTypeString, "name", kMessageFlag, 4), entry(kTypeColour, "colour"),
                              entry(kTypeCategory, "category"), entry(kTypeUint8, "secret", kHiddenFlag)});
  const std::vector<uint8_t> bytes{'n', 'a', 'm', 'e', 1, 2, 3, 4, 5, 0, 0, 0, 9};
  const PayloadData payload{id, bytes.size(), bytes.data()};
  const DecodedPayload decoded(domain_, {&payload, 1});
  EXPECT_EQ(decoded.message(), "name");
  EXPECT_EQ(decoded.colour(), 0x04030201u);
  EXPECT_EQ(decoded.category(), 5u);
  EXPECT_TRUE(decoded.args().empty());
}

TEST_F(PayloadDecoderTest, SmallFloatsAreExact) {
  const uint64_t id = schema({entry(kTypeFloat16, "half"), entry(kTypeBfloat16, "brain")});
  EXPECT_EQ(decode(id, {0x00, 0xbe, 0x40, 0x40}), "half=-1.5 brain=3 ");
}

TEST_F(PayloadDecoderTest, PredefinedTypesNeedNoSchema) {
  EXPECT_EQ(decode(kTypeInt32, {255, 255, 255, 255}), "value=-1 ");
  EXPECT_EQ(decode(kTypeInt32, {255}), "");
  EXPECT_EQ(decode(kRawPayload, {1, 2, 3}), "bytes=3 ");
  EXPECT_EQ(decode(uint64_t{1} << 40, {1, 2, 3}), "") << "an unknown schema";
}

TEST_F(PayloadDecoderTest, MoreFieldsThanARecordHoldsAreLeftOut) {
  const std::vector<SchemaEntryAttributes> many(200, entry(kTypeUint8, "n"));
  const std::vector<uint8_t> bytes(200);
  const PayloadData payload{schema(many), bytes.size(), bytes.data()};
  EXPECT_EQ(DecodedPayload(domain_, {&payload, 1}).args().size(), record::kMaxStoredArgs);
}

TEST_F(PayloadDecoderTest, InvalidSchemasAreRefused) {
  EXPECT_EQ(register_schema(domain_, nullptr), 0u);
  EXPECT_EQ(schema({entry(kTypeInt, "a")}, 9), 0u);
  EXPECT_EQ(schema(std::vector<SchemaEntryAttributes>(kMaxEntries + 1, entry(kTypeInt, "a"))), 0u);
}

}  // namespace
}  // namespace kymo::inject::nvtx
