// The tokenizer in passes over the whole line, for lines where tokens depend on more than their neighbors.
#include <algorithm>

#include "moses/characters.h"
#include "moses/entities.h"
#include "moses/tokenizer.h"

namespace nmt_prep::moses {
namespace {

// Stands for each dot of a dot run, which is no dot for the passes; the text itself has no such character then.
constexpr char32_t kRunDot = 1;

Classes classes(char32_t point) { return point == kRunDot ? kAlpha : character_classes()[point]; }
bool alpha(char32_t point) { return (classes(point) & kAlpha) != 0; }
bool alnum(char32_t point) { return (classes(point) & kAlnum) != 0; }
bool number(char32_t point) { return (classes(point) & kNumber) != 0; }

void squeeze(std::u32string& text) {
    std::size_t written = 0;
    for (const char32_t point : text)
        if (point != ' ' || (written != 0 && text[written - 1] != ' ')) text[written++] = point;
    if (written != 0 && text[written - 1] == ' ') --written;
    text.resize(written);
}

// Returns the text without control characters, with one space for each run of white space, and without outer spaces.
std::u32string normalized(std::string_view line) {
    std::u32string text;
    text.reserve(line.size());
    for_each_point(line, [&text](char32_t point, std::string_view) {
        if (is_space(point))
            text += U' ';
        else if (point >= 0x20)
            text += point;
    });
    squeeze(text);
    return text;
}

// Puts spaces around each sign that is not followed by a letter in lower case.
void split_unless_lower_follows(std::u32string& text, std::u32string_view sign) {
    std::u32string split;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t after = at + sign.size();
        if (text.compare(at, sign.size(), sign) != 0) {
            split += text[at++];
            continue;
        }
        const bool kept = after < text.size() && is_lower_letter(text[after]);
        if (!kept) split += U' ';
        split += sign;
        if (!kept) split += U' ';
        at = after;
    }
    text.swap(split);
}

void split_hyphens(std::u32string& text) {
    std::u32string split;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '-' && i != 0 && i + 1 < text.size() && alnum(text[i - 1]) && alnum(text[i + 1]))
            split += U" @-@ ";
        else
            split += text[i];
    text.swap(split);
}

// Makes tokens of dot runs.
void split_runs_of_dots(std::u32string& text) {
    std::u32string split;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t dots = std::min(text.find_first_not_of(U'.', i), text.size()) - i;
        if (dots >= 2)
            split.append(U" ").append(dots, kRunDot).append(U" ");
        else
            split += text[i];
        i += std::max<std::size_t>(dots, 1);
    }
    text.swap(split);
}

// The original's names for dot runs become dots if the text itself has them. Such a name takes a dot that follows.
void replace_names_of_dots(std::u32string& text) {
    constexpr std::u32string_view kMore = U"DOT", kName = U"DOTMULTI";
    std::u32string replaced;
    std::size_t done = 0;
    for (std::size_t at = text.find(kName); at != std::u32string::npos; at = text.find(kName, done)) {
        std::size_t start = at, dots = 1;
        for (; start >= done + kMore.size() && text.compare(start - kMore.size(), kMore.size(), kMore) == 0; ++dots)
            start -= kMore.size();
        replaced.append(text, done, start - done).append(dots, kRunDot);
        done = at + kName.size();
        if (done == text.size() || text[done] != '.') continue;
        replaced.append(1, kRunDot).append(U" ");
        ++done;
    }
    text = replaced.append(text, done);
}

// Puts spaces around a comma and the neighbor on its side, in one pass from the left: the text of a match is not
// matched again.
void split_commas(std::u32string& text) {
    std::u32string split;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (i + 1 < text.size() && text[i + 1] == ',' && !number(text[i])) {
            split.append(1, text[i]).append(U" , ");
            ++i;
        } else {
            split += text[i];
        }
    text.clear();
    for (std::size_t i = 0; i < split.size(); ++i)
        if (split[i] == ',' && i + 1 < split.size() && !number(split[i + 1])) {
            text.append(U" , ").append(1, split[i + 1]);
            ++i;
        } else {
            text += split[i];
        }
    if (text.size() >= 2 && text.back() == ',' && number(text[text.size() - 2])) text.insert(text.size() - 1, 1, U' ');
}

