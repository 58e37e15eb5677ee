#include "moses/detokenizer.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "moses/characters.h"
#include "moses/entities.h"
#include "moses/text_map.h"
#include "text/casefold.h"
#include "text/properties.h"

namespace nmt_prep::moses {
namespace {

// Characters that are written without spaces, Korean ones included.
constexpr PointRange kCjk[] = {{0x1100, 0x11FF}, {0x2E80, 0xA4CF}, {0xA840, 0xA87F}, {0xAC00, 0xD7AF},
                               {0xF900, 0xFAFF}, {0xFE30, 0xFE4F}, {0xFF65, 0xFFDC}, {0x20000, 0x2FFFF}};

bool is_cjk(char32_t point) {
    return point >= 0x1100 && std::ranges::any_of(kCjk, [point](const PointRange& range) {
               return point >= range.first && point <= range.last;
           });
}

template <class Test>
bool all_of(std::string_view text, Test&& test) {
    bool all = !text.empty();
    for_each_point(text, [&](char32_t point, std::string_view) { all = all && test(point); });
    return all;
}
bool begins(std::string_view text, bool (*test)(char32_t)) { return !text.empty() && test(first_point(text)); }
bool ends(std::string_view text, bool (*test)(char32_t)) { return !text.empty() && test(last_point(text)); }

bool is_one_of(char32_t point, std::u32string_view set) { return set.find(point) != std::u32string_view::npos; }
bool opens(char32_t point) { return is_one_of(point, U"([{¿¡") || (character_classes()[point] & kCurrency) != 0; }
bool closes(char32_t point) { return is_one_of(point, U",.?!:;\\%}])"); }
bool quotes(char32_t point) { return is_one_of(point, U"'\"„“`"); }
bool is_ascii_digit(char32_t point) { return point >= '0' && point <= '9'; }

// True if a Finnish word is only a case ending, which may begin in upper case.
bool is_finnish_ending(std::string_view word) {
    constexpr std::string_view kCases[] = {"n",   "a",   "ä",   "ssa", "ssä", "sta", "stä", "hun", "hyn",
                                           "han", "hän", "hön", "un",  "yn",  "an",  "än",  "ön",  "seen",
                                           "lla", "llä", "lta", "ltä", "lle", "ksi", "kse", "tta", "ine"};
    constexpr std::string_view kOwners[] = {"", "ni", "si", "mme", "nne", "nsa"};
    constexpr std::string_view kParticles[] = {"", "ko", "kö", "han", "hän", "pa", "pä", "kaan", "kään", "kin"};
    if (word.size() > 24) return false;
    // Only the first letter may be in upper case.
    const std::size_t first = word.empty() ? 0 : character_size(static_cast<std::uint8_t>(word[0]));
    const std::string lower = lowered(word.substr(0, first)) + std::string(word.substr(first));
    for (const std::string_view each : kCases)
        for (const std::string_view owner : kOwners)
            for (const std::string_view particle : kParticles)
                if (lower.size() == each.size() + owner.size() + particle.size() && lower.starts_with(each) &&
                    std::string_view(lower).substr(each.size()).starts_with(owner) && lower.ends_with(particle))
                    return true;
    return false;
}

// Returns the words of a line between single spaces; the first stands for the beginning and is empty.
std::vector<std::string_view> split_words(std::string_view text) {
    std::vector<std::string_view> words;
    text.remove_suffix(text.size() - 1 - std::min(text.find_last_not_of(' '), text.size() - 1));
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

std::string without_hyphen_marks(std::string_view line) {
    constexpr std::string_view kMark = " @-@ ";
    std::string padded = " ";
    padded.append(line).append(" ");
    if (padded.find(kMark) == std::string::npos) return padded;
    std::string text;
    std::size_t done = 0;
    for (std::size_t at = padded.find(kMark); at != std::string::npos; at = padded.find(kMark, done)) {
        text.append(padded, done, at - done).append("-");
        done = at + kMark.size();
    }
    return text.append(padded, done);
}

void append_squeezed(std::string_view text, std::string& out) {
    const std::size_t start = out.size();
    for (const char character : text)
        if (character != ' ' || (out.size() != start && out.back() != ' ')) out += character;
    if (out.size() != start && out.back() == ' ') out.pop_back();
}

// Puts the first letter after punctuation and white space in upper case.
void put_in_upper_case(std::string& text, std::size_t start) {
    const auto leads = [](char32_t point) {
        if (point < 0x80) return is_space(point) || (point > ' ' && point < 0x7F && !is_alnum(point));
        const bool known = (character_classes()[point] & kControl) == 0;
        return is_space(point) || (known && Properties::of(point).punctuation());
    };
    std::size_t at = start;
    while (at < text.size() && leads(first_point(std::string_view(text).substr(at))))
        at += character_size(static_cast<std::uint8_t>(text[at]));
    if (at == text.size()) return;
    const char32_t point = first_point(std::string_view(text).substr(at));
    if (!is_alpha(point)) return;
    std::string letter;
    upper(point, [&letter](char32_t to) { append_utf8(letter, to); });
    text.replace(at, character_size(static_cast<std::uint8_t>(text[at])), letter);
}

}  // namespace

// Joins the words of a line.
class Detokenizer::Writer {
   public:
    Writer(const std::string& language, std::vector<std::string_view> words)
        : language_(language), words_(std::move(words)) {}

