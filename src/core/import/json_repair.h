// Makes valid JSON of what some writers produce: NaN and Infinity, bytes that are not UTF-8, control characters inside
// texts, and commas before a closing bracket. Texts that are valid stay as they are.
#pragma once

#include <string>
#include <string_view>

namespace kymo::import {

std::string repaired_json(std::string_view text);

}  // namespace kymo::import
