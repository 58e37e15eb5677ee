#include "adequacy/links.h"

namespace nmt_prep::adequacy {
namespace {

constexpr double kLinked = 0.7;  // least value of both words of a link

void take_best(float value, float& best, std::uint32_t at, std::int32_t& link) {
    if (value <= best) return;
    best = value;
    link = static_cast<std::int32_t>(at);
}

}  // namespace

void Linker::judge(const align::Pair& pair, std::span<const align::Origin> origins) {
    support_.judge(pair, origins);
    source_values = support_.source_values();
    target_values = support_.target_values();
    source_links.assign(pair.sources, kUnlinked);
    target_links.assign(pair.targets, kUnlinked);
    source_best_.assign(pair.sources, 0);
    target_best_.assign(pair.targets, 0);
    for (const align::SupportedCell& cell : support_.cells()) {
        if (cell.count <= 0) continue;
        take_best(cell.backward, source_best_[cell.source], cell.target, source_links[cell.source]);
        take_best(cell.forward, target_best_[cell.target], cell.source, target_links[cell.target]);
    }
    const auto mutual = [](std::int32_t at, std::int32_t other, const std::vector<std::int32_t>& links) {
        return other != kUnlinked && links[static_cast<std::size_t>(other)] == at;
    };
    for (std::size_t i = 0; i < source_links.size(); ++i) {
        const std::int32_t j = source_links[i];
        const bool linked = mutual(static_cast<std::int32_t>(i), j, target_links) && source_values[i] > kLinked &&
                            target_values[static_cast<std::size_t>(j)] > kLinked;
        if (!linked) source_links[i] = kUnlinked;
    }
    for (std::size_t j = 0; j < target_links.size(); ++j)
        if (!mutual(static_cast<std::int32_t>(j), target_links[j], source_links)) target_links[j] = kUnlinked;
}

}  // namespace nmt_prep::adequacy
