// The page with its data in one file: it needs no server, and works from a disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "serve/api.h"
#include "serve/view.h"

namespace kymo::serve {

// The files of the page, compressed with gzip, as they are compiled in (page_files.S).
std::string_view page_html();
std::string_view page_script();
std::string_view page_style();

// A browser has to hold all of it.
inline constexpr uint64_t kMaxSavedEvents = 1'000'000;

// Throws kymo::Error if the files have more events; the message names `kymo cut`. The page does not have totals of a
// part, what a call waited for, and arguments beyond a limit; it says so.
std::string saved_page(View& view, const Analyses& analyses);

}  // namespace kymo::serve
