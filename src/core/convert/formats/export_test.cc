#include "convert/formats/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "kymo/error.h"
#include "trace/test_recorder.h"

namespace kymo::convert {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

class ExportTest : public ::testing::Test {
 protected:
  ExportTest() {
    TestRecorder recorder(folder / "t.kymo");
    recorder.add_thread(1, 101, "main");
    recorder.add_class(1, "outer");
    for (uint64_t i = 0; i < 5000; ++i) {
      recorder.begin(1, 100 * i, 1);
      recorder.end(1, 100 * i + 50);
    }
    recorder.close();
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder / ""), {}));
  }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string message_of(const std::string& path, const trace::Reader& reader) {
    try {
      export_trace(reader, path);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder;
};

TEST_F(ExportTest, FileNameExtensionSelectsTheFormat) {
  const trace::Reader reader(folder / "t.kymo");
  export_trace(reader, folder / "t.json");
  EXPECT_THAT(contents(folder / "t.json"), StartsWith("{\n\"schemaVersion\": 1"));
  export_trace(reader, folder / "t.csv");
  EXPECT_THAT(contents(folder / "t.csv"), StartsWith("kind,name"));
  export_trace(reader, folder / "t.pftrace");
  export_trace(reader, folder / "t.perfetto-trace");
  EXPECT_THAT(contents(folder / "t.pftrace"), StartsWith("\x0a"));
  EXPECT_EQ(contents(folder / "t.pftrace"), contents(folder / "t.perfetto-trace"));
}

TEST_F(ExportTest, GzipContainsTheSameAsPlain) {
  const trace::Reader reader(folder / "t.kymo");
  export_trace(reader, folder / "t.json");
  export_trace(reader, folder / "t.json.gz");
  const std::string plain = contents(folder / "t.json");
  std::string unpacked(plain.size() + 1, '\0');
  gzFile file = gzopen((folder / "t.json.gz").c_str(), "rb");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(gzdirect(file), 0) << "really gzip";
  const int length = gzread(file, unpacked.data(), static_cast<unsigned>(unpacked.size()));
  gzclose(file);
  unpacked.resize(static_cast<size_t>(std::max(length, 0)));
  EXPECT_EQ(unpacked, plain);
}

TEST_F(ExportTest, EveryFormatCanBeCompressed) {
  const trace::Reader reader(folder / "t.kymo");
  for (const char* const ending : {".json", ".pftrace", ".perfetto-trace", ".csv"}) {
    const std::string plain = folder / ("u" + std::string(ending)), compressed = plain + ".gz";
    export_trace(reader, plain);
    export_trace(reader, compressed);
    gzFile file = gzopen(compressed.c_str(), "rb");
    std::string unpacked(contents(plain).size() + 1, 0);
    const int length = gzread(file, unpacked.data(), static_cast<unsigned>(unpacked.size()));
    gzclose(file);
    unpacked.resize(static_cast<size_t>(std::max(length, 0)));
    EXPECT_EQ(unpacked, contents(plain)) << ending;
    EXPECT_LT(contents(compressed).size(), contents(plain).size()) << ending;
  }
  EXPECT_THROW(export_trace(reader, folder / "u.gz"), InvalidArgument);
  EXPECT_THROW(export_trace(reader, folder / "u.json.gz.gz"), InvalidArgument);
}

TEST_F(ExportTest, OnlyTheOwnerCanReadTheFileAndNoOtherFileIsLeft) {
  export_trace(trace::Reader(folder / "t.kymo"), folder / "t.json");
  struct stat status {};
  ASSERT_EQ(stat((folder / "t.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(files(), 2u);
}

TEST_F(ExportTest, ErrorForAnUnknownExtensionListsTheValidOnes) {
  const trace::Reader reader(folder / "t.kymo");
  EXPECT_THROW(export_trace(reader, folder / "t.xml"), InvalidArgument);
  EXPECT_THROW(export_trace(reader, ".json"), InvalidArgument) << "an ending without a name";
  EXPECT_THAT(message_of(folder / "t.xml", reader), AllOf(HasSubstr("t.xml"), HasSubstr(".json"), HasSubstr(".gz"),
                                                          HasSubstr(".pftrace"), HasSubstr(".csv")));
}

TEST_F(ExportTest, ErrorForAnUnwritablePathStatesTheReason) {
  const trace::Reader reader(folder / "t.kymo");
  EXPECT_THAT(message_of(folder / "nowhere/t.json", reader),
              AllOf(HasSubstr("nowhere/t.json"), HasSubstr("No such file or directory")));
  ASSERT_EQ(mkdir((folder / "taken.json").c_str(), 0700), 0);
  EXPECT_THAT(message_of(folder / "taken.json", reader), AllOf(HasSubstr("taken.json"), HasSubstr("it is a folder")));
}

TEST_F(ExportTest, FullDiskLeavesTheOldFile) {
  const std::string path = folder / "t.json";
  std::ofstream(path) << "old";
  const trace::Reader reader(folder / "t.kymo");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = message_of(path, reader);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_THAT(message, AllOf(HasSubstr("t.json"), HasSubstr("File too large")));
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(files(), 2u);
}

}  // namespace
}  // namespace kymo::convert
