// kymod: the daemon as a separate program. It is small because it keeps running.
#include <cstdio>
#include <exception>
#include <string>

#include "base/version.h"
#include "daemon/daemon.h"
#include "kymo/error.h"

namespace {

constexpr int kUsage = 2;  // the exit status for an invalid command line

}  // namespace

// KYMO_TRACE in the environment is for the programs that users record, not for this one.
extern "C" const char kymo_is_kymo_itself = 1;

int main(int argc, char** argv) {
  const auto refuse = [](const std::exception& error) {
    std::fprintf(stderr, "kymod: %s\nTry 'kymod --help'.\n", error.what());
    return kUsage;
  };
  try {
    kymo::daemon::DaemonOptions options;
    kymo::options::CommandLine line("kymod", "kymod [options]", kymo::daemon::kDaemonDescription, "");
    line.version(std::string("kymod ") + kymo::base::kVersion);
    kymo::daemon::add_options(line, options);
    if (line.read({argv + (argc > 0 ? 1 : 0), argv + argc})) kymo::daemon::serve(options);
    return 0;
  } catch (const kymo::options::UsageError& error) {
    return refuse(error);
  } catch (const kymo::InvalidArgument& error) {  // an option with a wrong value
    return refuse(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kymod: %s\n", error.what());
    return 1;
  }
}
