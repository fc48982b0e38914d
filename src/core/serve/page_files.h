// The files of the page, compressed with gzip, as they are compiled in (page_files.S).
#pragma once

#include <string_view>

namespace kymo::serve {

std::string_view page_html();
std::string_view page_script();
std::string_view page_style();

}  // namespace kymo::serve
