#include <gtest/gtest.h>

#include "serve/api.h"

namespace kymo::serve {
namespace {

TEST(QueryTest, TextIsDecoded) {
  const Query query = Query::parse("q=a%20b+c%2B%zz%4&empty=&flag&q=second&%71x=1&=nothing&&");
  EXPECT_EQ(query.text("q", 100), "a b c+%zz%4");
  EXPECT_EQ(query.find("empty"), "");
  EXPECT_EQ(query.find("flag"), "");
  EXPECT_EQ(query.number("qx", 9), 1u);
  EXPECT_FALSE(query.find("missing"));
}

TEST(QueryTest, NumbersAreDigitsUpToALimit) {
  const Query query = Query::parse("a=0&b=18446744073709551615&c=18446744073709551616&d=-1&e=1.0&f=&g= 1&h=1x&i=007");
  EXPECT_EQ(query.number("a", 0), 0u);
  EXPECT_EQ(query.number("b", UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(query.number("i", 7), 7u);
  for (const char* name : {"b", "c", "d", "e", "f", "g", "h", "missing"})
    EXPECT_THROW(query.number(name, 1'000'000), BadRequest) << name;
  EXPECT_EQ(query.number_or("missing", 5, 3), 3u);
  EXPECT_THROW(query.number_or("d", 5, 3), BadRequest);
}

TEST(QueryTest, ListsHaveAMaxLength) {
  const Query query = Query::parse("some=1,5,9&none=&bad=1,,2&end=1,");
  EXPECT_EQ(query.numbers("some", 9, 3), (std::vector<uint32_t>{1, 5, 9}));
  EXPECT_TRUE(query.numbers("none", 9, 3).empty());
  EXPECT_TRUE(query.numbers("missing", 9, 3).empty());
  EXPECT_THROW(query.numbers("some", 8, 3), BadRequest);
  EXPECT_THROW(query.numbers("some", 9, 2), BadRequest);
  EXPECT_THROW(query.numbers("bad", 9, 3), BadRequest);
}

TEST(QueryTest, AMessageShowsTheValueWithoutControlCharacters) {
  try {
    Query::parse("w=%0d%0aSet-Cookie:x").number("w", 5);
    FAIL();
  } catch (const BadRequest& error) {
    EXPECT_EQ(std::string(error.what()).find('\r'), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("from 0 to 5"), std::string::npos);
  }
}

}  // namespace
}  // namespace kymo::serve
