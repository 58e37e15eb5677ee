#include "sentencepiece/unigram_training/trainer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "sentencepiece/unigram_training/lattice.h"
#include "sentencepiece/unigram_training/logs.h"
#include "sentencepiece/unigram_training/second_best.h"
#include "sentencepiece/unigram_training/seeds.h"
#include "text/errors.h"
#include "text/parallel.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr std::size_t kPollWords = 1024;

// The logarithmic derivative of the gamma function, by the library's series.
double digamma(double x) {
    double result = 0;
    while (x < 7) {
        result -= 1 / x;
        ++x;
    }
    x -= 1.0 / 2.0;
    const double xx = 1.0 / x;
    const double xx2 = xx * xx;
    const double xx4 = xx2 * xx2;
    result += std::log(x) + (1.0 / 24.0) * xx2 - (7.0 / 960.0) * xx4 + (31.0 / 8064.0) * xx4 * xx2 -
              (127.0 / 30720.0) * xx4 * xx4;
    return result;
}

class Trainer {
   public:
    Trainer(const TrainingWords& words, PieceTree tree, const UnigramOptions& options, std::size_t threads,
            const Poll& poll)
        : words_(words),
          options_(options),
          threads_(std::max<std::size_t>(threads, 1)),
          poll_(poll),
          pieces_{std::move(tree), 0} {
        find_least_score();
    }

    void run(const ReportPieces& report) {
        constexpr int kMostIdle = 100;  // rounds without effect, after which the other pieces count as necessary
        int idle = 0;
        do {
            const std::size_t before = size();
            for (int i = 0; i < options_.sub_iterations; ++i) {
                maximize(expected_counts());
                report(size());
            }
            prune(best_counts());
            idle = size() < before ? 0 : idle + 1;
        } while (size() > options_.desired_size && idle < kMostIdle);
        drop_unreachable();
    }

    const UnigramPieces& pieces() const { return pieces_; }

   private:
    std::size_t size() const { return pieces_.tree.pieces.size(); }
    TrainingPiece& piece(std::size_t id) { return pieces_.tree.pieces[id]; }

    void find_least_score() {
        if (size() == 0) throw TrainingError("the lines give no pieces for a unigram model; give more text");
        pieces_.least_score = std::ranges::min(pieces_.tree.pieces, {}, &TrainingPiece::score).score;
    }

    // Returns the sums of all lanes. Lane i has the words i, i + lanes, …; add(lattice, sums) adds those of some words.
    template <class Add>
    std::vector<float> sum_lanes(const Add& add) {
        std::vector<float> total(size());
        std::vector<std::vector<float>> sums(std::min(threads_, options_.lanes));
        for (std::size_t first = 0; first < options_.lanes; first += sums.size()) {
            const std::size_t lanes = std::min(sums.size(), options_.lanes - first);
            parallel_for(lanes, threads_, [&](std::size_t lane, std::size_t thread) {
                sums[lane].assign(size(), 0);
                UnigramLattice lattice(pieces_, options_.pieces.longest);
                std::size_t since_poll = 0;
                for (std::size_t word = first + lane; word < words_.size(); word += options_.lanes) {
                    if (thread == 0 && ++since_poll % kPollWords == 0) poll_();
                    if (const std::size_t next = word + options_.lanes; next < words_.size())
                        lattice.prefetch(words_.starts[next], words_.starts[next + 1] - words_.starts[next]);
                    lattice.add(words_.starts[word], words_.starts[word + 1] - words_.starts[word],
                                static_cast<float>(words_.counts[word]));
                    if (!lattice.is_full()) continue;
                    add(lattice, sums[lane]);
                    lattice.clear();
                }
                add(lattice, sums[lane]);
            });
            for (std::size_t lane = 0; lane < lanes; ++lane)
                for (std::size_t id = 0; id < total.size(); ++id) total[id] += sums[lane][id];
        }
        return total;
    }

    std::vector<float> expected_counts() {
        return sum_lanes(
            [this](UnigramLattice& lattice, std::vector<float>& sums) { lattice.add_expected(log_, sums); });
    }

    std::vector<float> best_counts() {
        return sum_lanes([](UnigramLattice& lattice, std::vector<float>& sums) { lattice.add_best(sums); });
    }

