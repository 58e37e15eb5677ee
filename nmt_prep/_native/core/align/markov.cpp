#include "align/markov.h"

#include <algorithm>
#include <cstring>

#include "text/simd.h"

namespace nmt_prep::align {
namespace {

constexpr auto kReach = static_cast<std::size_t>(kWidest);

// The values of all lanes, as the compiler's vectors: two instructions of the baseline, one with AVX2.
struct Side {
    using Value [[gnu::vector_size(4 * kLanes), gnu::may_alias]] = float;
    using Number [[gnu::vector_size(4 * kLanes), gnu::may_alias]] = std::int32_t;
};

// One lane, for models so large that several would take too much memory.
struct Alone {
    using Value = float;
    using Number = std::int32_t;
};

// The models, with lanes of type Width::Value. A lane adds in the same order whatever the number of lanes and states;
// states that a lane lacks add zeros.
template <class Width>
class Solver {
    using Value = typename Width::Value;
    using Number = typename Width::Number;

   public:
    [[gnu::always_inline]] explicit Solver(const Models& models)
        : models_(models),
          states_(models.states),
          emission_(as_values(models.emission)),
          first_(as_values(models.first)),
          inverse_(as_values(models.inverse)),
          null_(as_values(models.null)),
          posterior_(as_values(models.posterior)),
          current_(as_values(models.current)),
          scale_(as_values(models.scratch)),
          weighted_(scale_ + models.steps),
          after_(weighted_ + models.states) {}

    [[gnu::always_inline]] void forwards() {
        const float linked = 1 - models_.none;
        const float far = models_.jumps->far;
        float back[kJumps];  // near minus far weights of jumps, from the widest ahead to the widest back
        for (std::size_t d = 0; d < kJumps; ++d) back[d] = models_.jumps->near[kJumps - 1 - d] - far;
        Value total{};
        for (std::size_t step = 0; step < models_.steps; ++step) {
            const Value* const before = step == 0 ? first_ : current_ + (step - 1) * states_;
            const Value* const emission = emission_ + step * states_;
            Value* const alpha = posterior_ + step * states_;
            Value* const current = current_ + step * states_;
            const Value none = null_[step] * models_.none;
            const Value base = total * far;
            Value sum{};
            for (std::size_t i = 0; i < states_; ++i) {
                Value next = base;
                if (step == 0) {
                    next = first_[i];
                } else {
                    const std::size_t last = std::min(states_, i + kReach + 1);
                    const std::size_t zero = kReach - i;  // the width of a jump from j is at zero + j
                    for (std::size_t j = i > kReach ? i - kReach : 0; j < last; ++j)
                        next += weighted_[j] * back[zero + j];
                }
                alpha[i] = next * linked * emission[i];
                current[i] = before[i] * none;
                sum += alpha[i] + current[i];
            }
            const Value scale = 1 / sum;
            scale_[step] = scale;
            total = Value{};
            for (std::size_t i = 0; i < states_; ++i) {
                alpha[i] *= scale;
                current[i] = alpha[i] + current[i] * scale;
                weighted_[i] = current[i] * inverse_[i];
                total += weighted_[i];
            }
        }
    }

