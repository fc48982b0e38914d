#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "base/bytes.h"
#include "base/hash.h"
#include "kymo/error.h"
#include "kymo/translate.h"

namespace kymo::shader {
namespace {

using testing::HasSubstr;

constexpr std::string_view kSource = R"(
#include <metal_stdlib>
using namespace metal;
struct Settings { float4 scale; uint count; };
kernel void scale(device float* out, device const float* in, constant Settings& s, threadgroup float* room,
                  constant long& step, uint i [[thread_position_in_grid]]) {
  room[i % 32] = in[i];
  out[i] = simd_sum(room[i % 32]) * s.scale.x + float(step);
}
kernel void empty() {}
kernel void image(texture2d_array<half, access::read_write> picture [[texture(2)]], sampler s) {
  picture.write(half4(1), uint2(0), 0);
}
)";

KernelLibrary library_of(std::string_view source) {
  KernelLibrary library;
  for (const Target target : {Target::OpenCl, Target::Cuda, Target::Glsl}) {
    const Translation translation = translate(source, {.target = target});
    EXPECT_TRUE(translation.ok()) << translation.log;
    library.parts.push_back({target, translation.text, translation.kernels});
  }
  return library;
}

std::string with_right_checksum(std::string bytes) {
  const uint64_t sum = base::hash(base::as_bytes(bytes).subspan(16));
  std::memcpy(bytes.data() + 8, &sum, sizeof sum);
  return bytes;
}

std::string error_of(std::string_view bytes) {
  try {
    decode_library(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(KernelLibraryTest, ReturnsWhatWasWritten) {
  const KernelLibrary written = library_of(kSource);
  const KernelLibrary read = decode_library(encode_library(written));
  ASSERT_EQ(read.parts.size(), 3u);
  for (size_t p = 0; p < 3; ++p) {
    const KernelLibrary::Part &a = written.parts[p], &b = read.parts[p];
    EXPECT_EQ(a.target, b.target);
    EXPECT_EQ(a.text, b.text);
    ASSERT_EQ(a.kernels.size(), b.kernels.size());
    for (size_t k = 0; k < a.kernels.size(); ++k) {
      const Kernel &x = a.kernels[k], &y = b.kernels[k];
      EXPECT_EQ(x.name, y.name);
      EXPECT_EQ(x.symbol, y.symbol);
      EXPECT_EQ(x.group_memory, y.group_memory);
      EXPECT_EQ(x.max_threads, y.max_threads);
      EXPECT_EQ(x.uses_simdgroups, y.uses_simdgroups);
      EXPECT_EQ(x.uses_simdgroup_matrices, y.uses_simdgroup_matrices);
      EXPECT_EQ(x.takes_grid, y.takes_grid);
      ASSERT_EQ(x.parameters.size(), y.parameters.size());
      for (size_t i = 0; i < x.parameters.size(); ++i) {
        const KernelParameter &one = x.parameters[i], &two = y.parameters[i];
        EXPECT_EQ(one.name, two.name);
        EXPECT_EQ(one.type, two.type);
        EXPECT_EQ(one.kind, two.kind);
        EXPECT_EQ(one.passing, two.passing);
        EXPECT_EQ(one.scalar, two.scalar);
        EXPECT_EQ(one.index, two.index);
        EXPECT_EQ(one.count, two.count);
        EXPECT_EQ(one.bytes, two.bytes);
        EXPECT_EQ(one.align, two.align);
        EXPECT_EQ(one.inline_bytes, two.inline_bytes);
        EXPECT_EQ(one.value_offset, two.value_offset);
        EXPECT_EQ(one.is_written, two.is_written);
        EXPECT_EQ(one.is_const, two.is_const);
        EXPECT_EQ(one.is_addresses, two.is_addresses);
        EXPECT_EQ(one.reports_errors, two.reports_errors);
      }
    }
  }
  EXPECT_EQ(read.find(Target::Cuda)->text, written.parts[1].text);
}

TEST(KernelLibraryTest, EveryDamagedByteIsDetected) {
  const std::string bytes = encode_library(library_of("kernel void f(device int* a) { a[0] = 1; }"));
  EXPECT_TRUE(is_library(bytes));
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string changed = bytes;
    changed[random() % changed.size()] ^= static_cast<char>(1 + random() % 255);
    EXPECT_NE(error_of(changed), "");
    EXPECT_NE(error_of(bytes.substr(0, random() % bytes.size())), "");
  }
}

// Whoever writes such a file on purpose can also make its checksum right.
TEST(KernelLibraryTest, ForgedBytesNeverReadOutside) {
  const std::string bytes = encode_library(library_of(kSource));
  std::mt19937 random(8);
  for (int round = 0; round < 3000; ++round) {
    std::string changed = bytes;
    for (int edits = 0; edits < 3; ++edits)
      changed[16 + random() % (changed.size() - 16)] = static_cast<char>(random());
    if (round % 3 == 0) changed.resize(16 + random() % (changed.size() - 16));
    error_of(with_right_checksum(std::move(changed)));
  }
}

TEST(KernelLibraryTest, AForgedSizeIsRefused) {
  KernelLibrary library = library_of("kernel void f(constant float4& v, device float* o) { o[0] = v.x; }");
  library.parts.resize(1);
  KernelParameter& value = library.parts[0].kernels[0].parameters[0];
  const KernelParameter right = value;
  value.value_offset = value.inline_bytes;
  EXPECT_THAT(error_of(encode_library(library)), HasSubstr("the offset of parameter \"v\" is wrong"));
  value = right;
  value.count = 400;
  EXPECT_THAT(error_of(encode_library(library)), HasSubstr("the count of parameter \"v\" is wrong"));
  value = right;
  value.bytes = 0xffffffff;
  EXPECT_THAT(error_of(encode_library(library)), HasSubstr("the size of parameter \"v\" is wrong"));
  value = right;
  value.align = 3;
  EXPECT_THAT(error_of(encode_library(library)), HasSubstr("the alignment"));
  value = right;
  library.parts.push_back(library.parts[0]);
  EXPECT_THAT(error_of(encode_library(library)), HasSubstr("two parts for one target"));
}

TEST(KernelLibraryTest, OtherFilesAreRefusedWithWhatToDo) {
  EXPECT_THAT(error_of(""), HasSubstr("kymo shader SOURCE -o NAME.kymolib"));
  EXPECT_THAT(error_of("kernel void f() {}"), HasSubstr("this is not a library of kernels"));
  EXPECT_THAT(error_of("MTLB\x01\x80"), HasSubstr("Apple's compiler"));
  EXPECT_THAT(error_of("KYMOLIB\x07 and more bytes"), HasSubstr("another version"));
}

}  // namespace
}  // namespace kymo::shader
