// Makes one annotation of every kind, and signposts as the device profiler does, for the sinks that are on.
//
//   annotates [SINKS]      turns these on itself
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>

#include "kymo/annotate.h"
#include "kymo/sink.h"

namespace {

void send_signposts() {
  kymo_signpost post{};
  post.id = 3;
  post.name = "scale, and what is not of its name";
  post.name_length = 5;
  post.kind = KYMO_SIGNPOST_KERNEL;
  post.run = 2;
  post.execution = 77;
  kymo_send_signpost(&post, 0);
  post.start_ns = 1000;
  post.end_ns = 2500;
  const char* message = "scale:opencl:0:f32[16] (id=K3, run=2)";
  if (kymo_sinks_want_messages() != 0) {
    post.message = message;
    post.message_length = static_cast<uint32_t>(std::strlen(message));
  }
  kymo_send_signpost(&post, 1);
  kymo_send_signpost(&post, 2);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1) kymo::set_sinks(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "annotates: %s\n", error.what());
    return 1;
  }
  kymo::range_push("step {}", 7);
  {
    KYMO_RANGE("scope|of two\nlines");
    kymo::mark(kymo::Label("cache miss", "cache", kymo::colour::kRed));
    kymo::counter("queue", 2.5);
  }
  const auto request = kymo::range_start("request {}", "GET /");
  std::thread([request] { kymo::range_end(request); }).join();
  kymo::range_pop();
  send_signposts();
}
