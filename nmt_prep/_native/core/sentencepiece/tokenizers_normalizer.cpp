#include "sentencepiece/tokenizers_normalizer.h"

#include <algorithm>

#include "sentencepiece/normalizer.h"
#include "text/graphemes.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr std::size_t kMaxReplacedGrapheme = 5;  // bytes; the characters of longer ones are replaced one by one

using Prefix = TokenizersRules::Prefix;

const std::uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

// Unicode's property White_Space.
bool is_white_space(char32_t point) {
    return (point >= 9 && point <= 13) || point == ' ' || point == 0x85 || point == 0xA0 || point == 0x1680 ||
           (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 || point == 0x202F ||
           point == 0x205F || point == 0x3000;
}

std::string_view stripped(std::string_view text, bool left, bool right) {
    while (left && !text.empty()) {
        const std::uint8_t* at = bytes_of(text);
        if (!is_white_space(next_utf8(at))) break;
        text.remove_prefix(static_cast<std::size_t>(at - bytes_of(text)));
    }
    while (right && !text.empty()) {
        std::size_t last = text.size() - 1;
        while ((static_cast<std::uint8_t>(text[last]) & 0xC0) == 0x80) --last;
        const std::uint8_t* at = bytes_of(text) + last;
        if (!is_white_space(next_utf8(at))) break;
        text.remove_suffix(text.size() - last);
    }
    return text;
}

// Copies text forward, with spaces for escaped ones. The two may overlap if `out` is not behind the text.
std::uint8_t* write_spelled(std::string_view text, std::uint8_t* out) {
    for (std::size_t at = 0; at < text.size();) {
        const bool is_space =
            text[at] == kEscapedSpace[0] && text.compare(at, kEscapedSpace.size(), kEscapedSpace) == 0;
        *out++ = is_space ? ' ' : static_cast<std::uint8_t>(text[at]);
        at += is_space ? kEscapedSpace.size() : 1;
    }
    return out;
}

bool begins_with_space(std::string_view text) { return text.starts_with(' ') || text.starts_with(kEscapedSpace); }

}  // namespace

TokenizersNormalizer::TokenizersNormalizer(const TokenizersRules& rules)
    : rules_(rules), charsmap_(rules.charsmap), begins_rule_(kBasicEnd, false) {
    rules_.scores.clear();
    rules_.merges.clear();
    for (const CharsMap::First& first : charsmap_.beginnings().first)
        if (first.point < kBasicEnd) begins_rule_[first.point] = true;
    for (std::uint8_t byte = 0; byte < 0x80; ++byte) copied_before_ascii_[byte] = byte != '\r' && !begins_rule_[byte];
}

// Replaces characters by the rules. A short grapheme is replaced as a whole by the shortest rule that it begins with,
// even if the rule covers only a part of it.
std::size_t TokenizersNormalizer::apply_rules(std::string_view text, std::vector<std::uint8_t>& buffer,
                                              std::size_t from) const {
    const std::uint8_t* at = bytes_of(text);
    const std::uint8_t* const end = at + text.size();
    std::uint8_t* out = buffer.data() + from;
    const auto append = [&](std::string_view part, const std::uint8_t* next) {
        const auto written = static_cast<std::size_t>(out - buffer.data());
        const std::size_t room = written + part.size() + static_cast<std::size_t>(end - next) + Normalizer::kPadding;
        if (room > buffer.size()) {
            buffer.resize(2 * room);
            out = buffer.data() + written;
        }
        out = std::ranges::copy(part, out).out;
    };
    std::string_view replacement;
    while (at != end) {
        while (end - at > 1 && copied_before_ascii_[*at] && at[1] < 0x80) *out++ = *at++;
        const std::uint8_t* const stop = at + grapheme_size(at, end);
        const auto size = static_cast<std::size_t>(stop - at);
        const std::uint8_t* next = at;
        if (size <= kMaxReplacedGrapheme && begins_rule(next_utf8(next)) &&
            charsmap_.match_shortest(at, size, replacement)) {
            append(replacement, stop);
            at = stop;
            continue;
        }
        while (at != stop) {
            next = at;
            const bool may_match = begins_rule(next_utf8(next));
            const auto bytes = static_cast<std::size_t>(next - at);
            if (may_match && charsmap_.match_shortest(at, bytes, replacement))
                append(replacement, next);
            else
                out = std::copy(at, next, out);
            at = next;
        }
    }
    return static_cast<std::size_t>(out - buffer.data());
}

// Writes the words between white space, each with a space before it.
std::uint8_t* TokenizersNormalizer::write_words(std::string_view text, std::uint8_t* out) const {
    const std::uint8_t* at = bytes_of(text);
    const std::uint8_t* const end = at + text.size();
    while (at != end) {
        const std::uint8_t* const begin = at;
        const std::uint8_t* stop = at;
        while (at != end) {
            const char32_t point = next_utf8(at);
            if (is_white_space(point)) break;
            stop = at;
        }
        if (stop == begin) continue;
        const std::string_view word(reinterpret_cast<const char*>(begin), static_cast<std::size_t>(stop - begin));
        if (!word.starts_with(kEscapedSpace)) *out++ = ' ';
        out = write_spelled(word, out);
    }
    return out;
}

std::uint8_t* TokenizersNormalizer::write_text(std::string_view text, bool continued, std::uint8_t* out) const {
    if (text.empty()) return out;
    const bool has_prefix =
        rules_.prefix == Prefix::kAlways || (rules_.prefix == Prefix::kMissing && !begins_with_space(text));
    if (has_prefix && !(continued && rules_.prefix_first_only)) *out++ = ' ';
    if (!rules_.collapse_spaces) return write_spelled(text, out);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t space = std::min(text.find(' ', at), text.size());
        out = write_spelled(text.substr(at, space - at), out);
        if (space != text.size()) *out++ = ' ';
        at = std::min(text.find_first_not_of(' ', space), text.size());
    }
    return out;
}

std::size_t TokenizersNormalizer::normalize(const std::uint8_t* text, std::size_t size, bool continued,
                                            std::vector<std::uint8_t>& buffer, std::size_t from) const {
    std::string_view left =
        stripped({reinterpret_cast<const char*>(text), size}, rules_.strip_left_first, rules_.strip_right_first);
    // Text whose beginning was removed does not begin the line.
    bool strips_left = !left.empty() && left.data() != reinterpret_cast<const char*>(text);
    // A prefix, or the space before a word, takes one byte more than the text that it replaces.
    const std::size_t place = from + 1, room = place + left.size() + Normalizer::kPadding;
    if (room > buffer.size()) buffer.resize(2 * room);
    std::size_t end = place + left.size();
    if (rules_.charsmap.empty())
        std::ranges::copy(left, buffer.begin() + static_cast<std::ptrdiff_t>(place));
    else
        end = apply_rules(left, buffer, place);
    const char* const begin = reinterpret_cast<const char*>(buffer.data()) + place;
    left = stripped({begin, end - place}, rules_.strip_left, rules_.strip_right);
    strips_left |= left.data() != begin;
    std::uint8_t* const out = buffer.data() + from;
    continued |= strips_left;
    const std::uint8_t* const stop =
        rules_.split_white_space ? write_words(left, out) : write_text(left, continued, out);
    return static_cast<std::size_t>(stop - buffer.data());
}

}  // namespace nmt_prep::sentencepiece