    [[gnu::always_inline]] void backwards() {
        const float linked = 1 - models_.none;
        const float far = models_.jumps->far;
        float near[kJumps];  // near minus far weights of jumps
        for (std::size_t d = 0; d < kJumps; ++d) near[d] = models_.jumps->near[d] - far;
        Value widths[kJumps]{};
        Value jumped{};
        for (std::size_t i = 0; i < states_; ++i) after_[i] = Value{};  // the backward probabilities
        for (std::size_t step = models_.steps; step-- > 0;) {
            start_at(step);
            const Value* const before = step == 0 ? first_ : current_ + (step - 1) * states_;
            const Value* const emission = emission_ + step * states_;
            Value* const posterior = posterior_ + step * states_;
            const Value none = null_[step] * models_.none * scale_[step];
            const Value scale = scale_[step] * linked;
            Value unlinked{};
            Value total{};
            for (std::size_t i = 0; i < states_; ++i) {
                posterior[i] *= after_[i];
                unlinked += before[i] * after_[i];
                weighted_[i] = emission[i] * after_[i] * scale;
                total += weighted_[i];
            }
            null_[step] = unlinked * none;
            if (step == 0) break;
            const Value base = total * far;
            for (std::size_t i = 0; i < states_; ++i) {
                Value next = base;
                const std::size_t start = i > kReach ? i - kReach : 0;
                const std::size_t last = std::min(states_, i + kReach + 1);
                const std::size_t zero = kReach - i;  // the width of a jump to j is at zero + j
                if (models_.widths == nullptr) {
                    for (std::size_t j = start; j < last; ++j) next += weighted_[j] * near[zero + j];
                } else {
                    const Value from = before[i] * inverse_[i];
                    for (std::size_t j = start; j < last; ++j) {
                        next += weighted_[j] * near[zero + j];
                        widths[zero + j] += weighted_[j] * from;
                    }
                }
                after_[i] = next * inverse_[i] + after_[i] * none;
            }
            if (models_.widths != nullptr) {
                Value has_step{};
                for (std::size_t lane = 0; lane < models_.lanes; ++lane)
                    reinterpret_cast<float*>(&has_step)[lane] = step < models_.sizes[lane] ? 1 : 0;
                jumped += has_step * (1 - null_[step]);
            }
        }
        if (models_.widths == nullptr) return;
        for (std::size_t d = 0; d < kJumps; ++d) as_values(models_.widths)[d] = widths[d];
        *as_values(models_.jumped) = jumped;
    }

    [[gnu::always_inline]] void choose(std::int32_t* best) const {
        for (std::size_t step = 0; step < models_.steps; ++step) {
            const Value* const posterior = posterior_ + step * states_;
            Value highest = posterior[0];
            Number at{};
            for (std::size_t i = 1; i < states_; ++i) {
                const auto higher = posterior[i] > highest;
                highest = higher ? posterior[i] : highest;
                at = higher ? Number{} + static_cast<std::int32_t>(i) : at;
            }
            const Number chosen = highest >= null_[step] ? at : Number{} + kNoState;
            std::memcpy(best + step * models_.lanes, &chosen, sizeof chosen);
        }
    }

   private:
    [[gnu::always_inline]] static Value* as_values(float* values) { return reinterpret_cast<Value*>(values); }
    [[gnu::always_inline]] static const Value* as_values(const float* values) {
        return reinterpret_cast<const Value*>(values);
    }

    // Sets the backward probabilities of lanes that end with a step.
    [[gnu::always_inline]] void start_at(std::size_t step) {
        auto* const after = reinterpret_cast<float*>(after_);
        for (std::size_t lane = 0; lane < models_.lanes; ++lane)
            if (models_.sizes[lane] == step + 1)
                for (std::size_t i = 0; i < states_; ++i)
                    after[i * models_.lanes + lane] = models_.inverse[i * models_.lanes + lane] > 0 ? 1.0F : 0.0F;
    }

    const Models& models_;
    const std::size_t states_;
    const Value* const emission_;
    const Value* const first_;
    const Value* const inverse_;
    Value* const null_;
    Value* const posterior_;
    Value* const current_;
    Value* const scale_;
    Value* const weighted_;
    Value* const after_;
};

template <class Width>
[[gnu::always_inline]] inline void solve_by(const Models& models) {
    Solver<Width> solver(models);
    solver.forwards();
    solver.backwards();
}

#if defined(__x86_64__)
NMT_PREP_AVX2 void solve_avx2(const Models& models) { solve_by<Side>(models); }
NMT_PREP_AVX2 void choose_avx2(const Models& models, std::int32_t* best) { Solver<Side>(models).choose(best); }
#endif

}  // namespace

void solve(const Models& models) {
    if (models.lanes == 1) return solve_by<Alone>(models);
#if defined(__x86_64__)
    if (simd() >= Simd::kAvx2) return solve_avx2(models);
#endif
    solve_by<Side>(models);
}

void choose(const Models& models, std::int32_t* best) {
    if (models.lanes == 1) return Solver<Alone>(models).choose(best);
#if defined(__x86_64__)
    if (simd() >= Simd::kAvx2) return choose_avx2(models, best);
#endif
    Solver<Side>(models).choose(best);
}

}  // namespace nmt_prep::align
