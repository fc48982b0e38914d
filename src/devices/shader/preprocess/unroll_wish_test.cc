#include "shader/preprocess/unroll_wish.h"

#include <gtest/gtest.h>

namespace kymo::shader {
namespace {

TEST(UnrollWishTest, PragmasOfLoops) {
  for (const std::string_view text : {"unroll", " unroll ", "clang loop unroll(full)", "clang loop unroll ( enable )",
                                      "clang loop vectorize(enable) unroll(full)"})
    EXPECT_EQ(unroll_wish(text), kUnrollAll) << text;
  for (const std::string_view text : {"nounroll", "unroll 1", "unroll(1)", "clang loop unroll(disable)"})
    EXPECT_EQ(unroll_wish(text), kNeverUnroll) << text;
  for (const std::string_view text : {"unroll 4", "unroll(4)", "clang loop unroll_count(4)"})
    EXPECT_EQ(unroll_wish(text), 4) << text;
}

TEST(UnrollWishTest, OtherPragmas) {
  for (const std::string_view text : {"", "once", "unroll don't", "unroll(n)", "unroll 99999", "omp unroll", "clang",
                                      "clang unroll", "clang loop", "clang loop vectorize(enable)"})
    EXPECT_EQ(unroll_wish(text), kNoUnrollWish) << text;
}

}  // namespace
}  // namespace kymo::shader
