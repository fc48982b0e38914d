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
//   gpu.kymo        three kernels on a GPU whose counters and sensors were sampled; gpu_slow.kymo: at a lower clock
//
//   models.kymo     queues of the same name on several devices, two of the same model
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
//   sampled.kymo    CPU samples of a program without annotations: threads, the kernel, time off the CPU, lost samples
//   in_ranges.kymo  the same thread with annotations: samples inside and outside of ranges
//
//   *.kycap         captures: small, far (of a device that is not here), damaged, unfinished
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#if KYMO_HAVE_DEVICES
#include "capture/test_capture.h"
#endif
#include "trace/reader.h"
#include "trace_parts.h"

namespace kymo::golden {
namespace {

namespace fs = std::filesystem;

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

void write_silent() {
  Writer writer("silent.kymo", Writer::Mode::Create);
  write_catalog(writer, writer_id(0x66), 4711, "train");
  writer.close();
}

#if KYMO_HAVE_DEVICES
void write_captures() {
  using capture::tests::write_small_capture;
  for (const char* name : {"small.kycap", "far.kycap", "damaged.kycap", "unfinished.kycap"}) {
    fs::remove_all(name);
    write_small_capture(name, name == std::string("far.kycap") ? "cuda:63" : "opencl:0");
  }
  std::fstream calls("damaged.kycap/calls.bin", std::ios::in | std::ios::out | std::ios::binary);
  calls.seekp(40);
  calls.put('!');
  fs::remove("unfinished.kycap/manifest.json");
}
#endif

}  // namespace
}  // namespace kymo::golden

int main(int argc, char** argv) try {
  using namespace kymo::golden;
  if (argc == 3 && argv[1] == std::string("--gpu")) return write_described_gpu(argv[2], std::cin), 0;
  if (argc != 2) return std::fputs("usage: golden_traces FOLDER, or golden_traces --gpu TRACE < LINES\n", stderr), 2;
  std::filesystem::create_directories(argv[1]);
  std::filesystem::current_path(argv[1]);
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
  write_gpu("gpu.kymo", 1965);
  write_gpu("gpu_slow.kymo", 1290);
  write_models();
  write_clockless();
  write_memory();
  write_samples();
  write_contents("empty.kymo", "");
  write_contents("foreign.json", "{\"traceEvents\": []}\n");
#if KYMO_HAVE_DEVICES
  write_captures();
#endif
  return 0;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "golden_traces: %s\n", error.what()), 1;
}
