// Makes the fixes. The file fix_*.cpp that defines a fix describes it.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "clean/fix.h"

namespace nmt_prep::clean {

// Names of character references, such as "amp", and the text they stand for.
using Entities = std::unordered_map<std::string, std::string>;

// `language` is a code such as "en", here and below.
std::unique_ptr<Fix> mojibake_fix(const std::string& language);
std::unique_ptr<Fix> html_entities_fix(Entities entities);
std::unique_ptr<Fix> control_fix();
std::unique_ptr<Fix> soft_hyphens_fix();
std::unique_ptr<Fix> bidi_marks_fix();
std::unique_ptr<Fix> nfc_fix();
std::unique_ptr<Fix> whitespace_fix(bool keep_no_break);
std::unique_ptr<Fix> ligatures_fix();
std::unique_ptr<Fix> width_fix();

// The tool whose punctuation normalization the fix reproduces.
enum class Punctuation : std::uint8_t { kMoses, kSacremoses };
std::unique_ptr<Fix> punctuation_fix(Punctuation like, const std::string& language);

}  // namespace nmt_prep::clean
