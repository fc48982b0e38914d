#include "record/outcome.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <initializer_list>

namespace kymo::record {

Outcome Outcome::failure(const char* format, ...) noexcept {
  Outcome outcome;
  va_list values;
  va_start(values, format);
  vsnprintf(outcome.text_, sizeof outcome.text_, format, values);
  va_end(values);
  return outcome;
}

void Outcome::add(const Outcome& other) noexcept {
  size_t used = strlen(text_);
  for (const char* part : {used != 0 ? "; " : "", other.text_})
    for (; *part != '\0' && used + 1 < sizeof text_; ++part) text_[used++] = *part;
  text_[used] = '\0';
}

}  // namespace kymo::record
