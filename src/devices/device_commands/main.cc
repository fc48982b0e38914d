#include "cli/run.h"
#include "device_commands/program.h"

int main(int argc, char** argv) {
  using namespace kymo::cli;
  static constexpr Implementation kOwn[] = {
      {"devices", devices},           {"shader", shader_command}, {"replay", replay_command},
      {"capture-info", capture_info}, {"checks", device_checks},
  };
  return run_program(argc, argv, kOwn);
}
