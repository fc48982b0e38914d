#include "cli/programs.h"
#include "cli/run.h"
#include "commands/import/program.h"
#include "fleet_commands/program.h"

int main(int argc, char** argv) {
  using namespace kymo::cli;
  static constexpr Implementation kOwn[] = {
      {"push", push_command},
      {"watch", watch_command},
      {"fleet", fleet_command},
  };
  set_importer(import_here);  // a push may read thousands of files
  return run_program(argc, argv, kOwn);
}
