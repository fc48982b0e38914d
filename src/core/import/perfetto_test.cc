#include "import/perfetto.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <functional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "convert/export_stream.h"
#include "convert/formats/perfetto.h"
#include "import/import.h"
#include "import/perfetto_packets.h"
#include "import/test_import.h"
#include "kymo/error.h"
#include "trace/reader.h"
#include "trace/test_recorder.h"

namespace kymo::import {
namespace {

using namespace perfetto;
using protozero::pbf_writer;
using testing::Shown;

// Builds a trace packet by packet.
class Trace {
 public:
  using Fill = std::function<void(pbf_writer&)>;

  Trace& packet(const Fill& fill) {
    pbf_writer trace(bytes);
    pbf_writer packet(trace, 1);
    fill(packet);
    return *this;
  }
  Trace& track(uint64_t uuid, uint64_t parent, const std::string& name, const Fill& more = nullptr) {
    return packet([&](pbf_writer& packet) {
      pbf_writer track(packet, packet::kTrackDescriptor);
      track.add_uint64(track::kUuid, uuid);
      if (parent != 0) track.add_uint64(track::kParentUuid, parent);
      if (!name.empty()) track.add_string(track::kName, name);
      if (more) more(track);
    });
  }
  Trace& process(uint64_t uuid, int32_t pid, const std::string& name) {
    return track(uuid, 0, "", [&](pbf_writer& track) {
      pbf_writer process(track, track::kProcess);
      process.add_int32(process::kPid, pid);
      process.add_string(process::kName, name);
    });
  }
  Trace& thread(uint64_t uuid, uint64_t parent, int32_t pid, int32_t tid, const std::string& name) {
    return track(uuid, parent, "", [&](pbf_writer& track) {
      pbf_writer thread(track, track::kThread);
      thread.add_int32(thread::kPid, pid);
      thread.add_int32(thread::kTid, tid);
      thread.add_string(thread::kName, name);
    });
  }
  Trace& event(uint64_t time, uint64_t type, uint64_t uuid, const std::string& name, const Fill& more = nullptr,
               const Fill& of_packet = nullptr) {
    return packet([&](pbf_writer& packet) {
      packet.add_uint64(packet::kTimestamp, time);
      packet.add_uint32(packet::kSequenceId, 1);
      if (of_packet) of_packet(packet);
      pbf_writer event(packet, packet::kTrackEvent);
      event.add_uint64(event::kType, type);
      if (uuid != 0) event.add_uint64(event::kTrackUuid, uuid);
      if (!name.empty()) event.add_string(event::kName, name);
      if (more) more(event);
    });
  }

  Shown shown() const { return Shown(bytes, read_perfetto); }

