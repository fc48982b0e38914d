// Translations of some of the kernels of a source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/translate.h"

namespace kymo::shader {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kThree = R"(#include <metal_stdlib>
using namespace metal;
template <typename T> T twice(T x) { return x * 2; }
template <typename T> kernel void scale(device T* out, uint i [[thread_position_in_grid]]) { out[i] = twice(out[i]); }
template [[host_name("scale_float")]] kernel void scale<float>(device float*, uint);
template [[host_name("scale_int")]] kernel void scale<int>(device int*, uint);
kernel void broken(device float* out) { out[0] = missing; }
)";

TEST(ChosenKernelsTest, OnlyTheWantedKernelIsTranslated) {
  Options options;
  options.kernels = {"scale_int"};
  for (const Target target : {Target::OpenCl, Target::Cuda, Target::Glsl}) {
    options.target = target;
    const Translation translation = translate(kThree, options);
    ASSERT_TRUE(translation.ok()) << translation.log;
    ASSERT_EQ(translation.kernels.size(), 1u);
    EXPECT_EQ(translation.kernels[0].name, "scale_int");
    EXPECT_THAT(translation.text, Not(HasSubstr("scale_float")));
  }
}

TEST(ChosenKernelsTest, ErrorsInAWantedKernelAreFound) {
  Options options;
  options.kernels = {"broken"};
  EXPECT_THAT(translate(kThree, options).log, HasSubstr("\"missing\""));
}

TEST(ChosenKernelsTest, AMissingKernelIsAnErrorThatListsTheOthers) {
  Options options;
  options.kernels = {"scale_half"};
  const Translation translation = translate(kThree, options);
  EXPECT_FALSE(translation.ok());
  EXPECT_THAT(translation.log, HasSubstr("there is no kernel \"scale_half\"; kernels in the source: broken, "
                                         "scale_float, scale_int"));
}

}  // namespace
}  // namespace kymo::shader
