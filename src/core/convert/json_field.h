// Writes field values of a trace as JSON.
#pragma once

#include "base/json_text.h"
#include "trace/reader.h"

namespace kymo::convert {

using base::JsonArray;
using base::JsonObject;
using base::TextBuffer;

// Integers as numbers, a pointer as the string "0x…".
void append_json_field(TextBuffer& out, const trace::ValueCursor::Value& value);

}  // namespace kymo::convert
