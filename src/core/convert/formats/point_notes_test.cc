// CPU samples in exports: with their functions.

#include "convert/formats/point_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "convert/formats/chrome.h"
#include "convert/formats/csv.h"
#include "convert/formats/perfetto.h"
#include "convert/formats/test_perfetto_decoder.h"
#include "convert/perfetto_fields.h"
#include "trace/test_recorder.h"

namespace kymo::convert {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::PerfettoDecoder;
using trace::FieldType;
using trace::PointKind;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

class SampleExportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TestRecorder recorder(path);
    recorder.add_thread(1, 101, "main");
    recorder.add_class(1, "sample", "cpu", {{"node", FieldType::UInt}});
    recorder.add_class(2, "beat", "");
    recorder.add_class(3, "stack node", "kymo.stack",
                       {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}});
    recorder.add_class(4, "module", "kymo.stack",
                       {{"path", FieldType::String},
                        {"base", FieldType::Pointer},
                        {"size", FieldType::ByteCount},
                        {"build_id", FieldType::String}});
    recorder.point(1, 10, PointKind::Instant, 2);
    recorder.cut(1);
    recorder.point(1, 50, PointKind::Instant, 4, 0,
                   {std::string("/gone/lib.so"), int64_t{0x1000}, int64_t{0x1000}, std::string()});
    recorder.point(1, 50, PointKind::Instant, 3, 0, {int64_t{16}, int64_t{1}, int64_t{0x1101}});
    recorder.point(1, 50, PointKind::Instant, 3, 0, {int64_t{17}, int64_t{16}, int64_t{0x1202}});
    recorder.point(1, 100, PointKind::Sample, 1, 0, {int64_t{17}});
    recorder.point(1, 200, PointKind::Sample, 1, 0, {int64_t{17}});
    recorder.point(1, 300, PointKind::Sample, 1, 0, {int64_t{16}});
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

TEST_F(SampleExportTest, ChromeAndCsvHaveTheStack) {
  for (const std::string& out : {text(write_chrome), text(write_csv)}) {
    EXPECT_THAT(out, HasSubstr("lib.so+0x202 < lib.so+0x101"));
    EXPECT_THAT(out, Not(HasSubstr("stack node")));
  }
}

// The samples as "tid@time: outermost;…;innermost".
std::vector<std::string> samples_in(const std::string& bytes) {
  using namespace perfetto;
  std::map<uint64_t, std::string> names, paths, frames, stacks;
  const auto numbers = [](protozero::pbf_reader message) {
    std::map<uint32_t, std::vector<uint64_t>> fields;
    std::string text;
    while (message.next()) {
      if (message.wire_type() == protozero::pbf_wire_type::length_delimited)
        text = message.get_string();
      else
        fields[message.tag()].push_back(message.get_uint64());
    }
    return std::pair(fields, text);
  };
  std::vector<std::string> found;
  protozero::pbf_reader trace(bytes);
  while (trace.next(kPacket)) {
    protozero::pbf_reader one = trace.get_message();
    uint64_t time = 0;
    std::string sample;
    while (one.next()) {
      if (one.tag() == packet::kTimestamp) {
        time = one.get_uint64();
      } else if (one.tag() == packet::kPerfSample) {
        sample = one.get_string();
      } else if (one.tag() == packet::kInternedData) {
        protozero::pbf_reader data = one.get_message();
        while (data.next()) {
          const uint32_t field = data.tag();
          auto [fields, text] = numbers(data.get_message());
          const uint64_t iid = fields[interned::kIid].at(0);
          if (field == interned::kFunctionNames) names[iid] = text;
          if (field == interned::kMappingPaths) paths[iid] = text;
          if (field == interned::kMappings) {
            EXPECT_TRUE(paths.contains(fields[code_mapping::kPathIds].at(0)));
          }
          if (field == interned::kFrames) {
            EXPECT_EQ(paths.at(fields[stack_frame::kMapping].at(0)), "/gone/lib.so");
            frames[iid] = names.at(fields[stack_frame::kFunctionName].at(0));
          }
          if (field == interned::kCallstacks)
            for (const uint64_t frame : fields[callstack::kFrameIds]) stacks[iid] += frames.at(frame) + ";";
        }
      } else {
        one.skip();
      }
    }
    if (sample.empty()) continue;
    auto [fields, text] = numbers(protozero::pbf_reader(sample));
    EXPECT_EQ(fields[perf_sample::kPid].at(0), 100u);
    found.push_back(std::to_string(fields[perf_sample::kTid].at(0)) + "@" +
                    std::to_string(time - trace::testing::kMonotonicZero) + ": " +
                    stacks.at(fields[perf_sample::kCallstack].at(0)));
  }
  return found;
}

TEST_F(SampleExportTest, PerfettoHasPerfSamples) {
  const std::string bytes = text(write_perfetto);
  EXPECT_THAT(samples_in(bytes), ElementsAre("101@100: lib.so+0x101;lib.so+0x202;",
                                             "101@200: lib.so+0x101;lib.so+0x202;", "101@300: lib.so+0x101;"));
  EXPECT_THAT(PerfettoDecoder(bytes).log_of("main"), Not(HasSubstr("sample")));
}

TEST_F(SampleExportTest, OnlyCpuSamplesHaveANote) {
  SampleNotes notes{trace::Reader(path)};
  EXPECT_FALSE(notes.find(1)) << "an instant";
  EXPECT_FALSE(notes.find(4)) << "a definition";
  ASSERT_TRUE(notes.find(5));
  EXPECT_EQ(notes.text(notes.find(5)->stack), "lib.so+0x202 < lib.so+0x101");
  EXPECT_FALSE(notes.find(8));
}

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
                              R"("Device Id":-1,"Total Allocated":4096,"name":"malloc",)"
                              R"("device":"heap","stack":"0x2002 < 0x1001"})"));
  EXPECT_THAT(json, HasSubstr(R"("args":{"kymo":"free 0x7000","Addr":28672,"Device Type":0,"Device Id":-1,)"
                              R"("Bytes":-4096,"Total Allocated":0,"name":"free",)"
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
