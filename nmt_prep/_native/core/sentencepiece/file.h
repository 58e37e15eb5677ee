// Content of a SentencePiece .model file: the fields of the protocol buffer ModelProto (sentencepiece_model.proto) that
// encoding and decoding need, parsed from the wire format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
    std::string text;
    float score = 0;
    PieceType type = PieceType::kNormal;

    // True if text can match it; control, unknown and byte pieces are produced in other ways.
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

struct SelfTest {
    std::string input, expected;
};

struct ModelFile {
    std::vector<Piece> pieces;
    ModelKind kind = ModelKind::kUnigram;
    bool byte_fallback = false;
    bool whitespace_is_suffix = false;
    std::string unk_piece = "<unk>", bos_piece = "<s>", eos_piece = "</s>", pad_piece = "<pad>";
    std::string unk_surface = " \xE2\x81\x87 ";
    NormalizerSpec normalizer;
    std::optional<NormalizerSpec> denormalizer;
    std::vector<SelfTest> self_tests;
};

// Throws std::invalid_argument, whose message completes "the file …", unless the bytes are a model that the
// sentencepiece library accepts too.
ModelFile read_model(const std::uint8_t* data, std::size_t size);

// Renumbers the pieces as fairseq does: <s> 0, <pad> 1, </s> 2, <unk> 3, the others one more than in the
// file, and <mask> last. Throws std::invalid_argument if the file does not begin with <unk>, <s>, </s>, or has the
// others.
void use_fairseq_ids(ModelFile& file);

// Returns the byte of a piece such as "<0x0A>", -1 for other texts.
int byte_of_piece(const std::string& text);

}  // namespace nmt_prep::sentencepiece
