#include "sample/address_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "trace/test_recorder.h"

namespace kymo::sample {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

constexpr uint64_t kBegin = 0x7f0000001000, kEnd = 0x7f0000003000, kInside = kBegin + 0x100;

MappedFile mapped(const std::string& path, uint64_t inode = 1) { return {kBegin, kEnd, 0x1000, inode, path, ""}; }

class AddressSpaceTest : public ::testing::Test {
 protected:
  CodeFiles files_;
  AddressSpace code_{files_};
};

TEST_F(AddressSpaceTest, AddressHasAnotherMeaningWhenOtherCodeIsMapped) {
  code_.map(mapped("/a.so"));
  EXPECT_EQ(code_.meaning_of(kInside), kInside);
  EXPECT_FALSE(code_.is_other_code(mapped("/a.so"))) << "a part of it has other rights now";
  EXPECT_TRUE(code_.is_other_code(mapped("/a.so", 2))) << "the file was replaced";
  EXPECT_TRUE(code_.is_other_code(mapped("/b.so")));
  code_.map(mapped("/b.so"));
  const uint64_t second = code_.meaning_of(kInside);
  EXPECT_NE(second, kInside);
  EXPECT_EQ(code_.meaning_of(kEnd + 1), kEnd + 1) << "no code";
  code_.map(mapped("/b.so"));
  EXPECT_EQ(code_.meaning_of(kInside), second);
  code_.map(mapped("/a.so"));
  EXPECT_NE(code_.meaning_of(kInside), second);
  EXPECT_NE(code_.meaning_of(kInside), kInside);
}

TEST_F(AddressSpaceTest, NewMappingReplacesWhatItCovers) {
  code_.map({0x1000, 0x5000, 0, 0, "/no/such/file", ""});
  code_.map({0x3000, 0x4000, 0, 0, "/another", ""});
  EXPECT_EQ(code_.program(), "/no/such/file");
  EXPECT_FALSE(code_.has_code_at(0x1000)) << "what is left of a mapping is not known";
  ASSERT_NE(code_.file_at(1, 0x3001), nullptr);
  EXPECT_EQ(code_.file_at(1, 0x3001)->path, "/another");
  EXPECT_EQ(code_.rule(1, 0x3001).kind, unwind::Rule::Kind::FramePointer);
  EXPECT_EQ(code_.rule(1, 0x9001).kind, unwind::Rule::Kind::None);
}

TEST_F(AddressSpaceTest, MemoryInThePlaceOfMemoryIsNotOtherCode) {
  code_.map(mapped("//anon", 0));
  EXPECT_FALSE(code_.is_other_code(mapped("", 0))) << "as /proc writes it";
  EXPECT_TRUE(code_.is_other_code(mapped("/a.so")));
}

TEST_F(AddressSpaceTest, MemoryWithAPathIsAFileOnlyIfItContainsALibrary) {
  code_.map(mapped("/memfd:doublemapper"));
  EXPECT_EQ(code_.file_at(getpid(), kInside), nullptr);
}

TEST_F(AddressSpaceTest, UnmappedCodeIsOnlyWhatWasThereBefore) {
  code_.map(mapped("/a.so"));
  EXPECT_THAT(code_.missing_in({mapped("/a.so")}), IsEmpty());
  EXPECT_THAT(code_.missing_in({}), ElementsAre(Field(&MappedFile::path, "/a.so")));
  code_.unmap(mapped("/a.so"));
  EXPECT_FALSE(code_.has_code_at(kInside));
  EXPECT_FALSE(code_.is_known(mapped("/a.so")));
  EXPECT_THAT(code_.missing_in({}), IsEmpty());
  EXPECT_TRUE(code_.is_other_code(mapped("/b.so")));
  code_.map(mapped("/a.so"));
  EXPECT_EQ(code_.meaning_of(kInside), kInside) << "the same file again";
}

TEST_F(AddressSpaceTest, FileThatCouldNotBeOpenedIsTriedAgain) {
  const trace::testing::TemporaryFolder folder;
  const MappedFile late = mapped(folder / "late.so", 0);
  EXPECT_EQ(files_.find(getpid(), late), nullptr);
  std::filesystem::copy_file("/proc/self/exe", late.path);
  EXPECT_NE(files_.find(getpid(), late), nullptr);
}

TEST_F(AddressSpaceTest, FileMayHaveAnyName) {
  const trace::testing::TemporaryFolder folder;
  std::filesystem::copy_file("/proc/self/exe", folder / "exe");
  EXPECT_NE(files_.find(getpid(), mapped(folder / "exe", 0)), nullptr);
}

TEST_F(AddressSpaceTest, OwnCodeIsRead) {
  code_.read_maps(getpid());
  EXPECT_TRUE(code_.has_code_at(reinterpret_cast<uint64_t>(&mapped_code)));
  EXPECT_THAT(mapped_code(2'000'000'000), IsEmpty());
}

}  // namespace
}  // namespace kymo::sample
