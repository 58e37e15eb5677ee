#include "sentencepiece/vocabulary.h"

#include <algorithm>
#include <bit>

#include "sentencepiece/charsmap.h"
#include "sentencepiece/normalizer.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

const std::uint8_t* bytes_of(const std::string& text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

template <class Visit>
void for_each_pair(const std::string& text, const Visit& visit) {
    const std::uint8_t* at = bytes_of(text);
    const std::uint8_t* const end = at + text.size();
    for (char32_t left = next_utf8(at); at != end;) {
        const char32_t right = next_utf8(at);
        visit(left, right);
        left = right;
    }
}

}  // namespace

Joints::Joints(const std::vector<std::string>& texts) {
    std::size_t pairs = 0;
    for (const std::string& text : texts)
        for_each_pair(text, [&](char32_t left, char32_t right) { pairs += left >= 0x80 || right >= 0x80; });
    const int bits = std::clamp(static_cast<int>(std::bit_width(8 * pairs)), 12, 24);
    shift_ = 64 - bits;
    others_.assign((std::size_t{1} << bits) / 64, 0);
    for (const std::string& text : texts) {
        for_each_pair(text, [&](char32_t left, char32_t right) {
            if (left < 0x80 && right < 0x80) {
                ascii_[left][right >> 6] |= std::uint64_t{1} << (right & 63);
                return;
            }
            const std::uint64_t bit = mix_bits(std::uint64_t{left} << 32 | right, 0x9E3779B97F4A7C15u) >> shift_;
            others_[bit >> 6] |= std::uint64_t{1} << (bit & 63);
        });
    }
    summarize_letters();
}

void Joints::summarize_letters() {
    letters_ = {~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}};
    for (char32_t letter = 'a'; letter <= 'z'; ++letter) {
        const char32_t upper = letter - 'a' + 'A';
        if (joined(letter, ' ') || joined(upper, ' ')) letters_.cut_before_space = 0;
        if (!joined(' ', letter)) letters_.lower_after_space = 0;
        if (!joined(' ', upper)) letters_.upper_after_space = 0;
    }
}

Vocabulary::Vocabulary(const ModelFile& file, bool escaped)
    : byte_fallback(file.byte_fallback),
      spaces_escaped(escaped),
      fuses_unknown(!file.tokenizers || file.tokenizers->fuse_unknown),
      splits_at_spaces(file.tokenizers && file.tokenizers->split_escaped) {
    for (std::size_t i = 0; i < file.pieces.size(); ++i) {
        const Piece& piece = file.pieces[i];
        const auto id = static_cast<std::int32_t>(i);
        if (piece.type == PieceType::kUnknown) unk_id = id;
        if (piece.type == PieceType::kByte) byte_ids[static_cast<std::size_t>(byte_of_piece(*piece.text))] = id;
        if (piece.type == PieceType::kNormal) lowest_score = std::min(lowest_score, piece.score);
        // In tokenizers, text that spells a byte piece, such as "<0x41>", matches that piece of a unigram model.
        const bool is_found_byte =
            file.tokenizers && file.kind == ModelKind::kUnigram && piece.type == PieceType::kByte;
        if (!piece.in_text() && !is_found_byte) continue;
        auto text = spelled(*piece.text, escaped);
        const bool unused = piece.type == PieceType::kUnused;
        if (!text || (unused && (file.tokenizers || file.kind != ModelKind::kBpe))) continue;
        if (splits_at_spaces && text->find(' ', 1) != std::string::npos) continue;
        has_unused |= unused;
        const std::uint8_t* at = bytes_of(*text);
        const char32_t first = next_utf8(at);
        if (at == bytes_of(*text) + text->size()) characters.set(first, id);
        entries.push_back({std::move(*text), id, piece.score, piece.type, piece.text->size()});
    }
}

void Vocabulary::push_unknown(const std::uint8_t* text, std::size_t size, std::size_t line_start, IdBuffer& ids) const {
    if (!byte_fallback) {
        const bool joins = fuses_unknown && ids.size() != line_start && ids.data()[ids.size() - 1] == unk_id;
        if (!joins || (splits_at_spaces && text[0] == ' ')) ids.push(unk_id);
        return;
    }
    for (std::size_t i = 0; i < size; ++i) {
        if (spaces_escaped && text[i] == ' ') {
            for (const char byte : kEscapedSpace) ids.push(byte_ids[static_cast<std::uint8_t>(byte)]);
        } else {
            ids.push(byte_ids[text[i]]);
        }
    }
}

}  // namespace nmt_prep::sentencepiece
