// Programs that are linked with -static. They cannot load a library that needs the C library: it would come with a
// second C library, which is not set up for the threads of the program, and crashes.
#pragma once

namespace kymo::base {

// True if no dynamic linker loaded this program. The answer is the same during the whole life of the process.
bool is_static_program() noexcept;

}  // namespace kymo::base
