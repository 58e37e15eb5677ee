#include "spm_normalizer.h"


#include "utf8.h"

namespace nmt_prep::spm {
namespace {

constexpr char32_t kEscapedSpacePoint = 0x2581;
constexpr std::size_t kMaxVerbatimAtOnce = 64;  // the library looks at no more user-defined symbols at one place

const std::uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

std::size_t character_size(std::uint8_t lead) { return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

Trie trie_of(const std::vector<std::string>& texts) {
    std::vector<std::pair<std::string, std::int32_t>> entries;
    for (const std::string& text : texts) entries.emplace_back(text, 0);
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

Normalizer::Normalizer(const NormalizerSpec& spec, bool whitespace_is_suffix, const std::vector<std::string>& verbatim)
    : spec_(spec),
      suffix_(whitespace_is_suffix),
      rules_(spec.charsmap),
      verbatim_(trie_of(verbatim)),
      flags_(kBasicEnd, 0) {
    spec_.charsmap.clear();
    for (const std::string& text : verbatim) {
        const std::uint8_t* at = bytes_of(text);
        const char32_t first = next_utf8(at);
        if (first < kBasicEnd) flags_[first] |= kRuled;
        std::size_t nested = 0;
        std::uint32_t node = Trie::kRoot;
        for (const char byte : text) {
            node = verbatim_.step(node, static_cast<std::uint8_t>(byte));
            nested += verbatim_.value(node) >= 0;
        }
        if (nested > kMaxVerbatimAtOnce) throw NotCovered("a user-defined symbol begins with 64 others or more");
    }
    if (spec_.escape_whitespaces) flags_[kEscapedSpacePoint] |= kSpecial;
    read_rules();
}

void Normalizer::read_rules() {
    for (const std::string& rule : rules_.rules()) {
        const std::uint8_t* at = bytes_of(rule);
        const std::uint8_t* const end = at + rule.size();
        const char32_t first = next_utf8(at);
        if (first < kBasicEnd) flags_[first] |= at == end ? kRuled : kBeginsRule;
        if (at == end) continue;
        const char32_t second = next_utf8(at);
        if (second < kBasicEnd) flags_[second] |= kSecond;
    }
    std::uint8_t second_ascii = 0;
    for (std::uint8_t byte = 0; byte < 0x80; ++byte) second_ascii |= flags_[byte] & kSecond;
    for (std::uint8_t byte = 0; byte < 0x80; ++byte)
        copied_before_ascii_[byte] =
            byte != ' ' && !(flags_[byte] & (kRuled | kSpecial)) && !(second_ascii != 0 && flags_[byte] & kBeginsRule);
}

// Whether a character stays as it is, seen with what comes next.
bool Normalizer::is_plain(char32_t point, const std::uint8_t* next, const std::uint8_t* end) const {
    const std::uint8_t own = flags(point);
    if (own & (kRuled | kSpecial)) return false;
    if (!(own & kBeginsRule) || next == end) return true;
    return !(flags(next_utf8(next)) & kSecond);
}

// What the text begins with, and what stands for it.
std::size_t Normalizer::prefix(const std::uint8_t* text, std::size_t size, std::string_view& replacement) const {
    std::size_t longest = 0;
    if (!verbatim_.empty()) {
        std::uint32_t node = Trie::kRoot;
        for (std::size_t i = 0; i < size; ++i) {
            if (text[i] == 0 || (node = verbatim_.step(node, text[i])) == Trie::kNowhere) break;
            if (verbatim_.value(node) >= 0) longest = i + 1;
        }
    }
    if (longest == 0 && (longest = rules_.match(text, size, replacement)) != 0) return longest;
    if (longest == 0) longest = character_size(text[0]);
    replacement = std::string_view(reinterpret_cast<const char*>(text), longest);
    return longest;
}

// Writes a part without the spaces that follow a space, where these are collapsed. Needs as much room as the part.
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

std::size_t Normalizer::normalize(const std::uint8_t* text, std::size_t size, std::vector<std::uint8_t>& buffer) const {
    const std::uint8_t* at = text;
    const std::uint8_t* const end = text + size;
    std::string_view part;
    if (spec_.remove_extra_whitespaces) {
        while (at != end) {
            const std::size_t used = prefix(at, static_cast<std::size_t>(end - at), part);
            if (part != " ") break;
            at += used;
        }
    }
    if (at == end) return 0;
    std::size_t room = static_cast<std::size_t>(end - at) + 2;
    if (room > buffer.size()) buffer.resize(2 * room);
    std::uint8_t* out = buffer.data();
    if (!suffix_ && spec_.add_dummy_prefix) *out++ = ' ';
    bool after_space = spec_.remove_extra_whitespaces;
    while (at != end) {
        if (copied_before_ascii_[*at]) {
            const std::uint8_t* const start = at;
            while (end - at > 1 && copied_before_ascii_[at[0]] && at[1] < 0x80) *out++ = *at++;
            after_space &= at == start;
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
        // The rest of the text takes at least as much room as it has now, and two spaces come on top.
        const auto written = static_cast<std::size_t>(out - buffer.data());
        room = written + part.size() + static_cast<std::size_t>(end - at) + 2;
        if (room > buffer.size()) {
            buffer.resize(2 * room);
            out = buffer.data() + written;
        }
        out = append(part, after_space, out);
    }
    if (spec_.remove_extra_whitespaces) {
        while (out != buffer.data() && out[-1] == ' ') --out;
    }
    if (suffix_ && spec_.add_dummy_prefix) *out++ = ' ';
    return static_cast<std::size_t>(out - buffer.data());
}

}  // namespace nmt_prep::spm
