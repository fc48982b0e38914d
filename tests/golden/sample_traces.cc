// The traces with CPU samples.
#include <array>

#include "trace_parts.h"

namespace kymo::golden {
namespace {

// CPU samples of two threads of process 4711, by another writer than its annotations. The library does not exist.
void write_sampled(Writer& writer) {
  enum SampleClass : uint32_t { kSample = 1, kOffCpu, kNode, kModule, kSymbol, kOnCpu };
  const WriterId id = writer_id(0x99);
  Origin origin = origin_of(4711, "train");
  origin.policy.clear();
  origin.metadata = {{"sampling", "1 kHz"}};
  writer.origin(id, origin);
  writer.clock(id, clock_of());
  writer.classes(
      id, std::vector{
              class_of(kSample, "sample", "cpu", {{"node", FieldType::UInt}}),
              class_of(kOffCpu, "off CPU", "cpu", {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}}),
              class_of(kNode, "stack node", "kymo.stack",
                       {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}}),
              class_of(kModule, "module", "kymo.stack",
                       {{"path", FieldType::String},
                        {"base", FieldType::Pointer},
                        {"size", FieldType::ByteCount},
                        {"build_id", FieldType::String}}),
              class_of(kSymbol, "symbol", "kymo.stack", {{"address", FieldType::Pointer}, {"name", FieldType::String}}),
              class_of(kOnCpu, "on CPU", "cpu", {{"ns", FieldType::UInt}})});
  writer.tracks(id, std::vector{thread_of(kMain, 4711, "train"), thread_of(kWorker, 4712, "worker")});
  Recorder main(kMain), worker(kWorker);
  constexpr uint64_t kKernelAddress = 0xffffffff81000000, kMainFunction = 16, kWork = 17, kRead = 18;
  for (Recorder* thread : {&main, &worker}) {
    thread->point(0, PointKind::Instant, kModule);
    thread->values({16, 0x5000, 0x1000, 4}, "/gone/libwork.so0123");
    thread->point(0, PointKind::Instant, kSymbol);
    thread->values({kKernelAddress, 8}, "sys_read");
    // The stacks of the worker are not complete.
    const uint64_t root = thread == &main ? 1 : 4;
    for (const auto& [node, parent, address] : {std::array<uint64_t, 3>{kMainFunction, root, 0x5101},
                                                {kWork, kMainFunction, 0x5201},
                                                {kRead, kMainFunction, kKernelAddress}}) {
      thread->point(0, PointKind::Instant, kNode);
      thread->values({node, parent, address}, "");
    }
  }
  for (uint64_t i = 0; i < 40; ++i) {
    main.point((1 + i) * kMillisecond, PointKind::Sample, kSample);
    main.values({i % 10 == 0 ? kRead : kWork}, "");
  }
  for (uint64_t i = 0; i < 5; ++i) {
    worker.point((2 + 3 * i) * kMillisecond, PointKind::Sample, kSample);
    worker.values({kWork}, "");
    worker.point((3 + 3 * i) * kMillisecond, PointKind::Sample, kOffCpu);
    worker.values({2 * kMillisecond, i % 2}, "");
  }
  // The time without samples is that of the lost ones.
  main.point(41 * kMillisecond, PointKind::Sample, kOnCpu);
  main.values({53 * kMillisecond}, "");
  worker.point(16 * kMillisecond, PointKind::Sample, kOnCpu);
  worker.values({5 * kMillisecond}, "");
  writer.events(id, main.batch());
  writer.events(id, worker.batch());
  const Loss loss{LossCause::SamplesLost, kMain, 12, kBoot + 5 * kMillisecond, kBoot + 6 * kMillisecond, ""};
  writer.losses(id, std::vector{loss});
}

}  // namespace

void write_samples() {
  Writer sampled("sampled.kymo", Writer::Mode::Create);
  write_sampled(sampled);
  sampled.close();
  Writer in_ranges("in_ranges.kymo", Writer::Mode::Create);
  const WriterId id = writer_id(0x9a);
  write_catalog(in_ranges, id, 4711, "train");
  in_ranges.tracks(id, std::vector{thread_of(kMain, 4711, "main")});
  Recorder main(kMain);
  for (uint64_t step = 0; step < 2; ++step) {
    const uint64_t start = (5 + 15 * step) * kMillisecond;
    main.range(start + 2 * kMillisecond, 5 * kMillisecond, kForward, 1);
    main.range(start, 10 * kMillisecond, kStep, 0, {step});
  }
  in_ranges.events(id, main.batch());
  write_sampled(in_ranges);
  in_ranges.close();
}

}  // namespace kymo::golden
