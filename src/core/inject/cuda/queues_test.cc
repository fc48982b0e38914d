#include "inject/cuda/queues.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/test_tree.h"
#include "kymo/session.h"
#include "trace/reader.h"

namespace kymo::inject::cuda {
namespace {

TEST(CudaQueuesTest, AStreamHasTheNameThatTheProgramGave) {
  char pattern[] = "/tmp/kymo-cuda-test-XXXXXX";
  const std::string folder = mkdtemp(pattern), file = folder + "/a.kymo";
  Session session(file);
  const Cupti cupti{};
  Graphs graphs(cupti);
  Queues queues(graphs);
  queues.note_default_stream(1, 7);
  queues.note_stream_name(1, 13, "copies");
  queues.note_stream_name(2, 14, "another context");
  for (const uint32_t stream : {7u, 13u, 14u}) {
    Work work;
    work.kind = WorkKind::Fill;
    work.context = 1;
    work.stream = stream;
    work.start = base::monotonic_ns();
    work.end = work.start + 1'000;
    queues.write(work);
  }
  session.close();
  std::set<std::string> names;
  const trace::Reader reader(file);
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [number, track] : writer.tracks)
      if (track.kind == trace::TrackKind::DeviceQueue) names.insert(track.name);
  EXPECT_EQ(names, (std::set<std::string>{"cuda:0 default stream", "copies", "cuda:0 stream 14"}));
  std::filesystem::remove_all(folder);
}

TEST(CudaWorkTest, Kernel) {
  cuda::Kernel record{};
  record.kind = Kind::Kernel;
  record.registers = 32;
  record.start = 1000;
  record.end = 1500;
  record.device = 1;
  record.context = 2;
  record.stream = 7;
  record.correlation = 99;
  record.grid[0] = 10, record.grid[1] = 2, record.grid[2] = 1;
  record.block[0] = 256, record.block[1] = record.block[2] = 1;
  record.static_shared = 100;
  record.dynamic_shared = 28;
  record.name = "_Z4stepPf";
  const auto work = work_from(&record, sizeof record);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->kind, WorkKind::Kernel);
  EXPECT_EQ(work->name, "_Z4stepPf");
  EXPECT_EQ(work->start, 1000u);
  EXPECT_EQ(work->end, 1500u);
  EXPECT_EQ(work->device, 1u);
  EXPECT_EQ(work->context, 2u);
  EXPECT_EQ(work->stream, 7u);
  EXPECT_EQ(work->correlation, 99u);
  EXPECT_EQ(work->grid[0], 10u);
  EXPECT_EQ(work->block[0], 256u);
  EXPECT_EQ(work->registers, 32u);
  EXPECT_EQ(work->shared_bytes, 128u);
  EXPECT_TRUE(work->has_times());
  EXPECT_FALSE(work_from(&record, sizeof record - 1)) << "longer than the buffer";
}

TEST(CudaWorkTest, WorkWithoutTimesIsRecognized) {
  cuda::Kernel record{};
  record.kind = Kind::Kernel;
  record.start = 1000;  // CUPTI had to flush before the end
  EXPECT_FALSE(work_from(&record, sizeof record)->has_times());
  record.start = 0;
  record.end = 5;
  EXPECT_FALSE(work_from(&record, sizeof record)->has_times());
}

TEST(CudaWorkTest, CopiesAndFills) {
  Copy copy{};
  copy.kind = Kind::Copy;
  copy.bytes = 4096;
  copy.correlation = 3;
  for (const auto& [direction, kind] :
       {std::pair(kHostToDevice, WorkKind::CopyToDevice), std::pair(kDeviceToHost, WorkKind::CopyToHost),
        std::pair(kDeviceToDevice, WorkKind::CopyOnDevice), std::pair(kHostToHost, WorkKind::CopyOnHost),
        std::pair(kPeerToPeer, WorkKind::CopyBetweenDevices)}) {
    copy.direction = direction;
    const auto work = work_from(&copy, sizeof copy);
    ASSERT_TRUE(work);
    EXPECT_EQ(work->kind, kind);
    EXPECT_EQ(work->bytes, 4096u);
    EXPECT_EQ(work->correlation, 3u);
  }
  PeerCopy peer{};
  peer.kind = Kind::PeerCopy;
  peer.target_device = 5;
  peer.correlation = 4;
  EXPECT_EQ(work_from(&peer, sizeof peer)->target_device, 5u);
  EXPECT_EQ(work_from(&peer, sizeof peer)->correlation, 4u);
  Fill fill{};
  fill.kind = Kind::Fill;
  fill.bytes = 77;
  EXPECT_EQ(work_from(&fill, sizeof fill)->bytes, 77u);
  cuda::Graph graph{};
  graph.kind = Kind::Graph;
  graph.graph = 12;
  graph.stream = 9;
  EXPECT_EQ(work_from(&graph, sizeof graph)->graph, 12u);
  EXPECT_EQ(work_from(&graph, sizeof graph)->stream, 9u);
}

