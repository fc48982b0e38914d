#include "cli/run.h"
#include "commands/import/program.h"

int main(int argc, char** argv) {
  using namespace kymo::cli;
  static constexpr Implementation kOwn[] = {
      {"import", import_command},
      {"read", read_for_kymo},
      {"probe", probe_for_kymo},
  };
  return run_program(argc, argv, kOwn);
}
