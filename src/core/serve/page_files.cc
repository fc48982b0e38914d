#include "serve/page_files.h"

#include <cstddef>

extern "C" {
extern const char kymo_page_html_begin[], kymo_page_html_end[];
extern const char kymo_page_script_begin[], kymo_page_script_end[];
extern const char kymo_page_style_begin[], kymo_page_style_end[];
}

namespace kymo::serve {

namespace {

std::string_view between(const char* begin, const char* end) { return {begin, static_cast<size_t>(end - begin)}; }

}  // namespace

std::string_view page_html() { return between(kymo_page_html_begin, kymo_page_html_end); }
std::string_view page_script() { return between(kymo_page_script_begin, kymo_page_script_end); }
std::string_view page_style() { return between(kymo_page_style_begin, kymo_page_style_end); }

}  // namespace kymo::serve
