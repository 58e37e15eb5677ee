#include "bpe/tokens.h"

#include <algorithm>
#include <bit>

#include "text/utf8.h"

namespace nmt_prep::bpe {

void TokenTable::make_room(std::size_t tokens) {
    const unsigned bits = std::max<unsigned>(std::bit_width(tokens + tokens / 2), 6);
    shift_ = 64 - bits;
    slots_.resize(std::size_t{1} << bits);
    hints_.assign((slots_.size() << kHintShift) / 32, 0);
}

void TokenTable::add(const std::string& token, std::int32_t symbol) {
    const auto* const start = reinterpret_cast<const std::uint8_t*>(token.data());
    const std::uint8_t* const end = start + token.size();
    if (token.size() < 2 || find_invalid_utf8(start, token.size()) != token.size()) return;
    const Character first = read_character(start);
    if (first.size == token.size()) return;
    beginnings_[first.point] = 1;
    Key key = extend(0, first);
    for (const std::uint8_t* at = start + first.size; at != end;) {
        add_hint(key, kLonger);
        const Character character = read_character(at);
        key = extend(key, character);
        at += character.size;
    }
    add_hint(key, kToken);
    std::size_t at = place(key);
    while (slots_[at].symbol >= 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, symbol, static_cast<std::uint32_t>(bytes_.size())};
    if (key < kMixed) return;
    const auto size = static_cast<std::uint32_t>(token.size());
    const auto* const size_bytes = reinterpret_cast<const std::uint8_t*>(&size);
    bytes_.insert(bytes_.end(), size_bytes, size_bytes + sizeof size);
    bytes_.insert(bytes_.end(), start, end);
}

void TokenTable::add_hint(Key key, std::uint64_t bits) {
    const std::size_t at = hint_place(key);
    hints_[at / 32] |= bits << (2 * (at % 32));
}

}  // namespace nmt_prep::bpe
