// What Kymo throws. Every message says what was wrong, with the value, and what to do about it.
// Recording never throws; opening, starting, writing and converting do.
#pragma once

#include <stdexcept>
#include <string>

#include "kymo/export.h"

namespace kymo {

// The base of all: also thrown as itself for a wrong state (already recording, a file that is not a trace).
class KYMO_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A value out of range, a wrong type or shape.
class KYMO_API InvalidArgument : public Error {
 public:
  using Error::Error;
};

// Something this machine does not have: names what is missing and how to get it.
class KYMO_API NotAvailable : public Error {
 public:
  using Error::Error;
};

}  // namespace kymo
