#include "record/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "record/registry.h"

namespace kymo::record {
namespace {

class SegmentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/kymo-segment-test-XXXXXX";
    base = mkdtemp(pattern);
    setenv("KYMO_SHM_DIR", base.c_str(), 1);
  }
  void TearDown() override {
    unmap_segment(mapping);
    unsetenv("KYMO_SHM_DIR");
    std::filesystem::remove_all(base);
  }
  bool create() {
    outcome = create_segment({}, mapping, path);
    return static_cast<bool>(outcome);
  }

  std::string base;
  Mapping mapping;
  char path[kSegmentPathBytes] = {};
  Outcome outcome;
};

TEST_F(SegmentTest, IsPrivateToTheUser) {
  ASSERT_TRUE(create()) << outcome.why();
  struct stat status;
  ASSERT_EQ(stat(path, &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(std::filesystem::path(path).parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_F(SegmentTest, AFolderThatOthersMayEnterIsRefused) {
  const std::string folder = base + "/kymo-" + std::to_string(geteuid());
  ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  EXPECT_FALSE(create());
  EXPECT_NE(std::string(outcome.why()).find(folder), std::string::npos) << outcome.why();
}

TEST_F(SegmentTest, AMissingFolderIsReported) {
  setenv("KYMO_SHM_DIR", (base + "/nowhere").c_str(), 1);
  EXPECT_FALSE(create());
  EXPECT_NE(std::string(outcome.why()).find("No such file"), std::string::npos) << outcome.why();
}

TEST_F(SegmentTest, IsFoundByItsBytes) {
  ASSERT_TRUE(create()) << outcome.why();
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  Mapping again;
  ASSERT_TRUE(map_segment(fd, again));
  EXPECT_EQ(std::memcmp(again.header->writer, mapping.header->writer, 16), 0);
  EXPECT_EQ(again.header->pid, static_cast<uint32_t>(getpid()));
  EXPECT_TRUE(owner_is_alive(fd, *again.header));
  unmap_segment(again);
}

TEST_F(SegmentTest, AllocatesMemoryForNamesWhenTheyAreRegistered) {
  ASSERT_TRUE(create()) << outcome.why();
  if (!arena_comes_when_needed(mapping.header->registry)) GTEST_SKIP() << "this kernel cannot be asked for pages";
  const auto bytes = [&] {
    struct stat status {};
    EXPECT_EQ(fstat(mapping.fd, &status), 0);
    return static_cast<uint64_t>(status.st_blocks) * 512;
  };
  EXPECT_LT(bytes(), uint64_t{512} << 10);
  const std::string long_name(1000, 'x');
  for (int i = 0; i < 500; ++i) {
    const std::string name = long_name + std::to_string(i);
    const kymo_label label{name.c_str(), nullptr, static_cast<uint32_t>(name.size()), 0, 0};
    ASSERT_NE(find_class(mapping.header->registry, label, nullptr, 0, 0), 0u) << i;
  }
  EXPECT_GT(bytes(), uint64_t{512} << 10);
}

TEST_F(SegmentTest, NamesWithoutMemoryAreRefusedAndNotFatal) {
  // The file's size is the limit here: a page after its end cannot be allocated.
  ASSERT_TRUE(create()) << outcome.why();
  Registry& registry = mapping.header->registry;
  if (!arena_comes_when_needed(registry)) GTEST_SKIP() << "this kernel cannot be asked for pages";
  const auto arena = reinterpret_cast<const char*>(registry.arena) - reinterpret_cast<const char*>(mapping.header);
  ASSERT_EQ(ftruncate(mapping.fd, arena + kArenaAtOnce), 0);
  EXPECT_TRUE(make_arena(registry, 0, kArenaAtOnce));
  EXPECT_FALSE(make_arena(registry, kArenaAtOnce + 2 * kPage, 100));
}

TEST_F(SegmentTest, DamagedSizesAreRefused) {
  ASSERT_TRUE(create()) << outcome.why();
  const auto maps = [this] {
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    Mapping again;
    const bool mapped = map_segment(fd, again);
    if (mapped)
      unmap_segment(again);
    else
      close(fd);
    return mapped;
  };
  ASSERT_TRUE(maps());
  SegmentHeader& header = *mapping.header;
  for (uint64_t* field : {&header.segment_bytes, &header.slot_bytes, &header.slots_offset, &header.magic}) {
    const uint64_t good = *field;
    *field ^= 0x10;
    EXPECT_FALSE(maps());
    *field = good;
  }
  const uint32_t cells = header.ring_cells;
  header.ring_cells = 3;
  EXPECT_FALSE(maps());
  header.ring_cells = cells;
  header.version = 99;
  EXPECT_FALSE(maps());
}

TEST_F(SegmentTest, ADeadProcessIsDistinguishedFromALiveOne) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool made = create();
    const ssize_t put = write(pipe_ends[1], path, sizeof path);
    pause();
    _exit(made && put > 0 ? 0 : 1);
  }
  ASSERT_EQ(read(pipe_ends[0], path, sizeof path), static_cast<ssize_t>(sizeof path));
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_TRUE(map_segment(fd, mapping));
  EXPECT_TRUE(owner_is_alive(fd, *mapping.header));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(owner_is_alive(fd, *mapping.header));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(ProcessIdentityTest, IsStableAndZeroForAMissingProcess) {
  EXPECT_NE(process_identity(static_cast<uint32_t>(getpid())), 0u);
  EXPECT_EQ(process_identity(static_cast<uint32_t>(getpid())), process_identity(static_cast<uint32_t>(getpid())));
  EXPECT_EQ(process_identity(0x7ffffff0), 0u);
}

}  // namespace
}  // namespace kymo::record
