#include "push/address.h"

#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::push {
namespace {

TEST(AddressTest, PartsAreRead) {
  const Address all = parse_address("clickhouse://me:s%40cret@db.example:9000/kymo?cluster=two");
  EXPECT_EQ(all.user, "me");
  EXPECT_EQ(all.password, "s@cret");
  EXPECT_EQ(all.host, "db.example");
  EXPECT_EQ(all.port, 9000);
  EXPECT_EQ(all.database, "kymo");
  EXPECT_EQ(all.cluster, "two");
  EXPECT_EQ(all.text(), "clickhouse://me@db.example:9000/kymo?cluster=two");
  const Address few = parse_address("clickhouse://[::1]/x");
  EXPECT_EQ(few.host, "::1");
  EXPECT_EQ(few.port, 8123);
}

TEST(AddressTest, WrongOnesAreRefusedWithoutThePassword) {
  for (const char* const text :
       {"", "clickhouse://", "clickhouse:///x", "clickhouse://h", "clickhouse://h/", "clickhouse://h:0/x",
        "clickhouse://h:65536/x", "clickhouse://h:1x/x", "clickhouse://h/a`b", "clickhouse://h/x?y=1",
        "clickhouse://h/x?cluster=a'b", "clickhouse://[::1/x", "clickhouse://[::1]x/x", "http://h/x",
        "clickhouse://u:secret@h:x/d", "clickhouse://u%4:secret@h/d", "clickhouse://u%0a:secret@h/d"}) {
    try {
      (void)parse_address(text);
      FAIL() << text;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace kymo::push
