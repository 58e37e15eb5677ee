// The characters of a vocabulary as numbers, and its pieces as a trie over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sentencepiece/lattice.h"
#include "sentencepiece/trie.h"
#include "sentencepiece/vocabulary.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {

// Texts as the symbols of their characters; each text is followed by a symbol that matches nothing.
struct Spelling {
    std::size_t size = 0;
    std::vector<std::uint32_t> symbols;
    std::vector<std::uint32_t> bounds;  // offset of each character in its text; after each text, its end

    // Makes room for `characters` characters and the symbol after them, and for the places behind them that vector
    // code reads and writes.
    void reserve(std::size_t characters) {
        if (symbols.size() > size + characters + Lattice::kSlack) return;
        symbols.resize(2 * (size + characters + 1) + Lattice::kSlack);
        bounds.resize(symbols.size());
    }
};

// Runs of text that are encoded together: they are added, their pieces are found, then they are encoded in this order.
struct Runs {
    Spelling spelling;
    Lattice lattice;
};

class Alphabet {
   public:
    // Throws NotCovered for a vocabulary without pieces, or with too many.
    explicit Alphabet(const Vocabulary& vocabulary);

    // The symbols of characters. Characters that occur in pieces have symbols from 1 on; all others share the last
    // symbol.
    std::uint32_t symbol_of(char32_t point) const { return static_cast<std::uint32_t>(symbols_[point]); }
    std::uint32_t stranger() const { return stranger_; }
    char32_t point_of(std::uint32_t symbol) const { return points_[symbol]; }

    // The piece of a character, or the unknown piece.
    std::int32_t piece_of(std::uint32_t symbol) const { return firsts_[symbol].id; }
    bool is_piece(std::uint32_t symbol) const { return piece_of(symbol) != unk_id_; }

    const Trie& trie() const { return trie_; }
    std::uint32_t longest() const { return longest_; }  // size of the longest piece in characters

    // Appends a text to a spelling, and returns its place there.
    Lattice::Run append(const std::uint8_t* text, std::size_t size, Spelling& spelling) const;
    // Appends the parts of a text between characters that no piece has: known(run) for each part, strangers(begin,
    // size, count) for the characters between them.
    template <class Known, class Strangers>
    void append_parts(const std::uint8_t* text, std::size_t size, Spelling& spelling, const Known& known,
                      const Strangers& strangers) const;
    // Returns the text of symbols.
    std::string text_of(const std::uint32_t* symbols, std::size_t size) const;

    // Finds all pieces in a spelling that is not empty.
    void find_pieces(const Spelling& spelling, Lattice& lattice) const {
        lattice.find_pieces(trie_, firsts_, spelling.symbols.data(), spelling.size);
    }

    // Lists them instead. Requires pieces of up to Lattice::kMaxListed characters.
    void list_pieces(const Spelling& spelling, Lattice& lattice) const {
        lattice.list_pieces(trie_, firsts_, spelling.symbols.data(), spelling.size);
    }

   private:
    Trie build_trie(const Vocabulary& vocabulary);

    CharacterTable symbols_;        // from 1 on, -1 for characters that no piece has
    std::uint32_t stranger_ = 0;    // the symbol of characters that no piece has
    std::vector<char32_t> points_;  // characters by symbol
    std::uint32_t longest_ = 0;
    std::int32_t unk_id_;
    Trie trie_;
    std::vector<Lattice::First> firsts_;  // by symbol
};

template <class Known, class Strangers>
void Alphabet::append_parts(const std::uint8_t* text, std::size_t size, Spelling& spelling, const Known& known,
                            const Strangers& strangers) const {
    spelling.reserve(size);
    const std::uint8_t* const end = text + size;
    for (const std::uint8_t* at = text; at != end;) {
        const std::uint8_t* next = at;
        std::uint32_t* const first = spelling.symbols.data() + spelling.size;
        std::uint32_t* symbol = first;
        for (; at != end; at = next) {
            const std::uint32_t number = symbol_of(next_utf8(next));
            if (number == stranger_) break;
            *symbol++ = number;
        }
        if (symbol != first) {
            *symbol++ = stranger_;
            const auto before = static_cast<std::uint32_t>(spelling.size);
            spelling.size = static_cast<std::size_t>(symbol - spelling.symbols.data());
            known(Lattice::Run{before, static_cast<std::uint32_t>(spelling.size - 1)});
        }
        const std::uint8_t* const strange = at;
        std::size_t count = 0;
        for (; at != end; at = next, ++count) {
            next = at;
            if (symbol_of(next_utf8(next)) != stranger_) break;
        }
        if (count != 0) strangers(strange, static_cast<std::size_t>(at - strange), count);
    }
}

}  // namespace nmt_prep::sentencepiece
