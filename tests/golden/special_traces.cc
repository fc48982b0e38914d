// The traces that are not made from rich.kymo: hostile, many, device, models, clockless and memory.
#include <istream>
#include <map>
#include <sstream>

#include "trace_parts.h"

namespace kymo::golden {

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

namespace {

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

}  // namespace

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

// Ten steps of 20 ms: a product for 10 ms, a copy for 6 ms, 2 ms of nothing, and a kernel of 20 µs. One sample each
// millisecond, one reading each 20 ms, and samples of instructions.
void write_gpu(const std::string& name, double clock_mhz) {
  enum : uint32_t { kProduct = 20, kCopyKernel, kTiny, kStall, kCounters = 1, kSensors, kFirstSensor = 1000 };
  Writer writer(name, Writer::Mode::Create);
  const WriterId id = writer_id(0x78), gpu = writer_id(0x79);
  write_catalog(writer, id, 4711, "train");
  const std::vector<Field> launch = {{"block_x", FieldType::UInt}, {"registers", FieldType::UInt}};
  writer.classes(id, std::vector{class_of(kProduct, "gemm_bf16", "", launch), class_of(kCopyKernel, "copy_kernel", ""),
                                 class_of(kTiny, "zero_kernel", ""),
                                 class_of(kStall, "copy_kernel", "gpu stall",
                                          {{"reason", FieldType::String},
                                           {"samples", FieldType::UInt},
                                           {"instruction", FieldType::UInt},
                                           {"line", FieldType::String}})});
  Track queue = queue_of(kCompute, kClock, "8f3a", 7, "cuda:0 stream 7");
  queue.device_name = "NVIDIA H200";
  writer.tracks(id, std::vector{queue});

  Origin origin = origin_of(4700, "kymo");
  origin.executable.clear();
  origin.command_line = {"GPU counters"};
  origin.metadata = {{"GPU counters", "NVIDIA H200"},
                     {"sample interval", "1000000"},
                     {"multiprocessors", "132"},
                     {"compute capability, major", "9"},
                     {"threads per multiprocessor", "2048"},
                     {"registers per multiprocessor", "65536"},
                     {"max SM clock [MHz]", "1980"},
                     {"max memory clock [MHz]", "3201"},
                     {"memory bus [bits]", "6144"}};
  writer.origin(gpu, origin);
  writer.clock(gpu, clock_of());
  const char* const counters[] = {
      "multiprocessors active [%]", "warps active [%]",       "tensor cores active [%]", "DRAM read [%]",
      "DRAM written [%]",           "instructions per cycle", "SM cycles per second",    "FMA pipe active [%]"};
  const char* const sensors[] = {"power [W]", "SM clock [MHz]", "throttle reasons", "energy [J]"};
  std::vector<EventClass> classes;
  const auto add_class = [&](size_t number, const char* of) {
    classes.push_back(class_of(static_cast<uint32_t>(number), of, "gpu", {{"value", FieldType::Double}}));
  };
  for (size_t i = 0; i < std::size(counters); ++i) add_class(1 + i, counters[i]);
  for (size_t i = 0; i < std::size(sensors); ++i) add_class(kFirstSensor + i, sensors[i]);
  writer.classes(gpu, classes);
  for (const uint32_t one : {kCounters, kSensors}) {
    Track track = queue_of(one, kClock, "8f3a", 0, one == kCounters ? "cuda:0 counters" : "cuda:0 sensors");
    track.kind = TrackKind::Process;
    track.device_name = "NVIDIA H200";
    writer.tracks(gpu, std::vector{track});
  }

  const double cycles = 1e6 * clock_mhz;
  const double of_product[] = {100, 12.5, 96, 14, 2, 0.75, cycles, 1},
               of_copy[] = {100, 80, 0, 41, 37, 0.25, cycles, 2};
  const double idle[8] = {0, 0, 0, 0, 0, 0, cycles, 0};
  Recorder main(kMain), compute(kCompute), samples(kCounters), readings(kSensors);
  for (uint64_t step = 0; step < 10; ++step) {
    const uint64_t start = step * 20 * kMillisecond;
    main.range(start, 20 * kMillisecond, kStep, 0, {step});
    compute.range(start, 10 * kMillisecond, kProduct, 0, {384, 168});
    compute.range(start + 10 * kMillisecond, 6 * kMillisecond, kCopyKernel, 0);
    compute.range(start + 19 * kMillisecond, 20 * kMicrosecond, kTiny, 0);
    for (uint64_t ms = 0; ms < 20; ++ms)
      for (uint32_t i = 0; i < std::size(counters); ++i)
        samples.measure(start + ms * kMillisecond, 1 + i, (ms < 10 ? of_product : ms < 16 ? of_copy : idle)[i]);
  }
  for (uint64_t i = 0; i < 10; ++i) {
    readings.measure(i * 20 * kMillisecond + kMillisecond, kFirstSensor, 640);
    readings.measure(i * 20 * kMillisecond + kMillisecond, kFirstSensor + 1, clock_mhz);
    readings.measure(i * 20 * kMillisecond + kMillisecond, kFirstSensor + 2, clock_mhz < 1900 ? 4 : 0);
    readings.measure(i * 20 * kMillisecond + kMillisecond, kFirstSensor + 3, 12.8 * static_cast<double>(i));
  }
  const auto stall = [&main](const std::string& reason, uint64_t count, uint64_t instruction, const std::string& line) {
    main.point(200 * kMillisecond, PointKind::Instant, kStall);
    main.values({reason.size(), count, instruction, line.size()}, reason + line);
  };
  stall("long_scoreboard", 700, 0x1a0, "/home/a/copy.cu:12");
  stall("selected", 100, 0x1a0, "/home/a/copy.cu:12");
  stall("long_scoreboard", 100, 0x1b0, "/home/a/copy.cu:12");
  stall("lg_throttle", 80, 0x1c0, "/home/a/copy.cu:13");
  stall("wait", 20, 0x200, "");
  for (Recorder* recorder : {&main, &compute}) writer.events(id, recorder->batch());
  for (Recorder* recorder : {&samples, &readings}) writer.events(gpu, recorder->batch());
  writer.close();
}

// A GPU as tests/truth/gpu_counters.py describes it, by lines of words between tabs: "metadata NAME VALUE", "kernel
// QUEUE BEGIN END NAME BLOCK REGISTERS", "copy QUEUE BEGIN END", "sample COUNTER TIME VALUE", "sensor SENSOR TIME
// VALUE".
void write_described_gpu(const std::string& name, std::istream& lines) {
  enum : uint32_t { kCounters = 1, kSensors };
  Writer writer(name, Writer::Mode::Create);
  const WriterId id = writer_id(0x78), gpu = writer_id(0x79);
  write_catalog(writer, id, 4711, "train");
  Origin origin = origin_of(4700, "kymo");
  origin.executable.clear();
  origin.command_line = {"GPU counters"};
  origin.metadata.clear();
  std::map<std::string, uint32_t> kernels, values;
  std::vector<EventClass> kernel_classes{class_of(20, "copy on device", "copy")}, value_classes;
  std::map<uint32_t, Recorder> queues;
  Recorder samples(kCounters), readings(kSensors);
  const std::vector<Field> launch = {{"block_x", FieldType::UInt}, {"registers", FieldType::UInt}};
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> words;
    std::istringstream parts(line);
    for (std::string word; std::getline(parts, word, '\t');) words.push_back(word);
    const auto number = [&](size_t i) { return std::stoull(words.at(i)); };
    if (words.at(0) == "metadata") {
      origin.metadata.emplace_back(words.at(1), words.at(2));
    } else if (words[0] == "kernel" || words[0] == "copy") {
      const auto queue = static_cast<uint32_t>(kCompute + number(1));
      const uint64_t begin = number(2), length = number(3) - begin;
      if (words[0] == "copy") {
        queues.try_emplace(queue, queue).first->second.range(begin, length, 20, 0);
        continue;
      }
      const auto [known, is_new] = kernels.try_emplace(words.at(4), static_cast<uint32_t>(21 + kernels.size()));
      if (is_new) kernel_classes.push_back(class_of(known->second, words[4], "", launch));
      queues.try_emplace(queue, queue).first->second.range(begin, length, known->second, 0, {number(5), number(6)});
    } else {
      const auto [known, is_new] = values.try_emplace(words.at(1), static_cast<uint32_t>(1 + values.size()));
      if (is_new) value_classes.push_back(class_of(known->second, words[1], "gpu", {{"value", FieldType::Double}}));
      (words[0] == "sample" ? samples : readings).measure(number(2), known->second, std::stod(words.at(3)));
    }
  }
  writer.classes(id, kernel_classes);
  writer.origin(gpu, origin);
  writer.clock(gpu, clock_of());
  writer.classes(gpu, value_classes);
  for (const uint32_t one : {kCounters, kSensors}) {
    Track track = queue_of(one, kClock, "8f3a", 0, one == kCounters ? "cuda:0 counters" : "cuda:0 sensors");
    track.kind = TrackKind::Process;
    track.device_name = "NVIDIA H200";
    writer.tracks(gpu, std::vector{track});
  }
  for (auto& [track, recorder] : queues) {
    Track queue = queue_of(track, kClock, "8f3a", track, "");
    queue.device_name = "NVIDIA H200";
    writer.tracks(id, std::vector{queue});
    writer.events(id, recorder.batch());
  }
  for (Recorder* recorder : {&samples, &readings}) writer.events(gpu, recorder->batch());
  writer.close();
}

