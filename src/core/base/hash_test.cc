#include "base/hash.h"

#include <gtest/gtest.h>

namespace kymo::base {
namespace {

// These are the published values. A file that another machine wrote must verify here.
TEST(HashTest, IsXxh3WithSeedZero) {
  EXPECT_EQ(hash({}), 0x2d06800538d394c2u);
  EXPECT_EQ(hash(as_bytes("a")), 0xe6c632b61e964e1fu);
  EXPECT_EQ(hash(as_bytes("abc")), 0x78af5f94892f3950u);
}

}  // namespace
}  // namespace kymo::base