    // Sets scores from expected counts, and drops rare pieces.
    void maximize(const std::vector<float>& expected) {
        constexpr float kLeastExpected = 0.5F;
        std::vector<std::uint32_t> kept;
        float sum = 0;
        for (const std::uint32_t id : pieces_.tree.order) {
            if (expected[id] < kLeastExpected) continue;
            kept.push_back(id);
            sum += expected[id];
        }
        const auto log_sum = static_cast<float>(digamma(sum));
        for (const std::uint32_t id : kept) {
            piece(id).score = static_cast<float>(digamma(expected[id]) - log_sum);
            if (!std::isfinite(piece(id).score))
                throw TrainingError(
                    "a word of the lines is too long to train a unigram model with numbers of 32 bits; leave it out, "
                    "or reduce max_sentence_length");
        }
        keep(kept);
    }

    // What becomes of a piece in a round.
    enum class Fate : std::uint8_t { kDropped, kKept, kJudged };

    // Drops the pieces without which the text's likelihood stays highest.
    void prune(const std::vector<float>& counts) {
        double wide_sum = 0;
        for (const std::uint32_t id : pieces_.tree.order) wide_sum += counts[id];
        const auto sum = static_cast<float>(wide_sum);
        std::vector<Fate> fates(size());
        std::vector<float> losses(size());
        for_pieces([&](std::uint32_t id, UnigramLattice& lattice, SecondBest& second) {
            if (counts[id] == 0) return;
            lattice.set(piece(id).at, piece(id).length);
            const SecondBest::Outcome outcome = second.find(lattice);
            if (outcome == SecondBest::Outcome::kOnly) fates[id] = Fate::kKept;
            if (outcome != SecondBest::Outcome::kWhole) return;
            fates[id] = Fate::kJudged;
            losses[id] = loss(id, second.others(), counts, sum);
        });
        std::vector<std::uint32_t> kept, judged;
        for (const std::uint32_t id : pieces_.tree.order) {
            if (fates[id] == Fate::kKept) kept.push_back(id);
            if (fates[id] == Fate::kJudged) judged.push_back(id);
        }
        std::ranges::stable_sort(judged, std::greater<>(), [&](std::uint32_t id) { return losses[id]; });
        const auto pruned_size = std::max<std::size_t>(
            options_.desired_size, static_cast<std::size_t>(options_.shrinking_factor * static_cast<float>(size())));
        for (const std::uint32_t id : judged) {
            if (kept.size() == pruned_size) break;
            kept.push_back(id);
        }
        keep(kept);
    }

    // Returns by how much the likelihood of a token falls if `others` take the place of a piece.
    static float loss(std::uint32_t id, const std::vector<std::uint32_t>& others, const std::vector<float>& counts,
                      float sum) {
        const auto log_sum = static_cast<float>(std::log(static_cast<double>(sum)));
        const auto with_piece = static_cast<float>(std::log(static_cast<double>(counts[id])) - log_sum);
        const float sum_without = sum + counts[id] * static_cast<float>(others.size() - 1);
        const auto log_sum_without = static_cast<float>(std::log(static_cast<double>(sum_without)));
        float without = 0;
        for (const std::uint32_t other : others)
            without = static_cast<float>(without +
                                         (std::log(static_cast<double>(counts[other] + counts[id])) - log_sum_without));
        return counts[id] / sum * (with_piece - without);
    }

    // Drops the pieces that no best segmentation contains, because their own text has a better one without them.
    void drop_unreachable() {
        std::vector<char> reachable(size());
        for_pieces([&](std::uint32_t id, UnigramLattice& lattice, SecondBest&) {
            lattice.set(piece(id).at, piece(id).length);
            reachable[id] = !(lattice.best_without_whole() > piece(id).score);
        });
        std::vector<std::uint32_t> kept;
        for (const std::uint32_t id : pieces_.tree.order)
            if (reachable[id]) kept.push_back(id);
        keep(kept);
    }