// Queues of the same name on four devices: two of the same model, one of another model, one whose name is not known.
void write_models() {
  Writer writer("models.kymo", Writer::Mode::Create);
  const WriterId id = writer_id(0xaa);
  write_catalog(writer, id, 4711, "train");
  struct Device {
    const char *uuid, *name;
  };
  uint32_t track = kCompute;
  for (const Device& device : {Device{"GPU-8f3a", "NVIDIA H200"}, Device{"GPU-0b11", "NVIDIA H200"},
                               Device{"GPU-77c0", "llvmpipe"}, Device{"GPU-5555", ""}}) {
    Track queue = queue_of(track, kClock, device.uuid, 0, "compute");
    queue.device_name = device.name;
    writer.tracks(id, std::vector{queue});
    Recorder recorder(track);
    recorder.range(0, track * kMillisecond, kForward, 0);
    writer.events(id, recorder.batch());
    ++track;
  }
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
  const auto add = [](Recorder& on, uint64_t time, PointKind kind, uint64_t address, uint64_t bytes,
                      const std::string& category) {
    on.point(time, kind, kTensor, address);
    on.values({bytes, 6, category.size()}, "cuda:0" + category);
  };
  for (uint64_t i = 0; i < 3; ++i)
    add(main, (1 + i) * kMillisecond, PointKind::Allocation, 0x1000 * (i + 1), (i + 1) * 1'000'000, "PARAMETER");
  for (uint64_t step = 0; step < 2; ++step) {
    const uint64_t start = (10 + 10 * step) * kMillisecond;
    add(main, start + kMillisecond, PointKind::Allocation, 0x10'0000, 4'000'000 + step, "ACTIVATION");
    add(main, start + 3 * kMillisecond, PointKind::Allocation, 0x20'0000, 500'000, "");
    add(main, start + 4 * kMillisecond, PointKind::Free, 0x20'0000, 500'000, "");
    add(main, start + 6 * kMillisecond, PointKind::Free, 0x10'0000, 4'000'000, "");
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

}  // namespace kymo::golden
