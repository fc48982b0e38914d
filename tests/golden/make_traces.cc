// Writes the traces that the golden tests read, the same every time: fixed ids, names and times.
//
//   golden_traces FOLDER
//
//   rich.kymo       one process with all kinds of events: threads, nested ranges, names with values, instants,
//                   counters, ranges across threads, flows
//
//   lossy.kymo      the same, with a loss ledger
//
//   both.kymo       two processes, by concatenation
//
//   damaged.kymo    one byte in a chunk of events is wrong
//
//   torn.kymo       the end is cut off
//
//   hostile.kymo    names that would control a terminal or break JSON
//
//   many.kymo       more durations of one name than are kept exactly
//
//   silent.kymo     a process that recorded no event
//
//   device.kymo     a thread that launches, two queues of a device, one queue of another device without a clock
//
//   clockless.kymo  ten ranges of a process whose clock is not in the trace
//
//   window.kymo     as rich.kymo, with losses, and it states a window from 25 to 84 ms
//
//   killed.kymo     the same, but the window has no end
//
//   empty.kymo      no bytes
//
//   foreign.json    the trace of another tool
//
//   memory.kymo     allocations of a device and of the heap, with categories, ranges and stacks
//
//   *.kycap         captures: small, far (of a device that is not here), damaged, unfinished
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "capture/test_capture.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace {

using namespace kymo::trace;
namespace fs = std::filesystem;

constexpr uint64_t kMicrosecond = 1'000;
constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kBoot = 100 * kSecond;                 // CLOCK_MONOTONIC when recording began
constexpr uint64_t kWallClock = 1'700'000'000 * kSecond;  // 2023-11-14 22:13:20 UTC
constexpr uint32_t kClock = 1;

enum ClassId : uint32_t { kStep = 1, kLoad, kForward, kRequest, kFinished, kQueueLength, kLearningRate, kHandOver };
enum TrackId : uint32_t { kMain = 1, kWorker, kNameless, kCompute, kCopy, kClockless };

WriterId writer_id(uint8_t fill) {
  WriterId id;
  id.bytes.fill(fill);
  return id;
}

Origin origin_of(uint64_t pid, const std::string& program) {
  Origin origin;
  origin.session = "00112233445566778899aabbccddeeff";
  origin.pid = pid;
  origin.parent_pid = 1;
  origin.host = "lab";
  origin.boot_id = "boot";
  origin.executable = "/opt/" + program;
  origin.command_line = {"./" + program, "--epochs", "2"};
  origin.start_realtime_ns = kWallClock;
  origin.policy = "block";
  origin.kymo_version = "0.1.0";
  origin.metadata = {{"model", "tiny"}};
  return origin;
}

ClockDomain clock_of() {
  ClockDomain domain;
  domain.id = kClock;
  domain.boot_id = "boot";
  domain.pairs = {{kBoot, kBoot, kWallClock, 40},
                  {kBoot + 10 * kSecond, kBoot + 10 * kSecond, kWallClock + 10 * kSecond, 60}};
  return domain;
}

EventClass class_of(uint32_t id, const std::string& name, const std::string& category, std::vector<Field> fields = {}) {
  EventClass event_class;
  event_class.id = id;
  event_class.name = name;
  event_class.category = category;
  event_class.fields = std::move(fields);
  return event_class;
}

Track thread_of(uint32_t id, uint64_t tid, const std::string& name) {
  Track track;
  track.id = id;
  track.clock = kClock;
  track.tid = tid;
  track.name = name;
  return track;
}

// Adds events to a batch in recorded order; times are since the recording began.
class Recorder {
 public:
  explicit Recorder(uint32_t track) {
    batch_.track = track;
    batch_.ring = track;
  }

