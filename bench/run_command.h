// Runs a command and measures it: time, memory, and whether it succeeded. Its output is dropped.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "measure.h"

namespace bench {

struct Run {
  double seconds = 0, processor_seconds = 0, peak_mb = 0;
  bool well = false;
};

inline Run run(const std::vector<std::string>& words) {
  posix_spawn_file_actions_t quietly;
  posix_spawn_file_actions_init(&quietly);
  posix_spawn_file_actions_addopen(&quietly, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const uint64_t began = host_ns();
  pid_t child = 0;
  Run result;
  const int failed = posix_spawn(&child, words[0].c_str(), &quietly, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&quietly);
  if (failed != 0) return result;
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  result.seconds = static_cast<double>(host_ns() - began) / 1e9;
  result.processor_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  result.peak_mb = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
  result.well = status == 0;
  return result;
}

}  // namespace bench
