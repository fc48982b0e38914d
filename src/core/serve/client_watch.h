// Whether the client of a request is still there. A page drops requests whose answers it does not need any more; what
// they asked for should not be computed to the end.
#pragma once

#include <functional>
#include <stdexcept>

namespace kymo::serve {

using IsGone = std::function<bool()>;

// Thrown where the work for a request ends early. It is not a kymo::Error, because readers take these for damage and
// go on with the next chunk.
struct Abandoned : std::runtime_error {
  Abandoned() : std::runtime_error("the client is gone") {}
};

// For the connection of this process whose other end has this port on the loopback interface. Asks the system each
// time, in less than a microsecond. Valid as long as the connection is open on this side.
IsGone watch_client(int remote_port);

}  // namespace kymo::serve