    // Runs body(id, lattice, second) for each piece, on all threads.
    template <class Body>
    void for_pieces(const Body& body) {
        constexpr std::size_t kPiecesPerTask = 4096;
        parallel_for((size() + kPiecesPerTask - 1) / kPiecesPerTask, threads_,
                     [&](std::size_t task, std::size_t thread) {
                         if (thread == 0) poll_();
                         UnigramLattice lattice(pieces_, options_.pieces.longest);
                         SecondBest second;
                         const std::size_t end = std::min(size(), (task + 1) * kPiecesPerTask);
                         for (std::size_t id = task * kPiecesPerTask; id < end; ++id)
                             body(static_cast<std::uint32_t>(id), lattice, second);
                     });
    }

    // Keeps these pieces; their order becomes that of the library.
    void keep(const std::vector<std::uint32_t>& kept) {
        PieceTree& tree = pieces_.tree;
        std::vector<char> is_kept(size());
        for (const std::uint32_t id : kept) is_kept[id] = 1;
        std::vector<std::uint32_t> places(size());  // new ids of the longest pieces that are kept and begin each piece
        const auto place_of = [&](std::uint32_t id) { return id == kNoPiece ? kNoPiece : places[id]; };
        std::uint32_t next = 0;
        for (std::uint32_t id = 0; id < places.size(); ++id) {
            const std::uint32_t parent = place_of(piece(id).parent);
            places[id] = is_kept[id] ? next : parent;
            if (!is_kept[id]) continue;
            piece(next) = piece(id);
            piece(next++).parent = parent;
        }
        tree.pieces.resize(next);
        tree.order.clear();
        for (const std::uint32_t id : kept) tree.order.push_back(places[id]);
        for (std::uint32_t& longest : tree.longest) longest = place_of(longest);
        find_least_score();
    }

    const TrainingWords& words_;
    const UnigramOptions& options_;
    const std::size_t threads_;
    const Poll& poll_;
    const FloatLogs log_;
    UnigramPieces pieces_;
};

using ScoredPieces = std::vector<std::pair<std::string, float>>;

void sort_by_score(ScoredPieces& pieces) {
    std::ranges::sort(pieces, [](const auto& one, const auto& other) {
        return one.second != other.second ? one.second > other.second : one.first < other.first;
    });
}

ScoredPieces spelled_pieces(const TrainingWords& words, const UnigramPieces& pieces) {
    ScoredPieces spelled;
    for (const TrainingPiece& piece : pieces.tree.pieces) {
        std::string bytes;
        for (std::uint32_t i = 0; i < piece.length; ++i)
            append_utf8(bytes, words.alphabet[words.symbols[piece.at + i] - 1]);
        spelled.emplace_back(std::move(bytes), piece.score);
    }
    sort_by_score(spelled);
    return spelled;
}

// Returns the required characters and the best other pieces.
ScoredPieces choose_pieces(const ScoredPieces& found, const std::vector<CharacterCount>& required, float least_score,
                           std::size_t size) {
    std::unordered_map<std::string_view, float> scores(found.begin(), found.end());
    ScoredPieces chosen;
    float penalty = 0;  // characters that are no longer pieces get distinct scores
    for (const auto& [point, count] : required) {
        std::string bytes;
        append_utf8(bytes, point);
        if (const auto score = scores.find(bytes); score != scores.end()) {
            chosen.emplace_back(bytes, score->second);
            scores.erase(score);
        } else {
            chosen.emplace_back(bytes, least_score + penalty);
            penalty += 0.0001F;
        }
    }
    for (const auto& piece : found) {
        if (!scores.contains(piece.first)) continue;
        if (chosen.size() == size) break;
        chosen.push_back(piece);
    }
    sort_by_score(chosen);
    return chosen;
}

}  // namespace

ScoredPieces train_unigram(const TrainingWords& words, const std::vector<CharacterCount>& required,
                           const UnigramOptions& options, std::size_t threads, const Poll& poll,
                           const ReportPieces& report) {
    Trainer trainer(words, find_seed_pieces(words, PieceRules(options.pieces), options.seeds, threads, poll), options,
                    threads, poll);
    trainer.run(report);
    return choose_pieces(spelled_pieces(words, trainer.pieces()), required, trainer.pieces().least_score, options.size);
}

}  // namespace nmt_prep::sentencepiece
