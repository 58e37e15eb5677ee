#include "sentencepiece/normalizer.h"

#include <bit>
#include <cstring>

#include "text/byte_words.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr char32_t kEscapedSpacePoint = 0x2581;
constexpr std::size_t kMaxVerbatimAtOnce = 64;  // the library's limit of matches at one position

const std::uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

// Returns the UTF-8 bytes of a basic-plane code point, the first one lowest; the highest byte is their number.
std::uint32_t packed_utf8(char32_t point) {
    std::uint8_t bytes[4] = {};
    const auto size = static_cast<std::uint32_t>(write_utf8(bytes, point));
    return size << 24 | std::uint32_t{bytes[2]} << 16 | std::uint32_t{bytes[1]} << 8 | bytes[0];
}

Trie trie_of(const std::vector<Utf8Text>& texts) {
    std::vector<std::pair<std::string, std::int32_t>> entries;
    entries.reserve(texts.size());
    for (const Utf8Text& text : texts) entries.emplace_back(*text, 0);
    return byte_trie(entries);
}

}  // namespace

std::optional<std::string> spelled(std::string_view text, bool spaces_escaped) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        if (spaces_escaped && text.compare(at, kEscapedSpace.size(), kEscapedSpace) == 0) {
            out.push_back(' ');
            at += kEscapedSpace.size();
            continue;
        }
        if (spaces_escaped && text[at] == ' ') return std::nullopt;
        out.push_back(text[at++]);
    }
    return out;
}

std::vector<Utf8Text> verbatim_texts(const ModelFile& file) {
    std::vector<Utf8Text> texts;
    for (const Piece& piece : file.pieces)
        if (piece.type == PieceType::kUserDefined) texts.push_back(piece.text);
    return texts;
}

Normalizer::Normalizer(const NormalizerSpec& spec, bool whitespace_is_suffix, const std::vector<Utf8Text>& verbatim)
    : spec_(spec),
      suffix_(whitespace_is_suffix),
      rules_(spec.charsmap),
      verbatim_(trie_of(verbatim)),
      flags_(kBasicEnd, 0) {
    spec_.charsmap.clear();
    for (const Utf8Text& text : verbatim) {
        const std::uint8_t* at = bytes_of(*text);
        const char32_t first = next_utf8(at);
        if (first < kBasicEnd) flags_[first] |= kRuled;
        std::size_t nested = 0;
        Trie::Node node = verbatim_.root();
        for (const char byte : *text) {
            node = verbatim_.step(node, static_cast<std::uint8_t>(byte));
            nested += Trie::value(node) >= 0;
        }
        if (nested > kMaxVerbatimAtOnce) throw NotCovered("a user-defined symbol begins with 64 others or more");
    }
    if (spec_.escape_whitespaces) flags_[kEscapedSpacePoint] |= kSpecial;
    read_rules();
}

void Normalizer::read_rules() {
    const CharsMap::Beginnings rules = rules_.beginnings();
    for (const auto& [point, is_rule, begins_longer] : rules.first)
        if (point < kBasicEnd) flags_[point] |= (is_rule ? kRuled : 0) | (begins_longer ? kBeginsRule : 0);
    for (const char32_t point : rules.second)
        if (point < kBasicEnd) flags_[point] |= kSecond;
    copies_.resize(kBasicEnd);
    for (char32_t point = 0; point < kBasicEnd; ++point) copies_[point] = copy_of(point);
    bool second_ascii = false;
    for (std::uint8_t byte = 0; byte < 0x80; ++byte) second_ascii |= (flags_[byte] & kSecond) != 0;
    const std::uint8_t changed = kRuled | kSpecial | (second_ascii ? kBeginsRule : 0);
    plain_ascii_ = !(flags_[' '] & (kRuled | kSpecial | kBeginsRule));
    for (std::uint8_t byte = '!'; byte < 0x7F; ++byte) plain_ascii_ &= !(flags_[byte] & changed);
}

// Returns the entry of a character in the table of copies. A character is copied if no rule applies to it, or if its
// replacement has no more bytes and no space, such as a lower-case letter.
std::uint32_t Normalizer::copy_of(char32_t point) const {
    const std::uint8_t own = flags_[point];
    const std::uint32_t flags = (own & kBeginsRule ? kCopyBeginsRule : 0u) | (own & kSecond ? kCopySecond : 0u);
    if (own & kSpecial || (point >= 0xD800 && point < 0xE000)) return flags | kSlow;
    if (!(own & kRuled)) return flags | packed_utf8(point);
    std::string character;
    append_utf8(character, point);
    const std::uint8_t *const text = bytes_of(character), *const end = text + character.size();
    Trie::Node verbatim = verbatim_.empty() ? Trie::kNowhere : verbatim_.root();
    for (const std::uint8_t* at = text; at != end && verbatim != Trie::kNowhere; ++at)
        verbatim = verbatim_.step(verbatim, *at);
    std::string_view part;
    const std::size_t used = rules_.match(text, character.size(), part);
    const bool is_short = !part.empty() && part.size() <= character.size() && used == character.size();
    if (verbatim != Trie::kNowhere || !is_short || part.find(' ') != part.npos || part == kEscapedSpace)
        return flags | kSlow;
    std::uint32_t copy = flags | static_cast<std::uint32_t>(part.size()) << 24;
    for (std::size_t i = 0; i < part.size(); ++i) copy |= std::uint32_t{static_cast<std::uint8_t>(part[i])} << (8 * i);
    return copy;
}

