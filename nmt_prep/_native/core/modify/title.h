// First letters of words in upper case.
#pragma once

#include "align/text.h"
#include "text/batch.h"

namespace nmt_prep::modify {

// Returns lines whose words, between ASCII white space, begin with upper case, with one space between them. Lines
// without letters of a case stay.
align::OwnedText title_lines(const TextView& lines);

}  // namespace nmt_prep::modify
