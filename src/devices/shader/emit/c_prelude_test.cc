#include "shader/emit/c_prelude.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace kymo::shader {
namespace {

constexpr std::string_view kPreludeFile = R"(// What this is.

//# base
int base;

//# sum TYPE SIGN: base, bits TYPE
TYPE sum_TYPE(TYPE a) { return a SIGN a; }

//# bits TYPE
int bits_TYPE;
)";

TEST(CPreludeTest, OnlyUsedHelpersAreWrittenAfterTheirDependencies) {
  const CPieces pieces = read_pieces(kPreludeFile);
  CPrelude prelude(pieces);
  EXPECT_EQ(prelude.text(), "");
  prelude.use("sum", {"float", "+"});
  EXPECT_EQ(prelude.text(), "int base;\nint bits_float;\nfloat sum_float(float a) { return a + a; }\n");
}

TEST(CPreludeTest, EveryHelperIsWrittenOnce) {
  const CPieces pieces = read_pieces(kPreludeFile);
  CPrelude prelude(pieces);
  prelude.use("bits", {"int"});
  prelude.use("sum", {"int", "*"});
  prelude.use("sum", {"int", "*"});
  prelude.use("base");
  EXPECT_EQ(prelude.text(), "int bits_int;\nint base;\nint sum_int(int a) { return a * a; }\n");
}

TEST(CPreludeTest, AnUnknownHelperIsAnError) {
  const CPieces pieces = read_pieces(kPreludeFile);
  CPrelude prelude(pieces);
  EXPECT_THROW(prelude.use("nothing"), std::logic_error);
  EXPECT_THROW(prelude.use("bits"), std::logic_error);
}

}  // namespace
}  // namespace kymo::shader
