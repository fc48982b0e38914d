// The exceptions that Kymo throws. Every message says what was wrong, with the value, and what to do. Recording never
// throws. Opening, starting, writing, converting and device calls do.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "kymo/export.h"

namespace kymo {

// The base of all. Also thrown itself for a wrong state (already recording, a file that is not a trace).
class KYMO_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A value out of range, a wrong type or shape.
class KYMO_API InvalidArgument : public Error {
 public:
  using Error::Error;
};

// This machine does not have what is needed. The message says what is missing and how to get it.
class KYMO_API NotAvailable : public Error {
 public:
  using Error::Error;
};

// Shader source that does not compile. The message is the compiler's whole log. The members are the place of its first
// error, as far as the compiler reports it (0 and empty: unknown).
class KYMO_API CompileError : public Error {
 public:
  CompileError(const std::string& message, std::string file, uint32_t line, uint32_t column, std::string text)
      : Error(message), file_(std::move(file)), text_(std::move(text)), line_(line), column_(column) {}

  const std::string& file() const noexcept { return file_; }
  uint32_t line() const noexcept { return line_; }
  uint32_t column() const noexcept { return column_; }
  const std::string& text() const noexcept { return text_; }  // of the first error only

 private:
  std::string file_, text_;
  uint32_t line_, column_;
};

// An allocation that exceeds the limit or the device's memory. Sizes are in bytes.
class KYMO_API OutOfMemory : public Error {
 public:
  OutOfMemory(const std::string& message, uint64_t asked, uint64_t in_use, uint64_t limit)
      : Error(message), asked_(asked), in_use_(in_use), limit_(limit) {}

  uint64_t asked() const noexcept { return asked_; }
  uint64_t in_use() const noexcept { return in_use_; }
  uint64_t limit() const noexcept { return limit_; }  // 0: only the limit of the device

 private:
  uint64_t asked_, in_use_, limit_;
};

// The device, its driver or a kernel reported a fault.
class KYMO_API DeviceError : public Error {
 public:
  using Error::Error;
};

}  // namespace kymo