// Replaces each apostrophe between two characters that pass tests, in one pass as above.
template <class Left, class Right>
void replace_apostrophes(std::u32string& text, Left&& left, Right&& right, std::u32string_view replacement) {
    std::u32string split;
    for (std::size_t i = 0; i < text.size();)
        if (i + 2 < text.size() && text[i + 1] == '\'' && left(text[i]) && right(text[i + 2])) {
            split.append(1, text[i]).append(replacement).append(1, text[i + 2]);
            i += 3;
        } else {
            split += text[i++];
        }
    text.swap(split);
}

std::string utf8(std::u32string_view text) {
    std::string out;
    for (const char32_t point : text) append_utf8(out, point);
    return out;
}

}  // namespace

void Tokenizer::split_signs(std::u32string& text) const {
    constexpr std::u32string_view kKept = U" .'`,-";
    std::u32string split;
    for (const char32_t point : text) {
        const bool kept = alnum(point) || kKept.find(point) != std::u32string_view::npos ||
                          (checked_ == ':' && point == ':') || (catalan_ && (point == 0xC2 || point == 0xB7));
        if (!kept) split += U' ';
        split += point;
        if (!kept) split += U' ';
    }
    text.swap(split);
    if (checked_ != 0) split_unless_lower_follows(text, std::u32string_view(&checked_, 1));
    // The original reads the middle dot of its own source as two characters.
    if (catalan_) split_unless_lower_follows(text, U"\u00C2\u00B7");
}

void Tokenizer::split_apostrophes(std::u32string& text) const {
    const auto other = [](char32_t point) { return !alpha(point); };
    const auto second = [&](char32_t point) { return !alpha(point) && !(number_s_ && number(point)); };
    if (apostrophes_ == Apostrophes::kAlone) {
        std::u32string split;
        for (const char32_t point : text)
            if (point == '\'')
                split += U" ' ";
            else
                split += point;
        text.swap(split);
        return;
    }
    replace_apostrophes(text, other, other, U" ' ");
    replace_apostrophes(text, second, alpha, U" ' ");
    replace_apostrophes(text, alpha, other, U" ' ");
    if (apostrophes_ == Apostrophes::kWithNext) replace_apostrophes(text, alpha, alpha, U" '");
    if (apostrophes_ == Apostrophes::kWithPrevious) replace_apostrophes(text, alpha, alpha, U"' ");
    if (number_s_) replace_apostrophes(text, number, [](char32_t point) { return point == 's'; }, U" '");
}

std::u32string Tokenizer::split_last_dots(const std::u32string& text) const {
    std::u32string split;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(U' ', at), text.size());
        const std::size_t next = text.find_first_not_of(U' ', end);
        std::u32string_view word = std::u32string_view(text).substr(at, end - at);
        const bool dot = word.size() >= 2 && word.back() == '.';
        if (dot) word.remove_suffix(1);
        split += word;
        if (dot) {
            std::string run = utf8(word);
            // Two spaces make an empty word, which begins with nothing.
            const char32_t first = next == std::u32string::npos || next != end + 1 ? 0 : text[next];
            split += next != std::u32string::npos && keeps_dot(run, first) ? U"." : U" .";
        }
        split += U' ';
        at = end + 1;
    }
    return split;
}

void Tokenizer::apply_by_passes(std::string_view line, std::string& out) const {
    std::u32string text = normalized(line);
    split_signs(text);
    if (aggressive_) split_hyphens(text);
    split_runs_of_dots(text);
    replace_names_of_dots(text);
    split_commas(text);
    split_apostrophes(text);
    text = split_last_dots(text);
    squeeze(text);
    if (text.ends_with(U".'")) text.replace(text.size() - 2, 2, U" . ' ");
    std::ranges::replace(text, kRunDot, U'.');
    if (escape_)
        append_escaped(utf8(text), out);
    else
        out += utf8(text);
}

}  // namespace nmt_prep::moses
