#include "analyze/memory/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "analyze/memory/snapshot.h"
#include "analyze/memory/test_trace.h"
#include "base/test_size.h"
#include "kymo/error.h"

namespace kymo::memory {
namespace {

using namespace kymo::memory::tests;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ExportTest : public ::testing::Test {
 protected:
  std::string export_as(const std::string& name, const ExportOptions& options = {}) {
    trace_.close();
    const std::string path = folder_ / name;
    export_profile(trace::Reader(path_), path, options);
    return contents_of(path);
  }
  // The output of a Python program that reads the file as sys.argv[1].
  std::string python(const std::string& name, const std::string& program) {
    const std::string script = folder_ / "script.py";
    std::ofstream(script) << program;
    const std::string command = "python3 '" + script + "' '" + folder_ / name + "' 2>&1";
    FILE* const pipe = ::popen(command.c_str(), "r");
    std::string text;
    for (int letter; (letter = std::fgetc(pipe)) != EOF;) text += static_cast<char>(letter);
    ::pclose(pipe);
    return text;
  }
  void two_steps() {
    trace_.told(1, 1'500, 0x10, 100, "PARAMETER");
    trace_.begin(1, 2'000, kStep, {int64_t{1}});
    trace_.told(1, 2'100, 0x20, 40, "");
    trace_.told(1, 2'200, 0x30, 8, "");
    trace_.reported_free(1, 3'000, 0x20);
    trace_.end(1, 4'000);
    trace_.point(1, 4'500, PointKind::Free, kAnnotatedMemory, 0x99, {int64_t{7}, std::string()});
    trace_.reported_free(1, 5'000, 0x10);
  }

  TemporaryFolder folder_;
  std::string path_ = folder_ / "t.kymo";
  MemoryTrace trace_{path_};
};

TEST_F(ExportTest, TimelineHasOneRowPerMicrosecondWithAChange) {
  two_steps();
  const std::string expected =
      "[[1700000000000001, 1700000000000002, 1700000000000003, 1700000000000005], "
      "[[0, 100, 0, 0, 0, 0, 0, 0, 0], [0, 100, 0, 0, 40, 0, 0, 0, 8], [0, 100, 0, 0, 0, 0, 0, 0, 8], "
      "[0, 0, 0, 0, 0, 0, 0, 0, 8]]]\n";
  EXPECT_EQ(export_as("a.json"), expected);
  const std::string gzip = folder_ / "a.json.gz";
  export_profile(trace::Reader(path_), gzip);
  gzFile file = gzopen(gzip.c_str(), "rb");
  std::string text(expected.size() + 100, '\0');
  text.resize(static_cast<size_t>(gzread(file, text.data(), static_cast<unsigned>(text.size()))));
  gzclose(file);
  EXPECT_EQ(text, expected);
}

TEST_F(ExportTest, RawFormHasEveryChangeAndTheEarlierAllocations) {
  two_steps();
  EXPECT_EQ(export_as("a.raw.json"),
            "[[-1, 1, 7, 7], [1700000000000001500, 2, 100, 0], [1700000000000002100, 2, 40, 3], "
            "[1700000000000002200, 2, 8, 7], [1700000000000003000, 4, -40, 3], [1700000000000004500, 4, -7, 7], "
            "[1700000000000005000, 4, -100, 0]]\n");
}

TEST_F(ExportTest, PythonReadsTheSnapshot) {
  trace_.module(1, "/nowhere/libgone.so", 0x1000, 0x1000, "");
  trace_.node(1, 16, 1, 0x1100);
  trace_.begin(1, 5, kInner);
  trace_.malloc(1, 10'000, 0x7f0000000010, 100, 16);
  trace_.malloc(1, 20'000, 0x7f0000000100, 50, 16);
  trace_.end(1, 30'000);
  trace_.free(1, 40'000, 0x7f0000000010);
  trace_.take(1, 50'000, 0xffffffffffffff00, 16, "cuda:0");
  export_as("a.pickle");
  EXPECT_EQ(python("a.pickle", R"(
import pickle, sys
snapshot = pickle.load(open(sys.argv[1], 'rb'))
print(sorted(snapshot))
for segment in snapshot['segments']:
    print(hex(segment['address']), segment['total_size'], segment['active_size'], segment['device'], segment['segment_pool_id'])
    at = segment['address']
    for block in segment['blocks']:
        assert block['address'] == at
        at += block['size']
        print(' ', hex(block['address']), block['size'], block['state'], len(block['frames']))
    assert at == segment['address'] + segment['total_size']
for trace in snapshot['device_traces']:
    for event in trace:
        print(event['action'], hex(event['addr']), event['size'], event['time_us'], event['user_metadata'], event['frames'])
)"),
            "['allocator_settings', 'device_traces', 'external_annotations', 'segments']\n"
            "0x7f0000000000 2097152 50 0 (0, 0)\n"
            "  0x7f0000000000 256 inactive 0\n"
            "  0x7f0000000100 50 active_allocated 1\n"
            "  0x7f0000000132 2096846 inactive 0\n"
            "segment_alloc 0x7f0000000000 2097152 1700000000000010 inner "
            "[{'name': 'libgone.so+0x100', 'filename': '/nowhere/libgone.so', 'line': 0}]\n"
            "alloc 0x7f0000000010 100 1700000000000010 inner "
            "[{'name': 'libgone.so+0x100', 'filename': '/nowhere/libgone.so', 'line': 0}]\n"
            "alloc 0x7f0000000100 50 1700000000000020 inner "
            "[{'name': 'libgone.so+0x100', 'filename': '/nowhere/libgone.so', 'line': 0}]\n"
            "free_requested 0x7f0000000010 100 1700000000000040 inner "
            "[{'name': 'libgone.so+0x100', 'filename': '/nowhere/libgone.so', 'line': 0}]\n"
            "free_completed 0x7f0000000010 100 1700000000000040 inner "
            "[{'name': 'libgone.so+0x100', 'filename': '/nowhere/libgone.so', 'line': 0}]\n");
}

TEST_F(ExportTest, PythonReadsEveryKindOfValue) {
  convert::StringStream sink;
  PickleWriter pickle(sink);
  pickle.begin_list();
  for (const int64_t number :
       {int64_t{0}, int64_t{255}, int64_t{256}, int64_t{65'535}, int64_t{65'536}, int64_t{INT32_MAX},
        int64_t{INT32_MAX} + 1, INT64_MAX, int64_t{-1}, int64_t{INT32_MIN}, int64_t{INT32_MIN} - 1, INT64_MIN})
    pickle.number(number);
  pickle.number(UINT64_MAX);
  pickle.boolean(true);
  pickle.none();
  pickle.text("größe \xff end");
  pickle.text("größe \xff end");
  pickle.pair(1, 70'000);
  pickle.begin_list();
  for (uint64_t i = 0; i < 2'500; ++i) pickle.number(i);
  pickle.end_list();
  const uint32_t list = pickle.share();
  pickle.shared(list);
  pickle.begin_dict();
  pickle.end_dict();
  pickle.end_list();
  pickle.finish();
  std::ofstream(folder_ / "b.pickle", std::ios::binary) << sink.text();
  EXPECT_EQ(python("b.pickle", R"(
import pickle, sys
values = pickle.load(open(sys.argv[1], 'rb'))
print(values[:16])
print(ascii(values[15]), values[15] == values[16], values[17], len(values[18]), values[18] is values[19],
      values[18] == list(range(2500)), values[20])
)"),
            "[0, 255, 256, 65535, 65536, 2147483647, 2147483648, 9223372036854775807, -1, -2147483648, -2147483649, "
            "-9223372036854775808, 18446744073709551615, True, None, 'größe \xEF\xBF\xBD end']\n"
            "'gr\\xf6\\xdfe \\ufffd end' True (1, 70000) 2500 True True {}\n");
}

TEST_F(ExportTest, PageIsCompleteAndNamesCannotEndItsScript) {
  trace_.add_class(40, "</script><script>alert(1)//", "");
  trace_.begin(1, 5, 40);
  trace_.take(1, 10, 0x10, 100);
  trace_.end(1, 20);
  const std::string page = export_as("a.html");
  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  EXPECT_THAT(page, HasSubstr("</html>"));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr("@DATA@")));
  // The data of the page must be JSON.
  EXPECT_EQ(python("a.html", R"(
import json, re, sys
page = open(sys.argv[1], encoding='utf-8').read()
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))
print(data['peak_bytes'], data['times'], data['by_category'], data['ranges'][0], data['holders']['range'][0]['name'])
)"),
            "100 [5] [[0, 0, 0, 0, 0, 0, 0, 100]] </script><script>alert(1)// </script><script>alert(1)//\n");
}

TEST_F(ExportTest, PageOfManyAllocationsFromDeepStacksIsSmall) {
  trace_.module(1, "/nowhere/" + std::string(200, 'x') + ".so", 0x1000, 0x100000, "");
  for (int64_t i = 0; i < 1'000; ++i) trace_.node(1, 16 + i, i == 0 ? 1 : 15 + i, 0x1000 + 16 * i);
  for (int64_t i = 0; i < base::test_size(100'000); ++i)
    trace_.malloc(1, 10 * static_cast<uint64_t>(i), 16 * static_cast<uint64_t>(i + 1), i, 16 + i % 1'000);
  const std::string page = export_as("a.html");
  EXPECT_LT(page.size(), 2'000'000u);
  EXPECT_THAT(page, HasSubstr("… and 899 more"));
}

TEST_F(ExportTest, TraceItselfIsCopied) {
  two_steps();
  const std::string copy = export_as("copy.kymo");
  EXPECT_EQ(copy, contents_of(path_));
  struct stat status {};
  ASSERT_EQ(::stat((folder_ / "copy.kymo").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(ExportTest, ImpossibleExportIsRefusedWithTheRemedy) {
  trace_.close();
  const trace::Reader reader(path_);
  EXPECT_THROW(export_profile(reader, folder_ / "a.txt"), InvalidArgument);
  EXPECT_THROW(export_profile(reader, ".json"), InvalidArgument);
  EXPECT_THROW(export_profile(reader, path_), InvalidArgument);
  try {
    export_profile(reader, folder_ / "a.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("holds no allocations"));
  }
  EXPECT_EQ(contents_of(folder_ / "a.json"), "");
}

TEST_F(ExportTest, ErrorForAMissingFolderNamesThePath) {
  two_steps();
  trace_.close();
  try {
    export_profile(trace::Reader(path_), folder_ / "none/a.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("none/a.json"));
  }
}

}  // namespace
}  // namespace kymo::memory
