// Addresses (URLs, e-mail addresses, host names) in lines.
#pragma once

#include "clean/lines.h"

namespace nmt_prep::clean {

// Share of the characters of a line, white space left out, that belong to addresses; 0 for lines without characters.
void address_shares(const Lines& lines, double* out);

// Writes 2m / (a + b): m is the number of URLs (http, https, ftp, www) that the sides share, a and b those of each
// side; 1 if there are none.
void url_similarity(const Lines& source, const Lines& target, double* out);

}  // namespace nmt_prep::clean
