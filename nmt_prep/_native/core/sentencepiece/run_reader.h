// Normalizes text of scripts without spaces between words and spells it as symbols in one pass. Almost all of its
// characters are made into one symbol each, which a table holds; the normaliser is asked about the others.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sentencepiece/alphabet.h"
#include "sentencepiece/lattice.h"
#include "sentencepiece/normalizer.h"
#include "sentencepiece/vocabulary.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {

class RunReader {
   public:
    // The arguments must outlive the reader, which refers to them.
    RunReader(const Normalizer& normalizer, const Vocabulary& vocabulary, const Joints& joints,
              const Alphabet& alphabet);

    // Reads a line, appends its symbols to a spelling, and hands over its parts in order:
    //   parts.known(run): characters that occur in pieces, as a run of the spelling
    //   parts.character(id): one such character between others, which is a piece
    //   parts.strangers(text, size, count): normalized characters that no piece has
    //   parts.make_room(): before a part; may encode those so far and clear the spelling
    // Requires well-formed UTF-8.
    template <class Parts>
    void read(const std::uint8_t* text, std::size_t size, Spelling& spelling, Parts&& parts) const;

   private:
    // The entry of a character in the table: its symbol and these flags.
    static constexpr std::uint32_t kSlow = std::uint32_t{1} << 31;        // ask the normaliser
    static constexpr std::uint32_t kBeginsRule = std::uint32_t{1} << 30;  // if a kSecond follows, ask the normaliser
    static constexpr std::uint32_t kSecond = std::uint32_t{1} << 29;
    static constexpr std::uint32_t kStranger = std::uint32_t{1} << 28;
    static constexpr std::uint32_t kSymbol = (std::uint32_t{1} << 24) - 1;
    static constexpr char32_t kBasicEnd = 0x10000;
    static constexpr std::size_t kAtOnce = 4096;
    static constexpr std::size_t kLongPart = 512;  // characters; longer parts are cut, where no piece crosses

    // The next characters. One with neither bit is left to the normaliser.
    struct Block {
        static constexpr std::size_t kMost = Lattice::kSlack;

        // Drops the characters after the first `count`.
        void keep(std::size_t count);

        std::size_t size = 0;
        std::uint32_t known = 0, strangers = 0;          // a bit for each character
        std::array<std::uint32_t, 2 * kMost> symbols{};  // by character; as many more as are copied from the last one
        std::array<std::uint8_t, 4 * kMost> begins;  // by character, and behind the last one: where it begins, in bytes
    };

    // Reads a block. Requires text, of which the block has at least one character.
    void read_block(const std::uint8_t* at, const std::uint8_t* end, Block& block) const;
    void read_block_scalar(const std::uint8_t* at, const std::uint8_t* end, Block& block) const;
    void read_block_avx512(const std::uint8_t* at, const std::uint8_t* end, Block& block) const;

    template <class Parts>
    class Line;

    const Normalizer& normalizer_;
    const Joints& joints_;
    const Alphabet& alphabet_;
    std::vector<std::uint32_t> entries_;  // by character below kBasicEnd
    bool is_space_simple_;
};

// A line that is being read.
template <class Parts>
class RunReader::Line {
   public:
    Line(const RunReader& reader, Spelling& spelling, Parts& parts)
        : reader_(reader),
          spelling_(spelling),
          parts_(parts),
          spaces_(reader.normalizer_.begins_with_space()),
          after_space_(reader.normalizer_.collapses_spaces()) {
        open();
    }

    void read(const std::uint8_t* at, const std::uint8_t* end) {
        while (at != end) {
            if (spelling_.size == begin_)
                open();
            else if (spelling_.size - begin_ >= limit_)
                cut();
            if (*at == ' ' && reader_.is_space_simple_) {
                spaces_ += !after_space_;
                after_space_ = reader_.normalizer_.collapses_spaces();
                ++at;
                ++place_;
                continue;
            }
            if (place_ >= block_.size) read_block(at, end);
            if (block_.known >> place_ & 1)
                read_known(at);
            else if (block_.strangers >> place_ & 1)
                read_strangers(at, end);
            else
                read_other(at, end);
        }
        if (!reader_.normalizer_.collapses_spaces()) add_spaces();
        if (reader_.normalizer_.ends_with_space()) add(' ');
        close();
    }

   private:
    void open() {
        parts_.make_room();
        begin_ = spelling_.size;
        limit_ = kLongPart;
    }

