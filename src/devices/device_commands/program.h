// The program of the commands for accelerators.
#pragma once

#include "cli/command.h"

namespace kymo::cli {

int devices(const Arguments&);         // which accelerators there are
int shader_command(const Arguments&);  // translates a Metal source
int replay_command(const Arguments&);  // runs captured device work again
int capture_info(const Arguments&);    // what `kymo info` shows of a capture
int device_checks(const Arguments&);   // for `kymo doctor`

inline constexpr Command kDeviceCommands[] = {
    {"devices", Group::Devices, "list the accelerators of this machine"},
    {"shader", Group::Devices, "translate a Metal shader, or list its kernels"},
    {"replay", Group::Devices, "run the device work of a capture again"},
};
inline constexpr FileKind kDeviceFiles[] = {{".kycap", "manifest.json", "capture-info"}};
inline constexpr PartProgram kDeviceProgram = {
    .file = "kymo-devices", .commands = kDeviceCommands, .file_kinds = kDeviceFiles, .checks = "checks"};

}  // namespace kymo::cli