  void range(uint64_t start, uint64_t duration, uint32_t class_id, uint16_t depth, std::vector<uint64_t> values = {}) {
    Ranges& ranges = batch_.ranges;
    ranges.end.push_back(kBoot + start + duration);
    ranges.duration.push_back(duration);
    ranges.class_id.push_back(class_id);
    ranges.depth.push_back(depth);
    ranges.values.ints.insert(ranges.values.ints.end(), values.begin(), values.end());
  }
  void correlated(uint64_t start, uint64_t duration, uint32_t class_id, uint64_t correlation) {
    range(start, duration, class_id, 0);
    batch_.ranges.correlation.push_back(correlation);
  }
  void on_lanes(std::vector<uint16_t> lanes) { batch_.ranges.lane = std::move(lanes); }
  void named_range(uint64_t start, uint64_t duration, const std::string& name, uint16_t depth) {
    range(start, duration, kInlineName, depth, {name.size()});
    batch_.ranges.values.text += name;
  }
  void point(uint64_t time, PointKind kind, uint32_t class_id, uint64_t id = 0) {
    Points& points = batch_.points;
    points.time.push_back(kBoot + time);
    points.kind.push_back(kind);
    points.class_id.push_back(class_id);
    points.id.push_back(id);
  }
  void count(uint64_t time, uint32_t class_id, uint64_t value) {
    point(time, PointKind::Counter, class_id);
    batch_.points.values.ints.push_back(value);
  }
  void measure(uint64_t time, uint32_t class_id, double value) {
    point(time, PointKind::Counter, class_id);
    batch_.points.values.doubles.push_back(value);
  }
  // Of the point before: numbers, lengths of texts among them, and the texts.
  void values(const std::vector<uint64_t>& ints, const std::string& text) {
    Values& to = batch_.points.values;
    to.ints.insert(to.ints.end(), ints.begin(), ints.end());
    to.text += text;
  }
  void leave_open(uint64_t start, uint32_t class_id) {
    OpenRange open;
    open.start = kBoot + start;
    open.class_id = class_id;
    batch_.closing.push_back(open);
  }

  const EventBatch& batch() {
    batch_.sequence_end = batch_.ranges.size() + batch_.points.size();
    return batch_;
  }

 private:
  EventBatch batch_;
};

void write_catalog(Writer& writer, const WriterId& id, uint64_t pid, const std::string& program) {
  writer.origin(id, origin_of(pid, program));
  writer.clock(id, clock_of());
  writer.tracks(id, std::vector{thread_of(kMain, pid, "main"), thread_of(kWorker, pid + 1, "worker"),
                                thread_of(kNameless, pid + 2, "")});
  writer.classes(id, std::vector{class_of(kStep, "step {}", "training", {{"", FieldType::Int}}),
                                 class_of(kLoad, "load", "input", {{"bytes", FieldType::ByteCount}}),
                                 class_of(kForward, "forward", "training"), class_of(kRequest, "request", "serving"),
                                 class_of(kFinished, "epoch finished", "training"),
                                 class_of(kQueueLength, "queue length", "", {{"value", FieldType::Int}}),
                                 class_of(kLearningRate, "learning rate", "", {{"value", FieldType::Double}}),
                                 class_of(kHandOver, "hand over", "")});
}

// Twenty steps on main, each with a load and a forward inside; what the worker does crosses threads.
void write_events(Writer& writer, const WriterId& id) {
  Recorder main(kMain);
  for (uint64_t step = 0; step < 20; ++step) {
    const uint64_t start = step * 10 * kMillisecond;
    main.range(start + 50 * kMicrosecond, kMillisecond + step * kMicrosecond, kLoad, 1, {4096 * (step + 1)});
    main.range(start + 2 * kMillisecond, 6 * kMillisecond + step * 10 * kMicrosecond, kForward, 1);
    main.range(start, 9 * kMillisecond + step * 10 * kMicrosecond, kStep, 0, {step});
    main.count(start, kQueueLength, 20 - step);
    main.measure(start, kLearningRate, 0.5 / static_cast<double>(step + 1));
    main.point(start + kMillisecond, PointKind::FlowBegin, kHandOver, step + 1);
  }
  main.point(199 * kMillisecond, PointKind::Instant, kFinished);
  main.named_range(200 * kMillisecond, 500, "save checkpoint", 0);
  main.leave_open(201 * kMillisecond, kForward);
  writer.events(id, main.batch());

  Recorder worker(kWorker);
  for (uint64_t step = 0; step < 20; ++step)
    worker.point(step * 10 * kMillisecond + 3 * kMillisecond, PointKind::FlowEnd, kHandOver, step + 1);
  for (uint64_t request = 1; request <= 3; ++request)
    worker.point(request * kMillisecond, PointKind::AsyncBegin, kRequest, request);
  writer.events(id, worker.batch());

  Recorder nameless(kNameless);
  for (uint64_t request = 1; request <= 4; ++request)  // the beginning of the fourth is not in the trace
    nameless.point(request * 20 * kMillisecond, PointKind::AsyncEnd, kRequest, request);
  nameless.range(90 * kMillisecond, 5 * kMicrosecond, kLoad, 0, {512});
  writer.events(id, nameless.batch());
}