    std::string write() {
        for (; number_ < words_.size(); ++number_) write_word();
        return std::move(text_);
    }

   private:
    enum class Space : std::uint8_t { kBoth, kAfter, kBefore };  // where a word has spaces

    void write_word() {
        const std::string_view word = words_[number_], last = at(-1);
        const Space space = space_of(word, last);
        if (space == Space::kBefore || space == Space::kBoth) text_ += glued_ ? "" : " ";
        if (spaced_) text_ += ' ';
        spaced_ = false;
        if (lower_)
            append_lower(text_, word);
        else
            text_ += word;
        lower_ = false;
        glued_ = space == Space::kBefore;
        if (joins_li_) {
            text_ += words_[++number_];
            joins_li_ = false;
        }
    }

    // The word at a distance, empty beyond the line.
    std::string_view at(std::ptrdiff_t distance) const {
        const std::size_t wanted = number_ + static_cast<std::size_t>(distance);  // beyond all words if it is negative
        return wanted < words_.size() ? words_[wanted] : std::string_view();
    }

    Space space_of(std::string_view word, std::string_view last) {
        if (word.empty()) return Space::kBoth;
        if (begins(word, is_cjk)) return language_ != "ko" && ends(last, is_cjk) ? Space::kAfter : Space::kBoth;
        if (all_of(word, opens)) return Space::kBefore;
        if (all_of(word, closes)) {
            spaced_ = language_ == "fr" && word.size() == 1 &&
                      std::string_view("?!:;\\%").find(word[0]) != std::string_view::npos;
            return Space::kAfter;
        }
        if (language_ == "en" && word[0] == '\'' && begins(word.substr(1), is_alpha) && ends(last, is_alnum))
            return Space::kAfter;
        if (language_ == "cs" && is_czech_fraction(word, last)) return Space::kAfter;
        if ((language_ == "fr" || language_ == "it") && is_elision(word)) return Space::kBefore;
        if (language_ == "cs" && precedes_li(word)) {
            joins_li_ = true;
            return Space::kBefore;
        }
        if (all_of(word, quotes)) return space_of_quote(word, last);
        lower_ = language_ == "fi" && last.ends_with(':') && is_finnish_ending(word);
        return lower_ ? Space::kAfter : Space::kBoth;
    }

    bool is_czech_fraction(std::string_view word, std::string_view last) const {
        return (last == "." || last == ",") && all_of(word, is_ascii_digit) && all_of(at(-2), is_ascii_digit);
    }

    bool is_elision(std::string_view word) const {
        return word.back() == '\'' && ends(word.substr(0, word.size() - 1), is_alpha) && begins(at(1), is_alpha);
    }

    bool precedes_li(std::string_view word) const {
        if (number_ + 3 >= words_.size() || (at(1) != "-" && at(1) != "–") || !ends(word, is_alpha)) return false;
        const std::string later = lowered(at(2).substr(0, 8));
        return lowered(at(2)) == "li" || later.starts_with("mail");
    }

    // Quotes open and close in turn; strings of „ and “ are counted together.
    Space space_of_quote(std::string_view word, std::string_view last) {
        const bool double_quote = all_of(word, [](char32_t point) { return point == U'„' || point == U'“'; });
        auto& open = open_.try_emplace(std::string(double_quote ? "\"" : word), false).first->second;
        if (language_ == "cs" && word == "„") open = false;
        if (language_ == "cs" && word == "“") open = true;
        if (!open && language_ == "en" && word == "'" && last.ends_with('s')) return Space::kAfter;
        open = !open;
        return open ? Space::kBefore : Space::kAfter;
    }

    const std::string& language_;
    std::vector<std::string_view> words_;
    std::size_t number_ = 0;
    std::string text_;
    bool glued_ = false;     // the next word follows without a space
    bool spaced_ = false;    // this word gets a plain space
    bool lower_ = false;     // this word is put in lower case
    bool joins_li_ = false;  // the hyphen after this word follows without a space
    TextMap<bool> open_;     // by quote: whether it is open
};

Detokenizer::Detokenizer(std::string language, bool upper) : language_(std::move(language)), upper_(upper) {}

void Detokenizer::apply(std::string_view line, std::string& out) const {
    if (is_blank(line) || is_tag(line)) {
        out += line;
        return;
    }
    std::string text;
    append_unescaped(without_hyphen_marks(line), text);
    const std::size_t start = out.size();
    append_squeezed(Writer(language_, split_words(text)).write(), out);
    if (upper_) put_in_upper_case(out, start);
}

}  // namespace nmt_prep::moses
