// The documentation of the tables, for `kymo query --schema`.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kymo::query {

struct Example {
  std::string_view question;
  std::string_view sql;
};

// Worked examples; a test runs all of them. 'run.kymo' stands for a trace of the reader.
std::span<const Example> examples();

// Tables, columns, rules and examples as plain text.
std::string schema_text();

}  // namespace kymo::query