TEST(CudaWorkTest, OtherAndShortRecordsAreNoWork) {
  const Kind other{4711};
  EXPECT_FALSE(work_from(&other, sizeof other));
  EXPECT_FALSE(work_from(&other, 3));
  for (const Kind kind : {Kind::Kernel, Kind::Copy, Kind::PeerCopy, Kind::Fill, Kind::Graph})
    EXPECT_FALSE(work_from(&kind, sizeof kind));
}

TEST(CudaKernelNamesTest, AreDemangledOnce) {
  KernelNames names;
  Site* const site = names.site_of("_Z4stepPf");
  ASSERT_NE(site, nullptr);
  EXPECT_EQ(std::string_view(site->label.name, site->label.name_length), "step(float*)");
  EXPECT_EQ(names.site_of("_Z4stepPf"), site);
  EXPECT_EQ(readable_name("triton_poi_fused_0"), "triton_poi_fused_0");
  EXPECT_EQ(readable_name("_Znonsense"), "_Znonsense");
  const std::string cutlass(5000, 'x');
  EXPECT_EQ(readable_name(cutlass), cutlass);
}

// Records of CUPTI 13.0 on an H200, of a training step of PyTorch 2.11 and two copies. The file has for each record:
// two 16-bit numbers (the bytes of the record, the bytes of the kernel's name), the record, the name.

TEST(CudaRecordedTest, RecordsOfARealDeviceAreRead) {
  std::ifstream file(base::in_tree("tests/data/cuda/pytorch-2.11-h200.cupti"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  size_t kernels = 0, copies = 0;
  std::set<uint32_t> correlations;
  uint64_t last_start = 0;
  for (size_t at = 0; at < bytes.size();) {
    uint16_t sizes[2];
    ASSERT_LE(at + sizeof sizes, bytes.size());
    memcpy(sizes, bytes.data() + at, sizeof sizes);
    at += sizeof sizes;
    ASSERT_LE(at + sizes[0] + sizes[1], bytes.size());
    std::string record = bytes.substr(at, sizes[0]);
    const std::string name = bytes.substr(at + sizes[0], sizes[1]);
    at += size_t{sizes[0]} + sizes[1];
    if (!name.empty()) {
      const char* const pointer = name.c_str();
      memcpy(record.data() + offsetof(cuda::Kernel, name), &pointer, sizeof pointer);
    }
    const auto work = work_from(record.data(), record.size());
    ASSERT_TRUE(work);
    EXPECT_TRUE(work->has_times());
    EXPECT_LT(work->end - work->start, 1'000'000u) << "small tensors";
    EXPECT_EQ(work->device, 0u);
    EXPECT_EQ(work->stream, 7u);
    EXPECT_TRUE(correlations.insert(work->correlation).second);
    if (work->kind == WorkKind::Kernel) {
      ++kernels;
      EXPECT_EQ(work->name, name);
      EXPECT_FALSE(readable_name(work->name).starts_with("_Z")) << work->name;
      EXPECT_GT(work->grid[0] * work->block[0], 0u);
      EXPECT_GT(work->start, last_start) << "one stream";
      last_start = work->start;
    } else {
      ++copies;
      EXPECT_EQ(work->bytes, 64u * 256 * 4);
    }
  }
  EXPECT_EQ(kernels, 60u);
  EXPECT_EQ(copies, 2u);
}

}  // namespace
}  // namespace kymo::inject::cuda
