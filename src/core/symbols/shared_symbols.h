// The one Symbols of this process, for everyone who looks up stacks again and again.
//
// To open the debug information of a program and its libraries takes 100 ms and more (files are often compressed). It
// stays open until the process ends, and so do all answers: an address that was looked up once costs no time later.
// Both start again after eight unloads of modules.
#pragma once

#include <mutex>

#include "symbols/symbols.h"

namespace kymo::symbols {

// Holds the lock until the end of the scope. In a forked child it works as in the parent.
class SharedSymbols {
 public:
  SharedSymbols();
  SharedSymbols(const SharedSymbols&) = delete;
  SharedSymbols& operator=(const SharedSymbols&) = delete;

  Symbols& operator*() const noexcept;

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace kymo::symbols
