#include "analyze/shared_time.h"

#include <gtest/gtest.h>

namespace kymo::analyze {
namespace {

TEST(SharedTimeTest, TheSharesOfASubmissionAreItsTime) {
  SharedTime shared;
  EXPECT_EQ(shared.share_of(100, 200, 3), (TickSpan{100, 133}));
  EXPECT_EQ(shared.share_of(100, 200, 3), (TickSpan{133, 166}));
  EXPECT_EQ(shared.share_of(100, 200, 3), (TickSpan{166, 200}));
  EXPECT_EQ(shared.share_of(200, 300, 2), (TickSpan{200, 250}));
  EXPECT_EQ(shared.share_of(300, 400, 1), (TickSpan{300, 400}));  // its own time
  EXPECT_EQ(shared.share_of(300, 400, 2), (TickSpan{300, 350}));
}

TEST(SharedTimeTest, ForgedNumbersStayInsideTheTime) {
  SharedTime shared;
  for (int i = 0; i < 3; ++i) {
    const TickSpan own = shared.share_of(1, UINT64_MAX, UINT32_MAX);
    EXPECT_GE(own.begin, 1u);
    EXPECT_LE(own.begin, own.end);
  }
  EXPECT_EQ(shared.share_of(9, 5, 4), (TickSpan{9, 5}));
  const trace::EventClass event_class{1, "draw", "", 0, {{std::string(kOperationsInThisTime), trace::FieldType::UInt}}};
  EXPECT_EQ(operations_in_this_time(&event_class, {}), 1u);
  EXPECT_EQ(operations_in_this_time(&event_class, {{trace::FieldType::UInt, 0, 0, {}}}), 1u);
  EXPECT_EQ(operations_in_this_time(&event_class, {{trace::FieldType::UInt, 7, 0, {}}}), 7u);
  EXPECT_EQ(operations_in_this_time(&event_class, {{trace::FieldType::UInt, UINT64_MAX, 0, {}}}), UINT32_MAX);
  EXPECT_EQ(operations_in_this_time(nullptr, {}), 1u);
}

}  // namespace
}  // namespace kymo::analyze