void write_costs(Writer& writer, const WriterId& id) {
  writer.costs(id, std::vector{Cost{.track = kMain, .events = 122, .picoseconds_per_event = 9'000},
                               Cost{.track = 0, .collector_cpu_ns = 3 * kMillisecond}});
}

void write_rich(const std::string& path, uint8_t fill = 0x11, uint64_t pid = 4711,
                const std::string& program = "train") {
  Writer writer(path, Writer::Mode::Create);
  const WriterId id = writer_id(fill);
  write_catalog(writer, id, pid, program);
  write_events(writer, id);
  write_costs(writer, id);
  writer.close();
}

void write_lossy(const std::string& path) {
  Writer writer(path, Writer::Mode::Create);
  const WriterId id = writer_id(0x22);
  write_catalog(writer, id, 4711, "train");
  write_events(writer, id);
  const Loss full{LossCause::RingFull, kWorker, 1'024, kBoot + 120 * kMillisecond, kBoot + 135 * kMillisecond, ""};
  const Loss pop{LossCause::UnmatchedPop, kMain, 1, kBoot + 3 * kMillisecond, kBoot + 3 * kMillisecond, ""};
  const Loss slots{LossCause::NoSlot, 0, 12, 0, 0, "thread 5001"};
  writer.losses(id, std::vector{full, pop, slots});
  writer.close();
}

// The losses are before the window, inside it and after it.
void write_window(const std::string& path, uint64_t to) {
  write_rich(path, 0x99);
  Writer writer(path, Writer::Mode::Append);
  const WriterId id = writer_id(0x99);
  for (const uint64_t at : {10 * kMillisecond, 50 * kMillisecond, 100 * kMillisecond}) {
    const Loss loss{LossCause::RingFull, kWorker, at / kMillisecond, kBoot + at, kBoot + at + kMillisecond, ""};
    writer.losses(id, std::vector{loss});
  }
  writer.window(id, {kBoot + 25 * kMillisecond, to});
  writer.close();
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_contents(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

void write_both() {
  write_rich("second.kymo", 0x33, 4811, "serve");
  write_contents("both.kymo", contents_of("rich.kymo") + contents_of("second.kymo"));
  fs::remove("second.kymo");
}

void write_damaged() {
  const EventChunk chunk = Reader("rich.kymo").event_chunks().at(1);
  std::string contents = contents_of("rich.kymo");
  contents.at(chunk.offset + chunk.length - 24) ^= 0x20;
  write_contents("damaged.kymo", contents);
}

void write_torn() {
  const EventChunk chunk = Reader("rich.kymo").event_chunks().back();
  write_contents("torn.kymo", contents_of("rich.kymo").substr(0, chunk.offset + 120));
}

void write_hostile() {
  Writer writer("hostile.kymo", Writer::Mode::Create);
  const WriterId id = writer_id(0x44);
  Origin origin = origin_of(66, "evil\x1b]0;title\x07");
  writer.origin(id, origin);
  writer.clock(id, clock_of());
  writer.tracks(id, std::vector{thread_of(kMain, 66, "two\nlines")});
  writer.classes(
      id, std::vector{class_of(kStep, "\x1b[2Jclear \"all\" \\ of it", "tab\there"),
                      class_of(kLoad, "not UTF-8: \xff\xfe", "größe"), class_of(kForward, std::string(120, 'n'), "")});
  Recorder main(kMain);
  main.range(0, 3 * kMillisecond, kStep, 0);
  main.range(4 * kMillisecond, 2 * kMillisecond, kLoad, 0);
  main.range(7 * kMillisecond, kMillisecond, kForward, 0);
  writer.events(id, main.batch());
  writer.close();
}

void write_many() {
  constexpr uint64_t kMoreThanAreKept = 1'000'200;
  Writer writer("many.kymo", Writer::Mode::Create);
  const WriterId id = writer_id(0x55);
  write_catalog(writer, id, 4711, "train");
  Recorder main(kMain);
  for (uint64_t i = 0; i < kMoreThanAreKept; ++i) main.range(i * kMicrosecond, 100 + i % 800, kForward, 0);
  writer.events(id, main.batch());
  writer.close();
}

Track queue_of(uint32_t id, uint32_t clock, const std::string& device, uint64_t queue, const std::string& name) {
  Track track;
  track.id = id;
  track.kind = TrackKind::DeviceQueue;
  track.clock = clock;
  track.device_uuid = device;
  track.context = 1;
  track.queue = queue;
  track.name = name;
  return track;
}

// Five launches and their work; a copy beside another; the same name on the host and on a device.
void write_device() {
  constexpr uint32_t kDeviceClock = 2, kNoPairs = 3;
  Writer writer("device.kymo", Writer::Mode::Create);
  const WriterId id = writer_id(0x77);
  write_catalog(writer, id, 4711, "train");
  ClockDomain device = clock_of();
  device.id = kDeviceClock;
  device.kind = ClockKind::Device;
  device.pairs[0].error_ns = 1'500;
  writer.clock(id, device);
  device.id = kNoPairs;
  device.pairs.clear();
  writer.clock(id, device);
  writer.tracks(id, std::vector{queue_of(kCompute, kDeviceClock, "GPU-8f3a", 0, "compute"),
                                queue_of(kCopy, kDeviceClock, "GPU-8f3a", 1, ""),
                                queue_of(kClockless, kNoPairs, "GPU-0b11", 0, "compute")});
  Recorder main(kMain), compute(kCompute), copy(kCopy), clockless(kClockless);
  for (uint64_t i = 0; i < 5; ++i) {
    const uint64_t start = i * kMillisecond;
    main.correlated(start, 20 * kMicrosecond, kForward, i + 1);
    compute.correlated(start + 50 * kMicrosecond, 800 * kMicrosecond, kForward, i + 1);
  }
  copy.range(200 * kMicrosecond, 100 * kMicrosecond, kLoad, 0, {4096});
  copy.range(100 * kMicrosecond, 300 * kMicrosecond, kLoad, 0, {1 << 20});
  copy.on_lanes({1, 0});
  clockless.range(0, 5 * kMicrosecond, kForward, 0);
  for (Recorder* recorder : {&main, &compute, &copy, &clockless}) writer.events(id, recorder->batch());
  writer.losses(id, std::vector{Loss{LossCause::Clock, kCompute, 2, kBoot + kMillisecond, kBoot + kMillisecond, ""}});
  write_costs(writer, id);
  writer.close();
}

// The chunk with the clock was torn out.
void write_clockless() {
  Writer writer("clockless.kymo", Writer::Mode::Create);
  const WriterId id = writer_id(0x99);
  writer.origin(id, origin_of(4711, "train"));
  writer.tracks(id, std::vector{thread_of(kMain, 4711, "main")});
  writer.classes(id, std::vector{class_of(kForward, "forward", "training")});
  Recorder main(kMain);
  for (uint64_t i = 0; i < 10; ++i) main.range(i * kMillisecond, kMicrosecond, kForward, 0);
  writer.events(id, main.batch());
  writer.close();
}

// Two steps: parameters that stay, activations that go, a leak on the worker; the heap's by stacks of a library that is
// no longer there.
void write_memory() {
  enum MemoryClass : uint32_t { kTensor = 20, kMalloc, kFree, kNode, kModule };
  Writer writer("memory.kymo", Writer::Mode::Create);
  const WriterId id = writer_id(0x88);
  write_catalog(writer, id, 4711, "train");
  const std::vector<Field> tensor = {
      {"bytes", FieldType::ByteCount}, {"device", FieldType::String}, {"category", FieldType::String}};
  writer.classes(
      id,
      std::vector{class_of(kTensor, "device memory", "memory", tensor),
                  class_of(kMalloc, "malloc", "memory", {{"bytes", FieldType::ByteCount}, {"node", FieldType::UInt}}),
                  class_of(kFree, "free", "memory"),
                  class_of(kNode, "stack node", "kymo.stack",
                           {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}}),
                  class_of(kModule, "module", "kymo.stack",
                           {{"path", FieldType::String},
                            {"base", FieldType::Pointer},
                            {"size", FieldType::ByteCount},
                            {"build_id", FieldType::String}})});
  Recorder main(kMain), worker(kWorker);
  const auto tell = [](Recorder& on, uint64_t time, PointKind kind, uint64_t address, uint64_t bytes,
                       const std::string& category) {
    on.point(time, kind, kTensor, address);
    on.values({bytes, 6, category.size()}, "cuda:0" + category);
  };
  for (uint64_t i = 0; i < 3; ++i)
    tell(main, (1 + i) * kMillisecond, PointKind::Allocation, 0x1000 * (i + 1), (i + 1) * 1'000'000, "PARAMETER");
  for (uint64_t step = 0; step < 2; ++step) {
    const uint64_t start = (10 + 10 * step) * kMillisecond;
    tell(main, start + kMillisecond, PointKind::Allocation, 0x10'0000, 4'000'000 + step, "ACTIVATION");
    tell(main, start + 3 * kMillisecond, PointKind::Allocation, 0x20'0000, 500'000, "");
    tell(main, start + 4 * kMillisecond, PointKind::Free, 0x20'0000, 500'000, "");
    tell(main, start + 6 * kMillisecond, PointKind::Free, 0x10'0000, 4'000'000, "");
    main.range(start + 2 * kMillisecond, 3 * kMillisecond, kForward, 1);
    main.range(start, 8 * kMillisecond, kStep, 0, {step});
  }
  worker.point(0, PointKind::Instant, kModule);
  worker.values({16, 0x5000, 0x1000, 4}, "/gone/libload.so0123");
  for (uint64_t node = 16; node < 19; ++node) {
    worker.point(0, PointKind::Instant, kNode);
    worker.values({node, node == 16 ? 1 : node - 1, 0x5000 + 0x100 * (node - 15)}, "");
  }
  for (uint64_t i = 0; i < 20; ++i) {
    worker.point((2 + i) * kMillisecond, PointKind::Allocation, kMalloc, 0x70'0000 + 0x1'0000 * i);
    worker.values({1'000 * (1 + i % 2), 17 + i % 2}, "");
    if (i % 2 == 1) worker.point((2 + i) * kMillisecond + 500, PointKind::Free, kFree, 0x70'0000 + 0x1'0000 * i);
  }
  worker.point(30 * kMillisecond, PointKind::Free, kFree, 0xdead);
  writer.events(id, main.batch());
  writer.events(id, worker.batch());
  writer.close();
}

void write_silent() {
  Writer writer("silent.kymo", Writer::Mode::Create);
  write_catalog(writer, writer_id(0x66), 4711, "train");
  writer.close();
}

void write_captures() {
  using kymo::capture::tests::write_small_capture;
  for (const char* name : {"small.kycap", "far.kycap", "damaged.kycap", "unfinished.kycap"}) {
    fs::remove_all(name);
    write_small_capture(name, name == std::string("far.kycap") ? "cuda:63" : "opencl:0");
  }
  std::fstream calls("damaged.kycap/calls.bin", std::ios::in | std::ios::out | std::ios::binary);
  calls.seekp(40);
  calls.put('!');
  fs::remove("unfinished.kycap/manifest.json");
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return std::fputs("usage: golden_traces FOLDER\n", stderr), 2;
  fs::create_directories(argv[1]);
  fs::current_path(argv[1]);
  write_rich("rich.kymo");
  write_lossy("lossy.kymo");
  write_window("window.kymo", kBoot + 84 * kMillisecond);
  write_window("killed.kymo", 0);
  write_both();
  write_damaged();
  write_torn();
  write_hostile();
  write_many();
  write_silent();
  write_device();
  write_clockless();
  write_memory();
  write_contents("empty.kymo", "");
  write_contents("foreign.json", "{\"traceEvents\": []}\n");
  write_captures();
  return 0;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "golden_traces: %s\n", error.what()), 1;
}