    // Hands over the characters since the last part.
    void close() {
        const std::size_t size = spelling_.size - begin_;
        if (size == 0) return;
        const std::uint32_t first = spelling_.symbols[begin_];
        if (size == 1 && reader_.alphabet_.is_piece(first)) {
            spelling_.size = begin_;
            parts_.character(reader_.alphabet_.piece_of(first));
            return;
        }
        spelling_.symbols[spelling_.size++] = reader_.alphabet_.stranger();
        parts_.known(Lattice::Run{static_cast<std::uint32_t>(begin_), static_cast<std::uint32_t>(spelling_.size - 1)});
        begin_ = spelling_.size;
    }

    // Hands over the beginning of a long part.
    void cut() {
        std::uint32_t* const symbols = spelling_.symbols.data();
        const auto joined = [&](std::size_t i) {
            return reader_.joints_.joined(reader_.alphabet_.point_of(symbols[i - 1]),
                                          reader_.alphabet_.point_of(symbols[i]));
        };
        std::size_t place = spelling_.size - 1;
        while (place > begin_ && joined(place)) --place;
        if (place == begin_) {
            limit_ *= 2;
            return;
        }
        const std::vector<std::uint32_t> rest(symbols + place, symbols + spelling_.size);
        spelling_.size = place;
        close();
        open();
        spelling_.reserve(rest.size());
        std::ranges::copy(rest, spelling_.symbols.begin() + static_cast<std::ptrdiff_t>(spelling_.size));
        spelling_.size += rest.size();
    }

    void read_block(const std::uint8_t* at, const std::uint8_t* end) {
        reader_.read_block(at, end, block_);
        place_ = 0;
    }

    // Passes over the characters of the block that have a bit. Returns how many.
    std::size_t pass(const std::uint8_t*& at, std::uint32_t bits) {
        const auto count = static_cast<std::size_t>(std::countr_one(bits >> place_));
        at += block_.begins[place_ + count] - block_.begins[place_];
        place_ += count;
        return count;
    }

    // Reads characters of the block that occur in pieces.
    void read_known(const std::uint8_t*& at) {
        add_spaces();
        after_space_ = false;
        spelling_.reserve(Block::kMost);
        std::copy_n(&block_.symbols[place_], Block::kMost, &spelling_.symbols[spelling_.size]);
        spelling_.size += pass(at, block_.known);
    }

    void read_strangers(const std::uint8_t*& at, const std::uint8_t* end) {
        add_spaces();
        after_space_ = false;
        close();
        const std::uint8_t* const begin = at;
        std::size_t count = pass(at, block_.strangers);
        while (place_ == block_.size && at != end && count < kAtOnce) {
            read_block(at, end);
            count += pass(at, block_.strangers);
        }
        parts_.strangers(begin, static_cast<std::size_t>(at - begin), count);
    }

    // Reads a character that is not simple, or the characters of a rule.
    void read_other(const std::uint8_t*& at, const std::uint8_t* end) {
        const std::string_view part = reader_.normalizer_.next(at, end, after_space_, buffer_);
        const auto* next = reinterpret_cast<const std::uint8_t*>(part.data());
        for (const auto* const part_end = next + part.size(); next != part_end;) {
            const char32_t point = next_utf8(next);
            if (point == ' ') {
                ++spaces_;
                continue;
            }
            add_spaces();
            add(point);
        }
        place_ = block_.size;
    }

    void add_spaces() {
        for (; spaces_ != 0; --spaces_) add(' ');
    }

    void add(char32_t point) {
        const std::uint32_t symbol = reader_.alphabet_.symbol_of(point);
        if (symbol == reader_.alphabet_.stranger()) {
            close();
            open();
            std::string text;
            append_utf8(text, point);
            parts_.strangers(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), 1);
            return;
        }
        spelling_.reserve(2);
        spelling_.symbols[spelling_.size++] = symbol;
    }

    const RunReader& reader_;
    Spelling& spelling_;
    Parts& parts_;
    std::size_t begin_ = 0, limit_ = 0;  // the part, as offsets in the spelling
    std::size_t spaces_;                 // how many spaces are written before the next other character
    bool after_space_;                   // if another space follows, it is dropped
    Block block_;
    std::size_t place_ = 0;  // in the block; its size or more if the next characters are not yet read
    std::vector<std::uint8_t> buffer_;
};

template <class Parts>
void RunReader::read(const std::uint8_t* text, std::size_t size, Spelling& spelling, Parts&& parts) const {
    const std::uint8_t *const end = text + size, *const at = normalizer_.skip_first_spaces(text, end);
    if (at != end) Line<Parts>(*this, spelling, parts).read(at, end);
}

}  // namespace nmt_prep::sentencepiece