  std::string bytes;
};

Trace one_thread() { return Trace().process(1, 7, "app").thread(2, 1, 7, 8, "main"); }

void annotate(pbf_writer& event, const Trace::Fill& fill) {
  pbf_writer annotation(event, event::kDebugAnnotations);
  fill(annotation);
}

TEST(PerfettoImportTest, ReadsRangesInstantsAndTheirValues) {
  Trace trace = one_thread();
  trace.event(100, event::kSliceBegin, 2, "outer", [](pbf_writer& event) {
    event.add_string(event::kCategories, "cat");
    annotate(event, [](pbf_writer& one) {
      one.add_string(annotation::kName, "n");
      one.add_int64(annotation::kInt, -5);
    });
    annotate(event, [](pbf_writer& one) {
      one.add_string(annotation::kName, "x");
      one.add_double(annotation::kDouble, 0.5);
    });
    annotate(event, [](pbf_writer& one) {
      one.add_string(annotation::kName, "ok");
      one.add_bool(annotation::kBool, true);
    });
    annotate(event, [](pbf_writer& one) {
      one.add_string(annotation::kName, "shape");
      for (const uint64_t size : {2, 3}) pbf_writer(one, annotation::kArrayValues).add_uint64(annotation::kUInt, size);
    });
    annotate(event, [](pbf_writer& one) {
      one.add_string(annotation::kName, "dict");
      pbf_writer entry(one, annotation::kDictEntries);
      entry.add_string(annotation::kName, "k");
      entry.add_string(annotation::kString, "v\"");
    });
  });
  trace.event(110, event::kSliceBegin, 2, "inner").event(120, event::kSliceEnd, 2, "");
  trace.event(115, event::kInstant, 2, "mark").event(200, event::kSliceEnd, 2, "");
  trace.event(300, event::kSliceBegin, 2, "hangs");
  const Shown shown = trace.shown();
  EXPECT_TRUE(
      shown.has("app/main range outer [cat] 100+100 d0 {n=-5 x=0.5 ok=true shape=[2,3] dict={\"k\":\"v\\\"\"}}"));
  EXPECT_TRUE(shown.has("app/main range inner [] 110+10 d1 {}"));
  EXPECT_TRUE(shown.has("app/main point1 mark [] 115 #0 {}"));
  EXPECT_TRUE(shown.has("app/main open hangs 300"));
  EXPECT_EQ(shown.lost, 0u);
}

TEST(PerfettoImportTest, InternedTextsLastUntilTheStateIsCleared) {
  const auto state = [](uint64_t flags, const std::string& name) {
    return [=](pbf_writer& packet) {
      packet.add_uint64(packet::kSequenceFlags, flags);
      if (name.empty()) return;
      pbf_writer data(packet, packet::kInternedData);
      pbf_writer entry(data, interned::kEventNames);
      entry.add_uint64(interned::kIid, 5);
      entry.add_string(interned::kName, name);
    };
  };
  const auto by_number = [](pbf_writer& event) { event.add_uint64(event::kNameIid, 5); };
  Trace trace = one_thread();
  trace.event(1, event::kInstant, 2, "", by_number, state(packet::kNeedsState, ""));  // before the first state
  trace.event(2, event::kInstant, 2, "", by_number, state(packet::kStateCleared | packet::kNeedsState, "first"));
  trace.event(3, event::kInstant, 2, "", by_number, state(packet::kNeedsState, ""));
  trace.event(4, event::kInstant, 2, "", by_number, state(packet::kStateCleared | packet::kNeedsState, "second"));
  trace.event(5, event::kInstant, 2, "", by_number, [](pbf_writer& packet) {
    packet.add_uint64(packet::kSequenceFlags, packet::kNeedsState);
    packet.add_bool(packet::kPreviousDropped, true);
  });
  const Shown shown = trace.shown();
  EXPECT_EQ(shown.lines,
            (std::vector<std::string>{"app/main point1 first [] 2 #0 {}", "app/main point1 first [] 3 #0 {}",
                                      "app/main point1 second [] 4 #0 {}"}));
  EXPECT_EQ(shown.losses, (std::vector<std::string>{"2 events whose names are in a packet that was lost"}));
}

TEST(PerfettoImportTest, ClocksAreConvertedAndDeltasAddedUp) {
  Trace trace = one_thread();
  trace.packet([](pbf_writer& packet) {
    packet.add_uint32(packet::kSequenceId, 1);
    pbf_writer snapshot(packet, packet::kClockSnapshot);
    const auto add = [&](uint32_t id, uint64_t value, uint64_t multiplier, bool is_incremental) {
      pbf_writer one(snapshot, clock_snapshot::kClocks);
      one.add_uint32(clock::kId, id);
      one.add_uint64(clock::kTimestamp, value);
      one.add_uint64(clock::kMultiplier, multiplier);
      one.add_bool(clock::kIsIncremental, is_incremental);
    };
    add(clock::kBoottime, 10'000, 1, false);
    add(3, 4'000, 1, false);
    add(clock::kRealtime, 1'000'010'000, 1, false);
    add(64, 2, 1000, true);  // in microseconds: 2 is 2000 ns
  });
  const auto on_clock = [](uint32_t id) {
    return [=](pbf_writer& packet) { packet.add_uint32(packet::kTimestampClockId, id); };
  };
  trace.event(10'500, event::kInstant, 2, "boot");
  trace.event(4'700, event::kInstant, 2, "monotonic", nullptr, on_clock(3));
  trace.event(1, event::kInstant, 2, "delta", nullptr, on_clock(64));  // 3 us
  trace.event(2, event::kInstant, 2, "delta", nullptr, on_clock(64));  // 5 us
  trace.event(9, event::kInstant, 2, "unknown", nullptr, on_clock(70));
  const Shown shown = trace.shown();
  EXPECT_TRUE(shown.has("app/main point1 boot [] 10500 #0 {}"));
  EXPECT_TRUE(shown.has("app/main point1 monotonic [] 10700 #0 {}"));
  EXPECT_TRUE(shown.has("app/main point1 delta [] 11000 #0 {}"));
  EXPECT_TRUE(shown.has("app/main point1 delta [] 13000 #0 {}"));
  EXPECT_EQ(shown.base_ns, 1'000'000'000);
  EXPECT_EQ(shown.lost, 1u);
}

TEST(PerfettoImportTest, CountersHaveUnitsAndMayBeExtraValuesOfEvents) {
  Trace trace = one_thread();
  trace.track(3, 1, "memory", [](pbf_writer& track) {
    pbf_writer counter(track, track::kCounter);
    counter.add_string(counter::kCategories, "heap");
    counter.add_uint64(counter::kUnit, counter::kBytes);
    counter.add_uint64(counter::kMultiplier, 1024);
  });
  trace.track(4, 2, "steps", [](pbf_writer& track) {
    pbf_writer counter(track, track::kCounter);
    counter.add_bool(counter::kIsIncremental, true);
  });
  trace.event(10, event::kCounter, 3, "", [](pbf_writer& event) { event.add_int64(event::kCounterValue, 3); });
  for (const uint64_t time : {20, 30})
    trace.event(time, event::kCounter, 4, "", [](pbf_writer& event) { event.add_int64(event::kCounterValue, 5); });
  trace.event(40, event::kInstant, 2, "mark", [](pbf_writer& event) {
    event.add_uint64(event::kExtraCounterTracks, 4);
    event.add_int64(event::kExtraCounterValues, -1);
  });
  const Shown shown = trace.shown();
  EXPECT_TRUE(shown.has("app/ point2 memory [heap] 10 #0 {value=3.1 kB}"));
  EXPECT_TRUE(shown.has("app/main point2 steps [] 20 #0 {value=5}"));
  EXPECT_TRUE(shown.has("app/main point2 steps [] 30 #0 {value=10}"));
  EXPECT_TRUE(shown.has("app/main point2 steps [] 40 #0 {value=9}"));
}

TEST(PerfettoImportTest, FlowsBeginStepAndEnd) {
  Trace trace = one_thread();
  const auto flow = [](uint32_t field) { return [=](pbf_writer& event) { event.add_fixed64(field, 99); }; };
  trace.event(1, event::kInstant, 2, "a", flow(event::kFlowIds));
  trace.event(2, event::kInstant, 2, "b", flow(event::kFlowIds));
  trace.event(3, event::kInstant, 2, "c", flow(event::kTerminatingFlowIds));
  trace.event(4, event::kInstant, 2, "d", flow(event::kFlowIds));  // the id is free again
  const Shown shown = trace.shown();
  EXPECT_TRUE(shown.has("app/main point5 flow [] 1 #1 {}"));
  EXPECT_TRUE(shown.has("app/main point6 flow [] 2 #1 {}"));
  EXPECT_TRUE(shown.has("app/main point7 flow [] 3 #1 {}"));
  EXPECT_TRUE(shown.has("app/main point5 flow [] 4 #2 {}"));
}

TEST(PerfettoImportTest, DescriptionsMayComeLater) {
  Trace trace;
  trace.event(1, event::kSliceBegin, 9, "a").event(2, event::kSliceEnd, 9, "");
  trace.track(9, 8, "jobs").track(8, 1, "pool").process(1, 7, "app");
  EXPECT_EQ(trace.shown().lines, (std::vector<std::string>{"app/pool: jobs range a [] 1+1 d0 {}"}));
}

TEST(PerfettoImportTest, UnknownPacketsAreCounted) {
  Trace trace = one_thread();
  for (int i = 0; i < 3; ++i) trace.packet([](pbf_writer& packet) { packet.add_string(1, "ftrace"); });
  trace.packet([](pbf_writer& packet) { packet.add_string(1234, "new"); });
  trace.packet([](pbf_writer& packet) { packet.add_string(33, "trace_config"); });
  EXPECT_EQ(trace.shown().losses,
            (std::vector<std::string>{"3 packets of type ftrace_events", "1 packets of unknown types"}));
}

TEST(PerfettoImportTest, CompressedPacketsAreReadAndTruncatedFilesSaySo) {
  const Trace inner = one_thread().event(5, event::kInstant, 2, "mark");
  uLongf size = compressBound(inner.bytes.size());
  std::string compressed(size, '\0');
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(compressed.data()), &size,
                     reinterpret_cast<const Bytef*>(inner.bytes.data()), inner.bytes.size()),
            Z_OK);
  compressed.resize(size);
  Trace trace;
  trace.packet([&](pbf_writer& packet) { packet.add_bytes(packet::kCompressedPackets, compressed); });
  EXPECT_TRUE(trace.shown().has("app/main point1 mark [] 5 #0 {}"));
  trace.bytes += "\x0a\x7f";
  EXPECT_EQ(trace.shown().losses, (std::vector<std::string>{"1 the end of the file: the last packet is truncated"}));
}

TEST(PerfettoImportTest, PacketsCompressedWithZstdAreRead) {
  const Trace inner = one_thread().event(5, event::kInstant, 2, "mark");
  std::string compressed(ZSTD_compressBound(inner.bytes.size()), '\0');
  compressed.resize(ZSTD_compress(compressed.data(), compressed.size(), inner.bytes.data(), inner.bytes.size(), 1));
  const auto trace = [](const std::string& bytes) {
    return Trace().packet([&](pbf_writer& packet) { packet.add_bytes(packet::kZstdCompressedPackets, bytes); });
  };
  EXPECT_TRUE(looks_like_perfetto(trace(compressed).bytes));
  const Shown shown = trace(compressed).shown();
  EXPECT_TRUE(shown.has("app/main point1 mark [] 5 #0 {}"));
  EXPECT_TRUE(shown.losses.empty());
  for (const std::string& damaged : {compressed.substr(0, compressed.size() - 3), "x" + compressed, std::string("abc")})
    EXPECT_EQ(trace(damaged).shown().losses, std::vector<std::string>{"1 packets that are damaged"});
}

TEST(PerfettoImportTest, EventsInChromesOldFormAreCounted) {
  constexpr uint32_t kLegacyEvent = 6;
  Trace trace = one_thread();
  trace.packet([&](pbf_writer& packet) {
    packet.add_uint64(packet::kTimestamp, 10);
    packet.add_uint32(packet::kSequenceId, 1);
    pbf_writer event(packet, packet::kTrackEvent);
    event.add_uint64(event::kTrackUuid, 2);
    event.add_string(event::kName, "old");
    pbf_writer legacy(event, kLegacyEvent);
    legacy.add_int32(2, 'B');
  });
  EXPECT_EQ(trace.shown().losses,
            std::vector<std::string>{"1 events without a type, such as those in Chrome's old form (legacy_event)"});
}

TEST(PerfettoImportTest, HostileShapesAreBounded) {
  // Tracks that are each other's parents.
  Trace cycle;
  cycle.track(1, 2, "a").track(2, 1, "b").event(1, event::kInstant, 1, "mark");
  EXPECT_EQ(cycle.shown().lines.size(), 1u);
  // Annotations in annotations.
  std::string nested;
  for (int i = 0; i < 10'000; ++i) {
    std::string outer;
    pbf_writer(outer).add_bytes(annotation::kArrayValues, nested);
    nested = std::move(outer);
  }
  Trace deep = one_thread();
  deep.event(1, event::kInstant, 2, "mark",
             [&](pbf_writer& event) { event.add_bytes(event::kDebugAnnotations, nested); });
  EXPECT_EQ(deep.shown().events, 1u);
  // Ends without begins, and begins that never end.
  Trace ends = one_thread();
  for (uint64_t i = 0; i < 1000; ++i)
    ends.event(i, event::kSliceEnd, 2, "").event(2000 - i, event::kSliceBegin, 2, "b");
  EXPECT_EQ(ends.shown().events, 1000u);
  // Times beyond all bounds.
  Trace late = one_thread().event(UINT64_MAX, event::kInstant, 2, "late");
  EXPECT_EQ(late.shown().lost, 1u);
  EXPECT_THROW(Shown("", read_perfetto), Error);
}

TEST(PerfettoImportTest, IsRecognizedByItsContent) {
  EXPECT_TRUE(looks_like_perfetto(one_thread().bytes));
  EXPECT_TRUE(
      looks_like_perfetto(one_thread().event(5, event::kInstant, 2, std::string(10'000, 'x')).bytes.substr(0, 4096)));
  for (const std::string text : {"", "\n", "\n{\"traceEvents\": []}", "\n\n[]", "\n  text", "{}", "text"})
    EXPECT_FALSE(looks_like_perfetto(text)) << text;
}

// Long texts, which a Perfetto trace contains once: an export of Kymo has them for stacks.

using trace::FieldType;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

TEST(PerfettoTextsTest, RepeatedLongTextsOfAnExportAreImported) {
  const TemporaryFolder folder;
  const std::string stack = "memcpy < load_batch < train_one_epoch < main";
  {
    TestRecorder recorder(folder / "a.kymo");
    recorder.add_thread(1, 101, "main");
    recorder.add_class(1, "load", "", {{"stack", FieldType::String}});
    for (uint64_t i = 0; i < 3; ++i) {
      recorder.begin(1, 100 * i, 1, {stack});
      recorder.end(1, 100 * i + 50);
    }
    recorder.close();
    convert::FileStream sink(folder / "a.pftrace");
    convert::write_perfetto(trace::Reader(folder / "a.kymo"), sink);
    sink.finish();
  }
  import_trace(folder / "a.pftrace", folder / "b.kymo");
  const trace::Reader reader(folder / "b.kymo");
  std::string texts;
  trace::EventBatch batch;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    reader.read(chunk, batch);
    texts += batch.ranges.values.text;
  }
  EXPECT_EQ(texts, stack + stack + stack);
}

}  // namespace
}  // namespace kymo::import
