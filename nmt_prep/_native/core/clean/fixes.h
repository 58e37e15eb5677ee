// Makes the fixes. The file fix_*.cpp that defines a fix describes it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "clean/step.h"

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
std::unique_ptr<Fix> wiki_fix();

// The tool whose punctuation normalization the fix reproduces.
enum class Punctuation : std::uint8_t { kMoses, kSacremoses };
std::unique_ptr<Fix> punctuation_fix(Punctuation like, const std::string& language);

// Appends a line of Chinese or Japanese without spaces between its characters, and with one around Latin words.
void join_east_asian(std::string_view line, std::string& out);

}  // namespace nmt_prep::clean
