// Steps without options.
#include <algorithm>
#include <array>
#include <utility>

#include "clean/fixes.h"
#include "moses/characters.h"
#include "moses/entities.h"
#include "moses/step.h"
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

class PunctuationStep final : public Step {
   public:
    PunctuationStep(clean::Punctuation like, const std::string& language)
        : fix_(clean::punctuation_fix(like, language)) {}
    void apply(std::string_view line, std::string& out) const override {
        std::string fixed;
        fix_->apply(line, fixed);
        out += fixed;
    }

   private:
    std::unique_ptr<clean::Fix> fix_;
};

constexpr std::pair<std::string_view, FunctionStep::Function> kSteps[] = {
    {"lowercase", lowercase},       {"non_printing", replace_non_printing},
    {"pipes", delete_pipes},        {"unicode_punctuation", replace_unicode_punctuation},
    {"detruecase", detruecase},     {"escape", append_escaped},
    {"unescape", append_unescaped},
};

}  // namespace

std::unique_ptr<Step> simple_step(std::string_view name) {
    for (const auto& [known, function] : kSteps)
        if (known == name) return std::make_unique<FunctionStep>(function);
    return nullptr;
}

std::unique_ptr<Step> punctuation_step(bool moses, const std::string& language) {
    const auto like = moses ? clean::Punctuation::kMoses : clean::Punctuation::kSacremoses;
    return std::make_unique<PunctuationStep>(like, language);
}

}  // namespace nmt_prep::moses
