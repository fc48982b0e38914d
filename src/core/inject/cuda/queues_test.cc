#include "inject/cuda/queues.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <set>

#include "base/clock.h"
#include "kymo/session.h"
#include "trace/reader.h"

namespace kymo::inject::cuda {
namespace {

TEST(CudaQueuesTest, AStreamHasTheNameThatTheProgramGave) {
  char pattern[] = "/tmp/kymo-cuda-test-XXXXXX";
  const std::string folder = mkdtemp(pattern), file = folder + "/a.kymo";
  Cupti cupti{};
  cupti.timestamp = [](uint64_t* now) {
    *now = base::monotonic_ns();
    return 0;
  };
  Session session(file);
  Queues queues(cupti);
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

}  // namespace
}  // namespace kymo::inject::cuda
