// Decodes ids by the rules of upstream's decode: tokens end at underscores, escapes are undone within a token even
// across pieces, and a space separates two tokens that both begin with an alphanumeric character.
#include "t2t/model.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace nmt_prep::t2t {
namespace {

constexpr char32_t kUndefined = 0x3013;   // upstream's replacement for invalid characters
constexpr std::size_t kMaxDigits = 4300;  // Python's limit for parsing integers
constexpr char32_t kMaxPoint = 0x10FFFF;

// Parses the digits of a code point; kUndefined if Python's chr(int(digits)) fails.
char32_t read_point(std::string_view digits) {
    if (digits.size() > kMaxDigits) return kUndefined;
    char32_t point = 0;
    for (const char digit : digits) {
        point = point * 10 + static_cast<char32_t>(digit - '0');
        if (point > kMaxPoint) return kUndefined;
    }
    return point;
}

// Appends a token with its escapes undone; a backslash that begins no escape is kept.
void append_unescaped(std::string_view token, std::string& text) {
    std::size_t at = 0;
    while (at < token.size()) {
        const std::size_t slash = token.find('\\', at);
        text.append(token, at, slash - at);
        if (slash == std::string_view::npos) return;
        at = slash + 1;
        const char kind = at < token.size() ? token[at] : '\0';
        if (kind == 'u' || kind == '\\') {
            text.push_back(kind == 'u' ? '_' : '\\');
            ++at;
            continue;
        }
        const std::size_t end = token.find_first_not_of("0123456789", at);
        if (end == std::string_view::npos || end == at || token[end] != ';') {
            text.push_back('\\');
            continue;
        }
        append_utf8(text, read_point(token.substr(at, end - at)));
        at = end + 1;
    }
}

}  // namespace

void Model::decode_row(const std::int32_t* ids, std::size_t size, std::string& text) const {
    std::string row;
    for (std::size_t i = 0; i < size; ++i)
        if (ids[i] >= 0 && static_cast<std::size_t>(ids[i]) < pieces_.size())
            row += pieces_[static_cast<std::size_t>(ids[i])];
    bool after_alphanumeric = false;
    for (std::size_t at = 0; at < row.size();) {
        const std::size_t end = std::min(row.find('_', at), row.size());
        if (end != at) {
            const std::size_t start = text.size();
            append_unescaped(std::string_view(row).substr(at, end - at), text);
            const auto* first = reinterpret_cast<const std::uint8_t*>(text.data()) + start;
            const bool alphanumeric = is_alphanumeric(next_utf8(first));
            if (alphanumeric && after_alphanumeric) text.insert(start, 1, ' ');
            after_alphanumeric = alphanumeric;
        }
        at = end + 1;
    }
}

Texts Model::decode(const std::int32_t* values, const std::int64_t* offsets, std::size_t rows, std::size_t threads,
                    const Poll& poll) const {
    return decode_rows(
        values, offsets, rows, threads,
        [this](const std::int32_t* ids, std::size_t size, std::string& text) { decode_row(ids, size, text); }, poll);
}

}  // namespace nmt_prep::t2t
