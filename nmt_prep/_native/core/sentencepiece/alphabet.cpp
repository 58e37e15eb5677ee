#include "sentencepiece/alphabet.h"

#include <algorithm>
#include <utility>

#include "sentencepiece/charsmap.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {

Alphabet::Alphabet(const Vocabulary& vocabulary) : unk_id_(vocabulary.unk_id), trie_(build_trie(vocabulary)) {
    firsts_.push_back({0, unk_id_});
    for (std::uint32_t symbol = 1; symbol <= stranger_; ++symbol) {
        const Trie::Node node = trie_.step(trie_.root(), symbol);
        firsts_.push_back({Trie::base_of(node), Trie::value(node) < 0 ? unk_id_ : Trie::value(node)});
    }
}

// Characters get their symbols in the order of the pieces, which are sorted by frequency.
Trie Alphabet::build_trie(const Vocabulary& vocabulary) {
    if (vocabulary.entries.empty()) throw NotCovered("its pieces never occur in text that it normalises");
    std::vector<Trie::Entry> entries;
    std::int32_t symbols = 0;
    points_.assign(1, 0);
    for (const Vocabulary::Entry& entry : vocabulary.entries) {
        std::u32string spelling;
        const auto* at = reinterpret_cast<const std::uint8_t*>(entry.text.data());
        for (const auto* const end = at + entry.text.size(); at != end;) {
            const char32_t point = next_utf8(at);
            if (symbols_[point] < 0) {
                symbols_.set(point, ++symbols);
                points_.push_back(point);
            }
            spelling.push_back(static_cast<char32_t>(symbols_[point]));
        }
        longest_ = std::max(longest_, static_cast<std::uint32_t>(spelling.size()));
        entries.emplace_back(std::move(spelling), entry.id);
    }
    stranger_ = static_cast<std::uint32_t>(symbols) + 1;
    symbols_.set_others(symbols + 1);
    return {std::move(entries), stranger_};
}

Lattice::Run Alphabet::append(const std::uint8_t* text, std::size_t size, Spelling& spelling) const {
    const std::size_t before = spelling.size;
    spelling.reserve(size);
    std::uint32_t* symbol = spelling.symbols.data() + before;
    std::uint32_t* bound = spelling.bounds.data() + before;
    const std::uint8_t* at = text;
    for (const std::uint8_t* const end = text + size; at != end;) {
        *bound++ = static_cast<std::uint32_t>(at - text);
        *symbol++ = symbol_of(next_utf8(at));
    }
    *bound = static_cast<std::uint32_t>(size);
    *symbol++ = stranger_;
    spelling.size = static_cast<std::size_t>(symbol - spelling.symbols.data());
    return {static_cast<std::uint32_t>(before), static_cast<std::uint32_t>(spelling.size - 1)};
}

std::string Alphabet::text_of(const std::uint32_t* symbols, std::size_t size) const {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) append_utf8(text, points_[symbols[i]]);
    return text;
}

}  // namespace nmt_prep::sentencepiece
