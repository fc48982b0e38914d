#include "cli/run.h"
#include "commands/view/program.h"

int main(int argc, char** argv) {
  using namespace kymo::cli;
  static constexpr Implementation kOwn[] = {
      {"view", view_command},
  };
  return run_program(argc, argv, kOwn);
}
