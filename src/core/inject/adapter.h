// An adapter records one interface of other tools (NVTX, OpenCL, …) in a program that was not written for Kymo.
//
// The program loads libkymo_inject.so through the interface itself: it calls the entry point that the interface
// defines. The entry point calls start(). From then on the adapter records while a recording runs in the process, and
// is dormant otherwise: it removes its functions from the interface, so that a call costs the same as without a tool.
// What the adapter recorded is counted by record/interfaces.h.
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <string_view>

#include "base/environment.h"
#include "record/interfaces.h"

namespace kymo::inject {

struct Adapter {
  record::Interface interface;
  // Any thread may call both, also at the same time and repeatedly. `activate` is called after a recording has started,
  // `deactivate` after it has ended. They must not call into the program.
  void (*activate)() noexcept;
  void (*deactivate)() noexcept;
  // It has ranges that may be iterations: `activate` is also called when somebody watches ranges while nothing records.
  bool has_iterations = false;
};

// False if the user excluded the interface (KYMO_INTERFACES, set by `kymo record --with, --without`), or if the program
// cannot be recorded, which is reported once. The entry point must do nothing then.
bool is_wanted(record::Interface interface) noexcept;

// For entry points: the adapter takes part from now on. Activates it if a recording runs. Another call for the same
// adapter does nothing. The adapter must live as long as the process.
void start(const Adapter& adapter) noexcept;

// For a program that may start no adapter before it is traced: libtorch calls no tool.
void listen() noexcept;

// For the functions of an adapter that are called although nothing records and nobody watches ranges: the recording has
// ended in a way that nobody reported. Makes all adapters dormant.
void become_dormant() noexcept;

// ---- What adapters have in common

// The value of an environment variable that is "on" or "off". An invalid value prints one line to standard error, and
// counts as not set.
bool is_on(base::Variable variable, bool if_not_set);

// A name from a program, of a kernel or a function, as the name of an event with arguments, in which braces are places
// for them: they are doubled.
std::string plain_name(std::string_view text);

// An object that is never destroyed: threads of the program may use it while the process exits.
template <class T>
class Immortal {
 public:
  // Makes the object, or makes it again without destroying the old one (in a forked child).
  T& make() noexcept { return *new (storage_) T; }

 private:
  alignas(T) std::byte storage_[sizeof(T)];
};

}  // namespace kymo::inject
