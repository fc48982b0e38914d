#include "push/clickhouse.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kymo/error.h"
#include "trace/test_recorder.h"

namespace kymo::push {
namespace {

TEST(AddressTest, PartsAreRead) {
  const Address all = parse_address("clickhouse://me:s@c:r/et%@db.example:9000/kymo?cluster=two");
  EXPECT_EQ(all.user, "me");
  EXPECT_EQ(all.password, "s@c:r/et%");
  EXPECT_EQ(all.host, "db.example");
  EXPECT_EQ(all.port, 9000);
  EXPECT_EQ(all.database, "kymo");
  EXPECT_EQ(all.cluster, "two");
  EXPECT_EQ(all.text(), "clickhouse://me@db.example:9000/kymo?cluster=two");
  const Address few = parse_address("clickhouse://[::1]/x");
  EXPECT_EQ(few.host, "[::1]");
  EXPECT_EQ(few.port, 8123);
  EXPECT_EQ(few.text(), "clickhouse://[::1]:8123/x");
  const Address secure = parse_address("clickhouse://db/x?secure&cluster=two");
  EXPECT_TRUE(secure.is_secure);
  EXPECT_EQ(secure.text(), "clickhouse://db:8443/x?cluster=two&secure");
}

TEST(AddressTest, WrongOnesAreRefusedWithoutThePassword) {
  for (const char* const text :
       {"", "clickhouse://", "clickhouse:///x", "clickhouse://h", "clickhouse://h/", "clickhouse://h:0/x",
        "clickhouse://h:65536/x", "clickhouse://h:1x/x", "clickhouse://h/a`b", "clickhouse://h/x?y=1",
        "clickhouse://h/x?cluster=a'b", "clickhouse://[::1/x", "clickhouse://[::1]x/x", "http://h/x",
        "clickhouse://u:secret@h:x/d", "clickhouse://u\n:secret@h/d"}) {
    try {
      (void)parse_address(text);
      FAIL() << text;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
    }
  }
}

TEST(AddressTest, ThePasswordMayBeInAFile) {
  const trace::testing::TemporaryFolder folder;
  const std::string path = folder / "password";
  std::ofstream(path) << "s3cret\nmore\n";
  ::setenv(kPasswordFileVariable, path.c_str(), 1);
  EXPECT_EQ(parse_address("clickhouse://h/x").password, "s3cret");
  EXPECT_EQ(parse_address("clickhouse://u:other@h/x").password, "other");
  std::filesystem::remove(path);
  EXPECT_THROW((void)parse_address("clickhouse://h/x"), InvalidArgument);
  ::unsetenv(kPasswordFileVariable);
}

TEST(AnswerTest, CellsAreUnescaped) {
  const Rows rows = parse_rows("a\tb\n1\tx\\ty\\n\\0\\\\\\'\n\t\n");
  ASSERT_EQ(rows.columns, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(rows.rows.size(), 2u);
  EXPECT_EQ(rows.rows[0][1], std::string("x\ty\n\0\\'", 7));
  EXPECT_EQ(rows.rows[1], (std::vector<std::string>{"", ""}));
}

TEST(AnswerTest, NonsenseIsAnError) {
  for (const char* const text : {"", "a", "a\tb\n1\n", "a\n1\t2\n", "a\n\\q\n", "a\n\\\n", "a\n1"})
    EXPECT_THROW(parse_rows(text), Error) << text;
  for (const char* const text : {"", "-1", "1.5", "18446744073709551616", "x", "1 "})
    EXPECT_THROW(parse_u64(text, "c"), Error) << text;
  for (const char* const text : {"", "[", "1", "[1,]x", "[a]", "[1,,2]", "]["})
    EXPECT_THROW(parse_reals(text, "c"), Error) << text;
}

TEST(AnswerTest, ListsOfBothEnginesAreRead) {
  EXPECT_EQ(parse_reals("[]", "c"), std::vector<double>());
  EXPECT_EQ(parse_reals("[1,2.5,-3e2]", "c"), (std::vector<double>{1, 2.5, -300}));
  EXPECT_EQ(parse_reals("[1.0, 2]", "c"), (std::vector<double>{1, 2}));
}

TEST(AnswerTest, ExceptionsAreRead) {
  const auto exception =
      parse_exception("Code: 252. DB::Exception: Too many parts (300). (TOO_MANY_PARTS) (version 26.5)\n");
  ASSERT_TRUE(exception);
  EXPECT_EQ(exception->code, 252);
  EXPECT_EQ(exception->text, "Too many parts (300). (TOO_MANY_PARTS) (version 26.5)");
  EXPECT_FALSE(parse_exception("<html>404</html>"));
  EXPECT_FALSE(parse_exception("Code: x DB::Exception"));
}

}  // namespace
}  // namespace kymo::push
