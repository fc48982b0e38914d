#include "convert/formats/memory_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "convert/formats/chrome.h"
#include "convert/formats/csv.h"
#include "convert/formats/perfetto.h"
#include "convert/formats/perfetto_decoder.h"
#include "trace/test_recorder.h"

namespace kymo::convert {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::PerfettoDecoder;
using trace::FieldType;
using trace::PointKind;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

// What the heap hook records: memory of one thread that another one frees. The chunk of the free comes first.
class MemoryExportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TestRecorder recorder(path);
    recorder.add_thread(1, 101, "main");
    recorder.add_thread(2, 102, "worker");
    recorder.add_class(1, "malloc", "memory", {{"bytes", FieldType::ByteCount}, {"node", FieldType::UInt}});
    recorder.add_class(2, "free", "memory");
    recorder.add_class(3, "stack node", "kymo.stack",
                       {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}});
    recorder.point(2, 200, PointKind::Free, 2, 0x7000);
    recorder.point(2, 400, PointKind::Free, 2, 0x9000);  // allocated before the recording
    recorder.cut(2);
    recorder.point(1, 50, PointKind::Instant, 3, 0, {int64_t{16}, int64_t{1}, int64_t{0x1001}});
    recorder.point(1, 50, PointKind::Instant, 3, 0, {int64_t{17}, int64_t{16}, int64_t{0x2002}});
    recorder.point(1, 100, PointKind::Allocation, 1, 0x7000, {int64_t{4096}, int64_t{17}});
    recorder.point(1, 300, PointKind::Allocation, 1, 0x7000, {int64_t{64}, int64_t{16}});
    recorder.close();
  }

  template <class Write>
  std::string text(Write write) {
    StringStream sink;
    write(trace::Reader(path), sink);
    return sink.text();
  }

  TemporaryFolder folder;
  const std::string path = folder / "t.kymo";
};

TEST_F(MemoryExportTest, ChromeHasKinetosMemoryEventsAndACounter) {
  const std::string json = text(write_chrome);
  EXPECT_THAT(json, Not(HasSubstr("stack node")));
  EXPECT_THAT(json, HasSubstr(R"("cat":"cpu_instant_event","s":"t","name":"[memory]","pid":100,"tid":101,)"));
  EXPECT_THAT(json, HasSubstr(R"("args":{"Bytes":4096,"kymo":"allocation 0x7000","Addr":28672,"Device Type":0,)"
                              R"("Device Id":-1,"Total Allocated":4096,"name":"malloc","kymo_category":"memory",)"
                              R"("device":"heap","stack":"0x2002 < 0x1001"})"));
  EXPECT_THAT(json, HasSubstr(R"("args":{"kymo":"free 0x7000","Addr":28672,"Device Type":0,"Device Id":-1,)"
                              R"("Bytes":-4096,"Total Allocated":0,"name":"free","kymo_category":"memory",)"
                              R"("device":"heap"})"));
  EXPECT_THAT(json, HasSubstr(R"("Addr":36864,"Device Type":0,"Device Id":-1,"Bytes":0,"Total Allocated":64,)"))
      << "its size is not known";
  for (const char* const value : {R"("args":{"value":4096}})", R"("args":{"value":0}})", R"("args":{"value":64}})"})
    EXPECT_THAT(json, HasSubstr(value));
  EXPECT_THAT(json, HasSubstr(R"({"ph":"C","cat":"kymo.derived","name":"memory in use, heap","pid":100,)"));
}

TEST_F(MemoryExportTest, PerfettoHasACounterOfBytesAndStacks) {
  const PerfettoDecoder decoder(text(write_perfetto), PerfettoDecoder::Times::Any);
  EXPECT_EQ(decoder.log_of("memory in use, heap"), "=0@200 =64@400 =4096@100 =64@300 ");
  EXPECT_EQ(decoder.find("memory in use, heap")->unit, perfetto::counter::kBytes);
  EXPECT_EQ(decoder.log_of("main"), ".malloc@100 .malloc@300 ");
  EXPECT_THAT(decoder.annotations, Contains("stack string 0x2002 < 0x1001"));
  EXPECT_THAT(decoder.annotations, Contains("bytes int -4096"));
}

TEST_F(MemoryExportTest, CsvHasSizesAndStacks) {
  const std::string csv = text(write_csv);
  EXPECT_THAT(csv, Not(HasSubstr("stack node")));
  EXPECT_THAT(csv, HasSubstr(R"("{""bytes"":4096,""address"":""0x7000"",""bytes_in_use"":4096,)"
                             R"(""stack"":""0x2002 < 0x1001""}")"));
  EXPECT_THAT(csv, HasSubstr(R"("{""address"":""0x7000"",""bytes"":-4096,""bytes_in_use"":0}")"));
}

}  // namespace
}  // namespace kymo::convert
