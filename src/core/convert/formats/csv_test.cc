#include "convert/formats/csv.h"

#include <gtest/gtest.h>

#include "trace/test_recorder.h"

namespace kymo::convert {
namespace {

using trace::FieldType;
using trace::PointKind;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

TEST(CsvTest, EachEventIsOneLine) {
  TemporaryFolder folder;
  const std::string path = folder / "t.kymo";
  TestRecorder recorder(path);
  recorder.add_thread(1, 101, "main, first");
  recorder.add_class(1, "outer");
  recorder.add_class(2, "say \"{}\"", "a,b", {{"", FieldType::String}, {"rows", FieldType::Int}});
  recorder.add_class(3, "bytes", "", {{"", FieldType::ByteCount}});
  recorder.begin(1, 1000, 1);
  recorder.begin(1, 1000, 2, {"hi", int64_t{3}});
  recorder.end(1, 1500);
  recorder.end(1, 2000);
  recorder.point(1, 2500, PointKind::Counter, 3, 0, {int64_t{4096}});
  recorder.point(1, 3000, PointKind::AsyncBegin, 1, 9);
  recorder.point(1, 3500, PointKind::AsyncEnd, 1, 9);
  recorder.point(1, 3600, PointKind::FlowBegin, 1, 5);
  recorder.begin(1, 4000, 1);
  recorder.close();

  StringStream sink;
  write_csv(trace::Reader(path), sink);
  EXPECT_EQ(
      sink.text(),
      "kind,name,category,pid,tid,thread,device,start_ns,duration_ns,depth,lane,id,args\n"
      "range,outer,,100,101,\"main, first\",,1700000000000001000,1000,0,0,,{}\n"
      "range,\"say \"\"hi\"\"\",\"a,b\",100,101,\"main, first\",,1700000000000001000,500,1,0,,\"{\"\"rows\"\":3}\"\n"
      "counter,bytes,,100,101,\"main, first\",,1700000000000002500,,,,,\"{\"\"value 1\"\":4096}\"\n"
      "flow_begin,outer,,100,101,\"main, first\",,1700000000000003600,,,,5,{}\n"
      "range,outer,,100,101,\"main, first\",,1700000000000004000,0,0,0,,\"{\"\"finished\"\":false}\"\n"
      "async,outer,,100,101,\"main, first\",,1700000000000003000,500,,,9,{}\n");
}

TEST(CsvTest, AnyNamesAreValidUtf8) {
  TemporaryFolder folder;
  TestRecorder recorder(folder / "t.kymo");
  recorder.add_thread(1, 101, "ma\xffin");
  recorder.add_class(1,
                     "out\xc3"
                     "er",
                     "c\x80", {{"note", FieldType::String}});
  recorder.begin(1, 1000, 1, {"\xf0"});
  recorder.end(1, 2000);
  recorder.close();
  StringStream sink;
  write_csv(trace::Reader(folder / "t.kymo"), sink);
  EXPECT_NE(sink.text().find("range,out\uFFFDer,c\uFFFD,100,101,ma\uFFFDin,,1700000000000001000,1000,0,0,,"
                             "\"{\"\"note\"\":\"\"\uFFFD\"\"}\"\n"),
            std::string::npos)
      << sink.text();
}

}  // namespace
}  // namespace kymo::convert
