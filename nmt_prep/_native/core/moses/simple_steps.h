// Steps that need no more than their name, and perhaps a language.
#pragma once

#include <memory>
#include <string>

#include "clean/step.h"

namespace nmt_prep::moses {

using clean::Step;

// The small scripts of Moses: lowercase, detruecase, non_printing, unicode_punctuation, pipes, escape, unescape; and
// the fixes, such as control and punctuation_moses. `language` is a code such as "en". Returns nothing for another
// name.
std::unique_ptr<Step> simple_step(const std::string& name, const std::string& language);

}  // namespace nmt_prep::moses