// True if a character remains unchanged, given what follows.
bool Normalizer::is_plain(char32_t point, const std::uint8_t* next, const std::uint8_t* end) const {
    const std::uint8_t own = flags(point);
    if (own & (kRuled | kSpecial)) return false;
    if (!(own & kBeginsRule) || next == end) return true;
    return !(flags(next_utf8(next)) & kSecond);
}

// Copies ASCII without control characters, up to a space that must be dropped or another character, and returns the
// number of bytes. Leaves the last byte before another character. May write eight extra bytes.
std::size_t Normalizer::copy_ascii(const std::uint8_t* text, const std::uint8_t* end, bool& after_space,
                                   std::uint8_t* out) const {
    constexpr std::uint64_t kHigh = eight_times(0x80);
    const std::uint8_t* at = text;
    const std::uint64_t collapsed = spec_.remove_extra_whitespaces ? kHigh : 0;
    std::uint64_t space_before = after_space ? 0x80 : 0;
    while (end - at > 8) {
        // The high bit of each byte is the answer for that byte; bits above a byte that is not ASCII are undefined.
        const std::uint64_t bytes = read_word(at);
        const std::uint64_t spaces = ~((bytes ^ eight_times(0x20)) + eight_times(0x7F)) & kHigh;
        const std::uint64_t controls = (~(bytes + eight_times(0x60)) | (bytes + eight_times(1))) & kHigh;
        const std::uint64_t doubled = spaces & (spaces << 8 | space_before) & collapsed;
        const std::uint64_t others = (bytes & kHigh) | controls | doubled;
        std::memcpy(out, at, sizeof bytes);
        if (others == 0 && at[8] < 0x80) {
            at += 8;
            out += 8;
            space_before = spaces >> 56;
            continue;
        }
        const std::size_t plain = others == 0 ? 7 : static_cast<std::size_t>(std::countr_zero(others)) / 8;
        const std::size_t taken = plain == 0 || others == 0 ? plain : plain - 1;
        if (taken != 0) space_before = spaces >> (8 * (taken - 1)) & 0x80;
        at += taken;
        break;
    }
    if (at != text) after_space = collapsed != 0 && space_before != 0;
    return static_cast<std::size_t>(at - text);
}

// Copies consecutive characters of up to three bytes that are unchanged, or replaced by no more, and returns the end of
// the output. The next character decides whether the last one is unchanged. Stops before ASCII that copy_ascii copies.
// May write three extra bytes.
std::uint8_t* Normalizer::copy_basic(const std::uint8_t*& text, const std::uint8_t* end, bool& after_space,
                                     std::uint8_t* out) const {
    const std::uint8_t *at = text, *last = text;  // the last one is the last character's place
    std::uint32_t before = 0;
    bool space_before_last = after_space;
    while (end - at >= 4) {
        std::uint32_t bytes;
        std::memcpy(&bytes, at, sizeof bytes);
        std::uint32_t point;
        std::size_t size;
        if ((bytes & 0x80) == 0) {
            if (plain_ascii_ && at - last <= 1) break;
            point = bytes & 0x7F;
            size = 1;
        } else if ((bytes & 0xE0) == 0xC0) {
            point = (bytes & 0x1F) << 6 | (bytes & 0x3F00) >> 8;
            size = 2;
        } else if ((bytes & 0xF0) == 0xE0) {
            point = (bytes & 0x0F) << 12 | (bytes & 0x3F00) >> 2 | (bytes & 0x3F0000) >> 16;
            size = 3;
        } else {
            break;
        }
        const std::uint32_t copy = copies_[point];
        if ((copy & kSlow) | (before >> 1 & copy & kCopySecond)) break;
        if (point == ' ' && after_space) {
            last = at++;
            before = 0;
            continue;
        }
        std::memcpy(out, &copy, sizeof copy);
        out += copy_size(copy);
        last = at;
        at += size;
        before = copy;
        space_before_last = after_space;
        after_space = point == ' ' && spec_.remove_extra_whitespaces;
    }
    if (before & kCopyBeginsRule) {
        at = last;
        out -= copy_size(before);
        after_space = space_before_last;
    }
    text = at;
    return out;
}

