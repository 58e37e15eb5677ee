// Addresses (URLs, e-mail addresses, host names) in lines.
#pragma once

#include "clean/lines.h"

namespace nmt_prep::clean {

// Writes the share of a line's characters, except white space, that belong to addresses; 0 for lines without such
// characters.
void address_shares(const Lines& lines, double* out);

// Writes 2m / (a + b), where m is the number of URLs (http, https, ftp, www) on both sides, and a and b are the numbers
// of URLs of each side; 1 if there are none.
void url_similarity(const Lines& source, const Lines& target, double* out);

}  // namespace nmt_prep::clean
