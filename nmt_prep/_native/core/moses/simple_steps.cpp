#include "moses/simple_steps.h"

#include <algorithm>
#include <array>
#include <utility>

#include "clean/fixes.h"
#include "moses/characters.h"
#include "moses/entities.h"
#include "moses/truecaser.h"

namespace nmt_prep::moses {
namespace {

// A step that is a function.
class FunctionStep final : public Step {
   public:
    using Function = void (*)(std::string_view line, std::string& out);
    explicit FunctionStep(Function function) : function_(function) {}
    void apply(std::string_view line, std::string& out) const override { function_(line, out); }

   private:
    Function function_;
};

// As lowercase.perl.
void lowercase(std::string_view line, std::string& out) { append_lower(out, line); }

// As remove-non-printing-char.perl: a space for each character of category C.
void replace_non_printing(std::string_view line, std::string& out) {
    for_each_point(line, [&out](char32_t point, std::string_view bytes) {
        if ((character_classes()[point] & kControl) != 0)
            out += ' ';
        else
            out += bytes;
    });
}

// As clean-corpus-n.perl, unless the corpus has factors.
void delete_pipes(std::string_view line, std::string& out) {
    std::ranges::remove_copy(line, std::back_inserter(out), '|');
}

struct Replacement {
    char32_t from;
    std::string_view to;
    bool takes_spaces = false;  // spaces after the character are replaced, too
};

// In ascending order.
constexpr Replacement kPunctuation[] = {
    {U'’', "'"},   {U'“', "\""},        {U'”', "\""}, {U'…', "..."},       {U'∶', ":"},   {U'━', "-"},
    {U'、', ","},  {U'。', ". ", true}, {U'〈', "<"}, {U'〉', ">"},        {U'《', "\""}, {U'》', "\""},
    {U'「', "\""}, {U'」', "\""},       {U'【', "["}, {U'】', "]"},        {U'！', "!"},  {U'％', "%"},
    {U'（', "("},  {U'）', ")"},        {U'，', ","}, {U'．', ". ", true}, {U'０', "0"},  {U'１', "1"},
    {U'２', "2"},  {U'３', "3"},        {U'４', "4"}, {U'５', "5"},        {U'６', "6"},  {U'７', "7"},
    {U'８', "8"},  {U'９', "9"},        {U'：', ":"}, {U'；', ";"},        {U'？', "?"},  {U'～', "~"}};

// As replace-unicode-punctuation.perl.
void replace_unicode_punctuation(std::string_view line, std::string& out) {
    bool takes_spaces = false;
    for_each_point(line, [&](char32_t point, std::string_view bytes) {
        if (takes_spaces && point == ' ') return;
        takes_spaces = false;
        const auto* const found = std::ranges::lower_bound(kPunctuation, point, {}, &Replacement::from);
        if (point < 0x80 || found == std::end(kPunctuation) || found->from != point) {
            out += bytes;
            return;
        }
        out += found->to;
        takes_spaces = found->takes_spaces;
    });
}

constexpr std::pair<std::string_view, FunctionStep::Function> kSteps[] = {
    {"lowercase", lowercase},
    {"non_printing", replace_non_printing},
    {"pipes", delete_pipes},
    {"unicode_punctuation", replace_unicode_punctuation},
    {"detruecase", detruecase},
    {"escape", append_escaped},
    {"unescape", append_unescaped},
    {"spaces", clean::join_east_asian},
    {"unchanged", [](std::string_view line, std::string& out) { out += line; }},
};

using MakeFix = std::unique_ptr<clean::Fix> (*)(const std::string& language);
constexpr std::pair<std::string_view, MakeFix> kFixes[] = {
    {"mojibake", clean::mojibake_fix},
    {"control", [](const std::string&) { return clean::control_fix(); }},
    {"soft_hyphens", [](const std::string&) { return clean::soft_hyphens_fix(); }},
    {"bidi_marks", [](const std::string&) { return clean::bidi_marks_fix(); }},
    {"nfc", [](const std::string&) { return clean::nfc_fix(); }},
    {"whitespace", [](const std::string&) { return clean::whitespace_fix(false); }},
    {"whitespace_keep_no_break", [](const std::string&) { return clean::whitespace_fix(true); }},
    {"ligatures", [](const std::string&) { return clean::ligatures_fix(); }},
    {"width", [](const std::string&) { return clean::width_fix(); }},
    {"wiki", [](const std::string&) { return clean::wiki_fix(); }},
    {"punctuation_moses",
     [](const std::string& language) { return clean::punctuation_fix(clean::Punctuation::kMoses, language); }},
    {"punctuation_sacremoses",
     [](const std::string& language) { return clean::punctuation_fix(clean::Punctuation::kSacremoses, language); }},
};

}  // namespace

std::unique_ptr<Step> simple_step(const std::string& name, const std::string& language) {
    for (const auto& [known, function] : kSteps)
        if (known == name) return std::make_unique<FunctionStep>(function);
    for (const auto& [known, make] : kFixes)
        if (known == name) return make(language);
    return nullptr;
}

}  // namespace nmt_prep::moses
