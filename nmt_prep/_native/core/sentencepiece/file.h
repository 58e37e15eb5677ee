// Content of a SentencePiece .model file: the fields of the protocol buffer ModelProto (sentencepiece_model.proto) that
// encoding and decoding need, parsed from the wire format; and pieces in that format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/batch.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {

enum class PieceType : std::uint8_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6
};

enum class ModelKind : std::uint8_t { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };

struct Piece {
    Utf8Text text;
    float score = 0;
    PieceType type = PieceType::kNormal;

    // Returns true if text can match the piece. Control, unknown and byte pieces are produced in other ways.
    bool in_text() const {
        return type == PieceType::kNormal || type == PieceType::kUserDefined || type == PieceType::kUnused;
    }
};

struct NormalizerSpec {
    std::string charsmap;
    bool add_dummy_prefix = true;
    bool remove_extra_whitespaces = true;
    bool escape_whitespaces = true;
};

// Rules of Hugging Face's tokenizers, as a tokenizer.json gives them. They apply in this order.
struct TokenizersRules {
    enum class Prefix : std::uint8_t {
        kNone,
        kMissing,  // unless the text begins with an escaped space
        kAlways,
    };
    struct Merge {
        std::int32_t left, right, merged;
    };

    bool strip_left_first = false, strip_right_first = false;  // strip white space before the character rules
    std::string charsmap;
    bool strip_left = false, strip_right = false;  // strip white space after the character rules
    bool collapse_spaces = false;                  // two or more spaces become one
    bool split_white_space = false;                // words become pretokens, and white space is dropped
    Prefix prefix = Prefix::kNone;                 // an escaped space at the beginning of the text, or before each word
    bool prefix_first_only = false;                // only at the beginning of a line, not after an added token
    bool split_escaped = false;                    // pretokens begin at each escaped space
    bool fuse_unknown = true;                      // consecutive unknowns of a pretoken become one
    std::vector<double> scores;                    // unigram models: by id
    std::vector<Merge> merges;                     // BPE models: in order
};

struct SelfTest {
    std::string input, expected;
};

struct ModelFile {
    std::vector<Piece> pieces;
    ModelKind kind = ModelKind::kUnigram;
    bool byte_fallback = false;
    bool whitespace_is_suffix = false;
    std::string unk_piece = "<unk>", bos_piece = "<s>", eos_piece = "</s>", pad_piece = "<pad>";
    Utf8Text unk_surface = Utf8Text::literal(" \xE2\x81\x87 ");
    NormalizerSpec normalizer;
    std::optional<NormalizerSpec> denormalizer;
    std::vector<SelfTest> self_tests;
    std::string numbering;  // ids of pieces from another file, as nmt_prep.subwords.sentencepiece.numbering writes them
    std::string rest;       // the bytes of all other fields
    std::optional<TokenizersRules> tokenizers;  // set for a tokenizer.json, which then has no `normalizer`
};

// Throws std::invalid_argument, whose message completes "the file …", unless the bytes are a model that the
// sentencepiece library accepts too, and whose pieces are UTF-8.
ModelFile read_model(const std::uint8_t* data, std::size_t size);

// Throws std::invalid_argument unless the ids in a model of tokenizers are ids of its pieces.
void check_tokenizers(const ModelFile& file);

// Renumbers the pieces as fairseq does: <s> 0, <pad> 1, </s> 2, <unk> 3, the others one more than in the
// file, and <mask> last. Throws std::invalid_argument if the file does not begin with <unk>, <s>, </s>, or has the
// others.
void use_fairseq_ids(ModelFile& file);

// Returns the bytes of a model's pieces in the wire format: the first field of ModelProto for each piece. `types`:
// values of PieceType.
std::string write_pieces(const TextView& texts, const float* scores, const std::uint8_t* types);

// Returns the byte of a piece such as "<0x0A>", -1 for other texts.
int byte_of_piece(const std::string& text);

}  // namespace nmt_prep::sentencepiece
