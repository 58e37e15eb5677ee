// Finds HTML tags in lines.
#pragma once

#include <cstdint>

#include "clean/lines.h"

namespace nmt_prep::clean {

enum class Tags : std::uint8_t {
    kAny,    // start tags of any name that Beautiful Soup finds with Python's html.parser
    kKnown,  // start tags of HTML elements only, and end tags of such elements
};

// Writes 1 for each line with a tag, else 0.
void html_tags(const Lines& lines, Tags tags, double* out);

}  // namespace nmt_prep::clean