// The prefix of the text that is replaced, and its replacement.
std::size_t Normalizer::prefix(const std::uint8_t* text, std::size_t size, std::string_view& replacement) const {
    std::size_t longest = 0;
    if (!verbatim_.empty()) {
        Trie::Node node = verbatim_.root();
        for (std::size_t i = 0; i < size; ++i) {
            if (text[i] == 0) break;
            node = verbatim_.step(node, text[i]);
            if (node == Trie::kNowhere) break;
            if (Trie::value(node) >= 0) longest = i + 1;
        }
    }
    if (longest == 0) {
        longest = rules_.match(text, size, replacement);
        if (longest != 0) return longest;
        longest = character_size(text[0]);
    }
    replacement = std::string_view(reinterpret_cast<const char*>(text), longest);
    return longest;
}

// Writes a part; collapses repeated spaces if the model does. Needs as much room as the part.
std::uint8_t* Normalizer::append(std::string_view part, bool& after_space, std::uint8_t* out) const {
    while (after_space && part.starts_with(' ')) part.remove_prefix(1);
    if (part.empty()) return out;
    after_space = spec_.remove_extra_whitespaces && part.back() == ' ';
    for (std::size_t at = 0; at < part.size(); ++at) {
        if (spec_.escape_whitespaces && part.compare(at, kEscapedSpace.size(), kEscapedSpace) == 0) {
            *out++ = ' ';
            at += kEscapedSpace.size() - 1;
        } else {
            *out++ = static_cast<std::uint8_t>(part[at]);
        }
    }
    return out;
}

const std::uint8_t* Normalizer::skip_first_spaces(const std::uint8_t* text, const std::uint8_t* end) const {
    if (!spec_.remove_extra_whitespaces) return text;
    std::string_view part;
    while (text != end) {
        const std::size_t used = prefix(text, static_cast<std::size_t>(end - text), part);
        if (part != " ") break;
        text += used;
    }
    return text;
}

Normalizer::Character Normalizer::character(char32_t point) const {
    const std::uint8_t own = flags_[point];
    Character found{std::nullopt, (own & kBeginsRule) != 0, (own & kSecond) != 0};
    if (!(own & (kRuled | kSpecial))) {
        found.becomes = point;
    } else if (const std::uint32_t copy = copies_[point]; !(copy & kSlow)) {
        std::array<std::uint8_t, 4> text{};
        for (std::size_t i = 0; i < 3; ++i) text[i] = static_cast<std::uint8_t>(copy >> (8 * i));
        if (character_size(text[0]) == copy_size(copy)) {
            const std::uint8_t* at = text.data();
            found.becomes = next_utf8(at);
        }
    }
    return found;
}

std::string_view Normalizer::next(const std::uint8_t*& at, const std::uint8_t* end, bool& after_space,
                                  std::vector<std::uint8_t>& buffer) const {
    const std::uint8_t* next = at;
    const char32_t point = next_utf8(next);
    std::string_view part(reinterpret_cast<const char*>(at), static_cast<std::size_t>(next - at));
    if (!is_plain(point, next, end)) next = at + prefix(at, static_cast<std::size_t>(end - at), part);
    at = next;
    buffer.resize(part.size());
    const std::uint8_t* const written = append(part, after_space, buffer.data());
    return {reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(written - buffer.data())};
}

std::size_t Normalizer::normalize(const std::uint8_t* text, std::size_t size, std::vector<std::uint8_t>& buffer,
                                  std::size_t from) const {
    const std::uint8_t* const end = text + size;
    const std::uint8_t* at = skip_first_spaces(text, end);
    if (at == end) return from;
    std::string_view part;
    std::size_t room = from + static_cast<std::size_t>(end - at) + 2 + kPadding;
    if (room > buffer.size()) buffer.resize(2 * room);
    std::uint8_t* out = buffer.data() + from;
    if (begins_with_space()) *out++ = ' ';
    bool after_space = spec_.remove_extra_whitespaces;
    while (at != end) {
        if (plain_ascii_) {
            const std::size_t copied = copy_ascii(at, end, after_space, out);
            at += copied;
            out += copied;
        }
        if (at == end) break;
        if (!plain_ascii_ || *at >= 0x80) {
            out = copy_basic(at, end, after_space, out);
            if (at == end) break;
        }
        const std::uint8_t* next = at;
        const char32_t point = next_utf8(next);
        if (is_plain(point, next, end)) {
            if (point == ' ') {
                if (!after_space) *out++ = ' ';
                after_space = spec_.remove_extra_whitespaces;
                at = next;
            } else {
                after_space = false;
                do *out++ = *at++;
                while (at != next);
            }
            continue;
        }
        at += prefix(at, static_cast<std::size_t>(end - at), part);
        // The rest of the text needs at least its current size, plus two spaces.
        const auto written = static_cast<std::size_t>(out - buffer.data());
        room = written + part.size() + static_cast<std::size_t>(end - at) + 2 + kPadding;
        if (room > buffer.size()) {
            buffer.resize(2 * room);
            out = buffer.data() + written;
        }
        out = append(part, after_space, out);
    }
    if (spec_.remove_extra_whitespaces) {
        while (out != buffer.data() + from && out[-1] == ' ') --out;
    }
    if (ends_with_space()) *out++ = ' ';
    return static_cast<std::size_t>(out - buffer.data());
}

}  // namespace nmt_prep::sentencepiece
