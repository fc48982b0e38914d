#include "cli/run.h"
#include "fleet_commands/program.h"

int main(int argc, char** argv) {
  using namespace kymo::cli;
  static constexpr Implementation kOwn[] = {
      {"push", push_command},
      {"watch", watch_command},
      {"fleet", fleet_command},
  };
  return run_program(argc, argv, kOwn);
}
