// kymod: the daemon as a program of its own, small because it stays.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "base/version.h"
#include "daemon/daemon.h"

namespace {

constexpr int kUsage = 2;  // the exit status of a command line that makes no sense

// As `kymo`'s commands show theirs.
class Layout : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override { return "\nUsage: kymod [options]\n"; }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_name().empty() ? "" : " " + option->get_type_name();
  }
};

int misused(const std::string& what) {
  std::fprintf(stderr, "kymod: %s\nTry 'kymod --help'.\n", what.c_str());
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  kymo::daemon::DaemonOptions options;
  CLI::App command(kymo::daemon::kDaemonDescription, "kymod");
  command.formatter(std::make_shared<Layout>());
  command.set_version_flag("--version", std::string("kymod ") + kymo::base::kVersion, "show the version");
  command.set_help_flag("-h,--help", "show this");
  kymo::daemon::add_options(command, options);
  try {
    command.parse(argc, argv);
    kymo::daemon::serve(options);
  } catch (const CLI::Success& asked) {  // help, or the version
    return command.exit(asked);
  } catch (const CLI::ExtrasError&) {
    const std::string given = command.remaining().front();
    return misused((given.starts_with('-') ? "unknown option '" : "unexpected argument '") + given + "'");
  } catch (const CLI::ParseError& error) {
    return misused(error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kymod: %s\n", error.what());
    return 1;
  }
  return 0;
}
