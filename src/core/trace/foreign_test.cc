#include "trace/foreign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kymo::trace {
namespace {

using ::testing::HasSubstr;

std::string describe(std::string_view beginning) { return describe_foreign(base::as_bytes(beginning)); }

TEST(ForeignTest, StatesWhatTheFileLooksLikeAndWhatToDo) {
  EXPECT_THAT(describe("\x1f\x8b\x08"), HasSubstr("gzip -d"));
  EXPECT_THAT(describe("\x28\xb5\x2f\xfd..."), HasSubstr("zstd -d"));
  EXPECT_THAT(describe("\x7f"
                       "ELF\x02"),
              HasSubstr("kymo record"));
  EXPECT_THAT(describe("\n  {\"traceEvents\": ["), HasSubstr("JSON"));
  EXPECT_THAT(describe("[{\"ph\": \"X\""), HasSubstr("JSON"));
  EXPECT_THAT(describe(std::string_view("\n\x05\x08\x01\x00\x00\x00", 7)), HasSubstr("Perfetto"));
  EXPECT_THAT(describe("\n\nDear diary"), HasSubstr("text"));
  EXPECT_THAT(describe("Dear diary"), HasSubstr("text"));
  EXPECT_THAT(describe(std::string(100, '\0')), HasSubstr("zeros"));
  EXPECT_THAT(describe("\x01\x02\x03"), HasSubstr("no kind"));
}

}  // namespace
}  // namespace kymo::trace
