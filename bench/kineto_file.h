// Writes a large Kineto file of one training job: operators with shapes, launches, kernels, arrows. The same bytes on
// every machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>

namespace bench {

// About 240 bytes for each event. Throws std::runtime_error if the file cannot be written.
inline void write_kineto_file(const std::string& path, uint64_t events, uint64_t seed = 1) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw std::runtime_error("cannot write " + path);
  std::setvbuf(file, nullptr, _IOFBF, 1 << 20);
  std::mt19937_64 random(seed);
  std::fputs(
      "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": 0, \"name\": \"NVIDIA H200\"\n    "
      "}\n  ],\n"
      "  \"baseTimeNanoseconds\": 1759276776000000000,\n  \"displayTimeUnit\": \"ms\",\n  \"traceEvents\": [\n"
      "  {\n    \"ph\": \"M\", \"name\": \"process_name\", \"pid\": 397, \"tid\": 0, \"ts\": 0.000,\n    \"args\": {\n"
      "      \"name\": \"python3\"\n    }\n  },\n"
      "  {\n    \"ph\": \"M\", \"name\": \"process_labels\", \"pid\": 0, \"tid\": 0, \"ts\": 0.000,\n    \"args\": {\n"
      "      \"labels\": \"GPU 0\"\n    }\n  }",
      file);
  constexpr unsigned kOperators = 400, kKernels = 250;
  uint64_t time = 1'000'000, device = 1'000'000, correlation = 1, written = 2;
  const auto us = [](uint64_t ns) { return static_cast<unsigned long long>(ns / 1000); };
  const auto rest = [](uint64_t ns) { return static_cast<unsigned>(ns % 1000); };
  while (written < events) {
    // An operator, in it one more and a launch, and the kernel that the launch starts.
    const uint64_t begin = time, inner = begin + 500 + random() % 2000, launch = inner + 300 + random() % 1000;
    const uint64_t launched = launch + 2000 + random() % 4000, inner_end = launched + 200, end = inner_end + 400;
    const uint64_t start = std::max(device, launched + 1000), length = 1500 + random() % 60'000;
    device = start + length;
    time = end + random() % 3000;
    const unsigned op = static_cast<unsigned>(random() % kOperators),
                   kernel = static_cast<unsigned>(random() % kKernels);
    const unsigned rows = 1u << (random() % 12);
    std::fprintf(
        file,
        ",\n  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::operator_%u\", \"pid\": 397, \"tid\": 397,\n"
        "    \"ts\": %llu.%03u, \"dur\": %llu.%03u,\n    \"args\": {\n      \"External id\": %llu,\"Record function "
        "id\": 0, "
        "\"Ev Idx\": %llu, \"Input Dims\": [[%u, 64], [64, %u]]\n    }\n  }",
        op, us(begin), rest(begin), us(end - begin), rest(end - begin), static_cast<unsigned long long>(correlation),
        static_cast<unsigned long long>(written), rows, rows);
    std::fprintf(file,
                 ",\n  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::inner_operator_%u\", \"pid\": 397, "
                 "\"tid\": 397,\n"
                 "    \"ts\": %llu.%03u, \"dur\": %llu.%03u,\n    \"args\": {\n      \"External id\": %llu,\"Record "
                 "function id\": 0, "
                 "\"Ev Idx\": %llu, \"Input Dims\": [[%u, 64], [64, %u]]\n    }\n  }",
                 op, us(inner), rest(inner), us(inner_end - inner), rest(inner_end - inner),
                 static_cast<unsigned long long>(correlation), static_cast<unsigned long long>(written + 1), rows,
                 rows);
    std::fprintf(
        file,
        ",\n  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 397, \"tid\": "
        "397,\n"
        "    \"ts\": %llu.%03u, \"dur\": %llu.%03u,\n    \"args\": {\n      \"External id\": %llu, \"cbid\": 211, "
        "\"correlation\": %llu\n    }\n  }",
        us(launch), rest(launch), us(launched - launch), rest(launched - launch),
        static_cast<unsigned long long>(correlation), static_cast<unsigned long long>(correlation));
    std::fprintf(
        file,
        ",\n  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void at::native::kernel_%u<float, 128>(int, "
        "float*)\", "
        "\"pid\": 0, \"tid\": 7,\n    \"ts\": %llu.%03u, \"dur\": %llu.%03u,\n    \"args\": {\n      \"External id\": "
        "%llu,\n"
        "      \"queued\": 0, \"device\": 0, \"context\": 1,\n      \"stream\": 7, \"correlation\": %llu,\n"
        "      \"registers per thread\": 32,\n      \"shared memory\": 0,\n      \"blocks per SM\": 1.939394,\n"
        "      \"warps per SM\": 7.757576,\n      \"grid\": [256, 1, 1],\n      \"block\": [128, 1, 1],\n"
        "      \"est. achieved occupancy %%\": 12\n    }\n  }",
        kernel, us(start), rest(start), us(length), rest(length), static_cast<unsigned long long>(correlation),
        static_cast<unsigned long long>(correlation));
    std::fprintf(
        file,
        ",\n  {\n    \"ph\": \"s\", \"id\": %llu, \"pid\": 397, \"tid\": 397, \"ts\": %llu.%03u,\n    \"cat\": "
        "\"ac2g\", "
        "\"name\": \"ac2g\"\n  },\n  {\n    \"ph\": \"f\", \"id\": %llu, \"pid\": 0, \"tid\": 7, \"ts\": %llu.%03u,\n"
        "    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  }",
        static_cast<unsigned long long>(correlation), us(launch), rest(launch),
        static_cast<unsigned long long>(correlation), us(start), rest(start));
    ++correlation;
    written += 6;
  }
  std::fputs("\n  ],\n  \"traceName\": \"/tmp/trace.json\"\n}\n", file);
  const bool failed = std::ferror(file) != 0;
  if (std::fclose(file) != 0 || failed) throw std::runtime_error("cannot write " + path);
}

}  // namespace bench
