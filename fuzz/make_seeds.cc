// Writes the seeds of the fuzzers into a folder: small traces with every kind of chunk (complete, truncated, joined,
// and with a window), one with every kind of allocation, a packet of every kind of message, and messages of other
// protocols. The bytes are the same in every run.
#include <elf.h>
#include <sys/auxv.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/memory/test_trace.h"
#include "trace/model.h"
#include "trace/writer.h"
#include "wire/dyno/test_dyno.h"
#include "wire/fabric.h"
#include "wire/test_messages.h"

namespace {

using namespace kymo::trace;

constexpr uint32_t kStep = 1, kBytes = 2, kThread = 1, kClock = 1;

EventBatch batch(uint64_t from) {
  EventBatch batch;
  batch.track = kThread;
  batch.sequence_begin = from;
  batch.opening = {{.start = from, .class_id = kStep, .ints = {7}}};
  batch.closing = batch.opening;
  for (uint64_t i = 1; i <= 4; ++i) {
    batch.ranges.end.push_back(from + 100 * i);
    batch.ranges.duration.push_back(50);
    batch.ranges.class_id.push_back(i % 2 ? kStep : kInlineName);
    batch.ranges.depth.push_back(1);
    batch.ranges.correlation.push_back(i);
    batch.ranges.values.ints.push_back(i % 2 ? i : 4);  // an argument, or the length of a name
    if (i % 2 == 0) batch.ranges.values.text += "name";
  }
  for (PointKind kind : {PointKind::Instant, PointKind::Counter, PointKind::AsyncBegin, PointKind::AsyncEnd,
                         PointKind::FlowBegin, PointKind::FlowEnd, PointKind::Sample}) {
    batch.points.time.push_back(from + 10 * static_cast<uint64_t>(kind));
    batch.points.kind.push_back(kind);
    batch.points.class_id.push_back(kBytes);
    batch.points.id.push_back(kind == PointKind::Sample ? 1 : 9);
    batch.points.values.doubles.push_back(0.5);
  }
  batch.sequence_end = from + batch.ranges.size() + batch.points.size();
  return batch;
}

void write_trace(const std::string& path) {
  const WriterId writer{{1, 2, 3, 4}};
  Writer file(path, Writer::Mode::Create);
  file.origin(writer,
              {.session = "5eed", .pid = 1, .host = "host", .executable = "/bin/seed", .command_line = {"seed"}});
  file.classes(writer,
               std::array<EventClass, 2>{EventClass{kStep, "step {}", "demo", 0xFF00FF00, {{"", FieldType::Int}}},
                                         EventClass{kBytes, "load", "", 0, {{"value", FieldType::Double}}}});
  file.clock(writer, {.id = kClock, .boot_id = "boot", .pairs = {{0, 1000, 2000, 5}, {1000, 2000, 3000, 5}}});
  file.tracks(writer, std::array<Track, 1>{Track{.id = kThread, .clock = kClock, .tid = 1, .name = "main"}});
  file.stacks(writer, std::array<Module, 1>{Module{1, "/bin/seed", "ab", 4096, 4096}},
              std::array<Frame, 1>{Frame{1, 1, 16, "main", "seed.cc", 3}}, std::array<Stack, 1>{Stack{1, {1}}});
  file.events(writer, batch(0));
  file.events(writer, batch(1000));
  file.losses(writer, std::array<Loss, 1>{Loss{LossCause::RingFull, kThread, 3, 1, 2, "why"}});
  file.costs(writer, std::array<Cost, 1>{Cost{kThread, 22, 5000, 0, 0}});
  file.close();
}

// Cuts both chunks of events.
void add_window(const std::string& path) {
  Writer file(path, Writer::Mode::Append);
  file.window(WriterId{{1, 2, 3, 4}}, {1075, 2205});
  file.close();
}

void write_memory(const std::string& path) {
  using namespace kymo::memory::tests;
  MemoryTrace trace(path);
  trace.module(1, "/nowhere/libgone.so", 0x1000, 0x1000, "0123");
  trace.node(1, 16, 1, 0x1100);
  trace.node(1, 17, 16, 0x1200);
  trace.begin(1, 100, TestClass::kStep, {int64_t{1}});
  trace.take(1, 110, 0x10, 64);
  trace.take(1, 120, 0, 32);
  trace.told(1, 130, 0x20, 100, "PARAMETER");
  trace.malloc(1, 140, 0x30, 8, 17);
  trace.point(1, 150, PointKind::Allocation, kSampled, 0x40, {int64_t{100}, int64_t{16}, int64_t{512'000}});
  trace.point(1, 155, PointKind::Sample, kStack, 1);
  trace.point(1, 160, PointKind::Allocation, kEdge, 0x50, {int64_t{512}, int64_t{1}, int64_t{0}});
  trace.cut(1);
  trace.free(2, 170, 0x30);
  trace.give_back(1, 180, 0x10);
  trace.give_back(1, 190, 0, 32);
  trace.reported_free(2, 200, 0x99);
  trace.end(1, 210);
  trace.close();
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_messages(const std::string& folder) {
  using namespace kymo;
  int number = 0;
  for (const wire::Message& message : wire::testing::full_messages()) {
    write_file(folder + "/message-" + std::to_string(++number), text_of(*wire::message_packet(message, 1)));
  }
  wire::GpuTraceOptions options;
  options.log_file = "/tmp/seed.json";
  options.profile_memory = true;
  const wire::RpcTrigger trigger = *wire::gputrace_request(options);
  const std::string config = wire::handed_out_config(trigger.config, 7);
  write_file(folder + "/kineto.conf", config + "ACTIVITY_TYPES = kernel, cpu_op  # and more\n");
  write_file(folder + "/fabric-poll",
             text_of(*wire::fabric_datagram(wire::FabricRequest(wire::FabricPoll{3, 0, {7, 1}}))));
  write_file(folder + "/fabric-context",
             text_of(*wire::fabric_datagram(wire::FabricRequest(wire::FabricContext{0, 7, 0}))));
  write_file(folder + "/fabric-config", text_of(*wire::fabric_datagram(wire::FabricReply(wire::FabricConfig{config}))));
  write_file(folder + "/rpc-request.json", wire::rpc_request(trigger));
  write_file(folder + "/rpc-reply.json", wire::rpc_triggered({{7}, {7}, 0, {}, 0}));
}

std::string bytes_of(std::string_view hexadecimal) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hexadecimal.substr(i, 2)), nullptr, 16));
  return bytes;
}

// What a kernel wrote about a shell: its program, a sample, a child, and a switch. Before it: what samples contain, and
// the number of registers (src/core/sample/perf_record_fuzz.cc).
void write_perf_ring(const std::string& path) {
  write_file(
      path,
      bytes_of("2730000000000000"
               "03"
               "0300000000202800c3430000c34300007368000000000000c3430000c3430000c1fc3a3652370000"
               "0900000002007800900bbec4d07f0000c3430000c3430000e8004136523700000000000000000000020000000000000000"
               "00000000000000402dd75efd7f0000900bbec4d07f000020000000000000000300000000000000563ad75efd7f0000593a"
               "d75efd7f00005c3ad75efd7f00002000000000000000"
               "0700000000003000c4430000c3430000c4430000c3430000f47e423652370000c3430000c34300005e7d423652370000"
               "0e00000000201800c3430000c343000087a1423652370000"));
}

// A complete and small program file: the code that the kernel puts into every process. Before it: an address.
void write_code_file(const std::string& path) {
  const auto* begin = reinterpret_cast<const char*>(getauxval(AT_SYSINFO_EHDR));
  if (begin == nullptr) return;
  Elf64_Ehdr header;
  std::memcpy(&header, begin, sizeof header);
  const size_t bytes = header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;  // the sections are at its end
  write_file(path, std::string(8, '\x11') + std::string(begin, bytes));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_seeds FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  write_trace(folder + "/whole.kymo");
  const std::string whole = read_file(folder + "/whole.kymo");
  write_file(folder + "/torn.kymo", whole.substr(0, whole.size() * 2 / 3));
  write_file(folder + "/joined.kymo", whole + whole);
  write_file(folder + "/window.kymo", whole);
  add_window(folder + "/window.kymo");
  write_memory(folder + "/memory.kymo");
  write_messages(folder);
  write_perf_ring(folder + "/perf-ring");
  write_code_file(folder + "/code-file");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "make_seeds: %s\n", error.what());
  return 1;
}
